package hosttest

import (
	"context"
	"crypto/rand"
	"io"
	"maps"
	"slices"
)

// Generation says whose WASI a VM gets.
type Generation uint8

const (
	// Old is Envoy up to 1.38: poll_oneoff answers ENOSYS, and traps while the
	// plugin starts and inside proxy_on_memory_allocate.
	Old Generation = iota
	// Current is Envoy from 1.39 on: poll_oneoff answers 0 and no events.
	Current
)

func (g Generation) String() string {
	if g == Current {
		return "current"
	}
	return "old"
}

// Options says what kind of Envoy a Host is. The zero value is an Envoy up to
// 1.38 with allow_on_headers_stop_iteration, FAIL_CLOSED and no cluster.
type Options struct {
	Generation Generation

	// NoHeadersStopIteration is a plugin configuration without
	// allow_on_headers_stop_iteration: where on_request_headers answers 1
	// (StopIteration), Envoy reads 4 (StopAllIterationAndWatermark), and a
	// plugin that waits for a body then waits for ever.
	NoHeadersStopIteration bool

	// FailReload is failure_policy FAIL_RELOAD: the next stream after a trap
	// gets a new VM, at most one a second. Otherwise it gets 503 until Reload.
	FailReload bool

	// Environment is what VmConfig.environment_variables gives the plugin.
	Environment map[string]string

	// VMConfiguration is what on_vm_start reads.
	VMConfiguration []byte

	// Clusters are the Envoy clusters that gRPC streams can be opened to.
	Clusters map[string]Backend

	// Clock is the time that the plugin sees; nil is a new one.
	Clock *Clock

	// BufferLimit is per_connection_buffer_limit_bytes; 0 is Envoy's 1 MiB.
	BufferLimit int

	// NestedResumes is how many streams one callback can continue or answer,
	// each of which enters the VM again, before V8's stack overflows; 0 is 250,
	// a little below what was measured.
	NestedResumes int

	// LogLevel is the least level that Envoy writes; the zero value is LogTrace.
	LogLevel LogLevel

	// OnLog gets each line that is written; without it VM.Logs keeps them.
	OnLog func(LogLine)

	// OnRecord gets each value that a histogram records; without it
	// Host.Histogram keeps them.
	OnRecord func(histogram string, value uint64)

	// Random is what random_get reads; nil is crypto/rand.
	Random io.Reader
}

const (
	defaultBufferLimit   = 1 << 20
	defaultNestedResumes = 250
)

// Host is one Envoy process: what its workers' VMs share.
//
// A Host and everything made from it belong to one goroutine at a time.
type Host struct {
	module  *Module
	options Options
	metrics metrics
	shared  map[string]sharedValue
	queues  []*sharedQueue
}

// NewHost returns an Envoy process that runs a module.
func NewHost(m *Module, o Options) *Host {
	if o.Clock == nil {
		o.Clock = NewClock()
	}
	if o.BufferLimit == 0 {
		o.BufferLimit = defaultBufferLimit
	}
	if o.NestedResumes == 0 {
		o.NestedResumes = defaultNestedResumes
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Host{module: m, options: o, shared: map[string]sharedValue{}}
}

// Clock returns the time that all VMs of the process see.
func (h *Host) Clock() *Clock { return h.options.Clock }

// NewVM starts a VM, as each worker thread of Envoy has one. The error says
// what the plugin did that Envoy does not allow while it starts.
func (h *Host) NewVM(ctx context.Context) (*VM, error) {
	vm := &VM{host: h, ctx: ctx, calls: map[string]int{}}
	if err := vm.start(); err != nil {
		return nil, err
	}
	return vm, nil
}

// environment returns the variables as "name=value", always in one order.
func (o *Options) environment() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		env = append(env, name+"="+o.Environment[name])
	}
	return env
}
