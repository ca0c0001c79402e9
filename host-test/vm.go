package hosttest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// reloadBackoff is how long FAIL_RELOAD waits between two loads of a VM.
const reloadBackoff = time.Second

// VM is what one worker of Envoy runs a plugin in. It outlives a trap: Reload,
// or the next stream with Options.FailReload, gives it a new memory.
type VM struct {
	host    *Host
	ctx     context.Context
	in      *instance
	plugins []*Plugin
	loaded  time.Duration // when, by the clock

	logs   []LogLine
	faults []string
	calls  map[string]int
}

// Dead returns why the VM trapped, or nil. Streams that waited in a dead VM
// get no answer any more (see Stream.Hanging); new ones get 503.
func (vm *VM) Dead() error { return vm.in.dead }

// Faults returns what the plugin did that a real Envoy does not survive, or
// silently ignores so that a request hangs: answering or continuing a stream
// twice, for example. A test expects none.
func (vm *VM) Faults() []string { return vm.faults }

// Calls returns how often the plugin has called the hostcall of that name,
// such as "proxy_get_header_map_value" or "poll_oneoff".
func (vm *VM) Calls(name string) int { return vm.calls[name] }

// MemorySize returns the size of the VM's memory in bytes. It never shrinks.
func (vm *VM) MemorySize() int { return int(vm.in.mod.Memory().Size()) }

// Plugins returns the roots of the VM in the order in which they were made.
func (vm *VM) Plugins() []*Plugin { return vm.plugins }

// Host returns the process that the VM is part of.
func (vm *VM) Host() *Host { return vm.host }

// Advance moves the clock of the whole process; see Clock.Advance.
func (vm *VM) Advance(d time.Duration) { vm.host.Clock().Advance(d) }

// Reload gives a VM that trapped a new memory and makes its roots again, each
// with the configuration it had. Streams and links of the old memory stay as
// they are.
func (vm *VM) Reload() error {
	old := vm.in
	if old.dead == nil {
		return errors.New("reload: the VM has not trapped; Envoy reloads only after a trap")
	}
	if err := vm.start(); err != nil {
		vm.in = old
		return err
	}
	old.stopTicks()
	err := old.mod.Close(vm.ctx)
	for _, p := range vm.plugins {
		err = errors.Join(err, p.configure())
	}
	return err
}

// Close ends the VM and frees its memory, without a callback.
func (vm *VM) Close() error {
	vm.in.stopTicks()
	vm.in.dead = errors.New("closed")
	return vm.in.mod.Close(vm.ctx)
}

func (vm *VM) start() error {
	in, err := newInstance(vm)
	if err != nil {
		return err
	}
	vm.in = in
	vm.loaded = vm.host.Clock().elapsed
	return nil
}

// reloadIfDue does what FAIL_RELOAD does when a stream finds its VM dead.
func (vm *VM) reloadIfDue() {
	if vm.in.dead == nil || !vm.host.options.FailReload || vm.host.Clock().elapsed-vm.loaded < reloadBackoff {
		return
	}
	if err := vm.Reload(); err != nil {
		vm.fault("reload: %v", err)
	}
}

// mostFaults are kept.
const mostFaults = 1000

func (vm *VM) fault(format string, args ...any) {
	if len(vm.faults) == mostFaults {
		return
	}
	vm.faults = append(vm.faults, fmt.Sprintf(format, args...))
}
