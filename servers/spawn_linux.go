package servers

import "syscall"

// childAttributes ties a child to the thread that starts it and keeps a terminal's Ctrl-C away from it: the program
// decides the order in which its servers end.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
