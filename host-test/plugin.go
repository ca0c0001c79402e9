package hosttest

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Plugin is a root of a VM: one configuration of the plugin. A configuration
// update makes a second root in the same VM, and the old one ends when its
// connections have.
type Plugin struct {
	vm            *VM
	configuration []byte
	root          *root
	properties    properties
	streams       []*Stream // not finished yet
	closed        bool
}

// root is a Plugin in one memory of its VM.
type root struct {
	plugin  *Plugin
	context *wasmContext
	in      *instance
	tick    tick

	configuring bool                   // on_configure runs: the configuration can be read
	ending      bool                   // on_done has answered 0: proxy_done will end it
	links       map[uint32]*GRPCStream // by token, until the plugin has closed them
	closing     []*GRPCStream          // half closed by the plugin

	// What on_grpc callbacks can read while they run.
	received         []byte
	initialMetadata  Headers
	trailingMetadata Headers
	statusCode       uint32
	statusMessage    string
}

// ErrRefused is what NewPlugin returns where on_vm_start or on_configure says
// no. The plugin's log says why. Envoy refuses a first configuration like that
// at start, and keeps the last good one where it is an update.
var ErrRefused = errors.New("the plugin refused its configuration; its log says why")

// NewPlugin makes a root with a configuration: context_create, on_vm_start
// (which Envoy calls for every root) and on_configure.
func (vm *VM) NewPlugin(configuration []byte) (*Plugin, error) {
	if vm.in.dead != nil {
		return nil, fmt.Errorf("make a root: the VM is dead: %w", vm.in.dead)
	}
	p := &Plugin{vm: vm, configuration: configuration, properties: properties{}}
	if err := p.configure(); err != nil {
		return nil, err
	}
	vm.plugins = append(vm.plugins, p)
	return p, nil
}

// configure makes the plugin's root in the VM's present memory.
func (p *Plugin) configure() error {
	in := p.vm.in
	r := &root{plugin: p, in: in, links: map[uint32]*GRPCStream{}}
	r.context = in.newContext(r, nil)
	id := r.context.id
	r.tick = tick{clock: p.vm.host.Clock(), fire: func() { in.callback(id, "proxy_on_tick") }}
	p.root = r

	in.callback(id, "proxy_on_context_create", 0)
	ok := r.ask("proxy_on_vm_start", len(p.vm.host.options.VMConfiguration))
	if ok {
		r.configuring = true
		ok = r.ask("proxy_on_configure", len(p.configuration))
		r.configuring = false
	}
	switch {
	case in.dead != nil:
		return fmt.Errorf("configure: %w", in.dead)
	case !ok:
		r.remove()
		return ErrRefused
	}
	return nil
}

// ask calls an export that answers yes or no; one that is not there says yes.
func (r *root) ask(export string, args ...int) bool {
	if r.in.functions[export] == nil {
		return true
	}
	var words []uint64
	for _, a := range args {
		words = append(words, uint64(a))
	}
	answer, _ := r.in.callback(r.context.id, export, words...)
	return answer != 0
}

// ID returns the root's context id.
func (p *Plugin) ID() uint32 { return p.root.context.id }

// VM returns the VM that the root is in.
func (p *Plugin) VM() *VM { return p.vm }

// TickPeriod returns how often on_tick is called; 0 is never.
func (p *Plugin) TickPeriod() time.Duration { return p.root.tick.period }

// Streams returns the streams that have not ended yet, oldest first.
func (p *Plugin) Streams() []*Stream { return slices.Clone(p.streams) }

// Close ends the root as Envoy does when the drain time of an update is over:
// its client connections close, then on_done and on_delete, then its gRPC
// streams without a callback. Where on_done answers 0, the rest waits for
// proxy_done.
func (p *Plugin) Close() {
	if p.closed {
		return
	}
	p.closed = true
	for _, s := range p.Streams() {
		s.Disconnect()
	}
	r := p.root
	if !r.ask("proxy_on_done") && r.in.dead == nil {
		r.ending = true
		return
	}
	r.end()
}

func (r *root) end() {
	r.in.callback(r.context.id, "proxy_on_delete")
	r.remove()
	p := r.plugin
	p.vm.plugins = slices.DeleteFunc(p.vm.plugins, func(other *Plugin) bool { return other == p })
}

func (r *root) remove() {
	r.tick.stop()
	for _, g := range r.links {
		r.closing = append(r.closing, g)
	}
	clear(r.links)
	for _, g := range r.closing {
		if g.Open() {
			g.dropped = true
			g.backend.Ended(g, true)
		}
	}
	delete(r.in.contexts, r.context.id)
}

func (in *instance) done(_ []uint64) uint32 {
	r := in.context().root
	if r == nil || !r.ending {
		return resultNotFound
	}
	r.ending = false
	in.after = append(in.after, r.end)
	return resultOK
}
