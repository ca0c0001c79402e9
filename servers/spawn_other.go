//go:build !linux

package servers

import "syscall"

// childAttributes keeps a terminal's Ctrl-C away from a child: the program decides the order in which its servers end.
// Only Linux ends a child with its parent, so elsewhere a killed program leaves its servers behind.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
