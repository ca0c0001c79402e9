package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A program that hangs, here on a file that nobody writes, ends by Ctrl-C all the same, if it has to be pressed twice.
func TestASecondSignalEndsWhatHangs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "lint", pipe)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick, late := time.NewTicker(100*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_ = cmd.Process.Signal(os.Interrupt) // it fails once it has ended
		case <-late:
			_ = cmd.Process.Kill()
			t.Fatal("it does not heed signals")
		}
	}
}
