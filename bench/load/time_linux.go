package load

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// sysEpollPwait2 has this number on every architecture (Linux 5.11).
const sysEpollPwait2 = 441

// epollWait is epoll_pwait2(2): epoll_wait knows whole milliseconds alone, which is longer than what is measured.
func epollWait(poll int, events []syscall.EpollEvent, wait time.Duration) (int, error) {
	limit := syscall.NsecToTimespec(wait.Nanoseconds())
	n, _, errno := syscall.Syscall6(sysEpollPwait2, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
		uintptr(unsafe.Pointer(&limit)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("epoll_pwait2 failed: %w; run on Linux 5.11 or newer", errno)
}

const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
	rusageThread    = 1
)

// preciseTimers lets the kernel wake this thread when it asked to be woken, and not up to 50 us later, until undone.
func preciseTimers() (undo func()) {
	before, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if errno != 0 {
		return func() {}
	}
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
	return func() { syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, before, 0) }
}

// threadTime is the processor time of this thread; 0 where the kernel does not tell.
func threadTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
