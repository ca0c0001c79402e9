package hosttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instanceKey finds the instance that makes a hostcall in the call's context.
type instanceKey struct{}

// instance is one memory of a VM, from its start to its trap: Envoy's Wasm
// object (proxy-wasm-cpp-host, wasm.cc).
type instance struct {
	vm        *VM
	mod       api.Module
	ctx       context.Context
	functions map[string]api.Function

	contexts      map[uint32]*wasmContext
	lastContext   uint32
	lastStream    uint32 // the token of the last gRPC stream
	lastCall      uint32 // the token of the last gRPC call
	metricIDs     metricIDs
	currentID     uint32          // the context whose callback runs, 0 if none
	effectiveID   uint32          // set by set_effective_context until the callback ends
	running       bool            // inside a call into the VM
	allowed       map[string]bool // hostcalls allowed now, nil for all
	stopIteration bool            // a local reply was sent in this callback

	after []func() // what hostcalls have put off until the VM call returns
	depth int      // how deep the callbacks are nested that run because of after
	dead  error
}

// wasmContext is what a context id stands for: a root or one of its streams.
type wasmContext struct {
	id     uint32
	root   *root
	stream *Stream
}

func newInstance(vm *VM) (*instance, error) {
	in := &instance{vm: vm, functions: map[string]api.Function{}, contexts: map[uint32]*wasmContext{}}
	in.lastStream, in.lastCall = tokenGRPCStream, tokenGRPCCall
	in.ctx = context.WithValue(vm.ctx, instanceKey{}, in)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	mod, err := vm.host.module.runtime.InstantiateModule(in.ctx, vm.host.module.code, config)
	if err != nil {
		return nil, fmt.Errorf("start the VM: %w", err)
	}
	in.mod = mod
	for name := range exports {
		if f := mod.ExportedFunction(name); f != nil {
			in.functions[name] = f
		}
	}
	in.allowed = allowedAtStart(vm.host.options.Generation)
	in.call(0, "_initialize")
	in.allowed = nil
	if in.dead != nil {
		return nil, errors.Join(fmt.Errorf("start the VM: %w", in.dead), mod.Close(vm.ctx))
	}
	return in, nil
}

// enter is called first by every hostcall. A call that Envoy does not allow at
// this moment traps.
func (in *instance) enter(module, name string) {
	in.vm.calls[name]++
	if in.allowed != nil && !in.allowed[module+"."+name] {
		panic(fmt.Errorf("restricted_callback: Envoy (%s generation) does not allow %s.%s here", in.vm.host.options.Generation, module, name))
	}
}

// callback calls an export for a context and then does what its hostcalls have
// put off. That enters the VM again, where a stream was continued or answered,
// and each such call does the rest nested in it: Envoy's DeferAfterCallActions.
//
// stopped says that a local reply was sent, for whatever stream: Envoy then
// reads any answer of this callback as stop.
func (in *instance) callback(id uint32, export string, args ...uint64) (answer uint32, stopped bool) {
	if in.dead != nil || in.functions[export] == nil {
		return actionContinue, false
	}
	if in.depth > in.vm.host.options.NestedResumes {
		in.fail(export, fmt.Errorf("Maximum call stack size exceeded: more than %d streams were continued or answered in one callback", in.vm.host.options.NestedResumes))
		return 0, false
	}
	answer = in.call(id, export, append([]uint64{uint64(id)}, args...)...)
	stopped = in.stopIteration
	in.stopIteration = false
	in.depth++
	in.runAfter()
	in.depth--
	return answer, stopped
}

func (in *instance) runAfter() {
	for len(in.after) > 0 {
		action := in.after[0]
		in.after = in.after[1:]
		action()
	}
}

// call enters the VM. A trap makes it dead.
func (in *instance) call(id uint32, export string, args ...uint64) uint32 {
	f := in.functions[export]
	if f == nil {
		return 0
	}
	id, in.currentID = in.currentID, id
	effective := in.effectiveID
	running := in.running
	in.effectiveID, in.running = 0, true
	results, err := f.Call(in.ctx, args...)
	in.currentID, in.effectiveID, in.running = id, effective, running
	if err != nil {
		in.fail(export, err)
		return 0
	}
	if len(results) == 0 {
		return 0
	}
	return uint32(results[0])
}

func (in *instance) fail(export string, cause error) {
	if in.dead == nil {
		in.dead = fmt.Errorf("Function: %s failed: Uncaught %w", export, cause)
		in.vm.logLine(LogCritical, in.dead.Error())
	}
}

// context returns the context that a hostcall works on: the effective one, or
// the one whose callback runs if that no longer exists.
func (in *instance) context() *wasmContext {
	if c := in.contexts[in.effectiveID]; c != nil {
		return c
	}
	if c := in.contexts[in.currentID]; c != nil {
		return c
	}
	return &wasmContext{}
}

func (in *instance) newContext(r *root, s *Stream) *wasmContext {
	in.lastContext++
	c := &wasmContext{id: in.lastContext, root: r, stream: s}
	in.contexts[c.id] = c
	return c
}

func (in *instance) stopTicks() {
	for _, c := range in.contexts {
		if c.stream == nil && c.root != nil {
			c.root.tick.stop()
		}
	}
}
