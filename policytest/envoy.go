package policytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	hosttest "routelimit/host-test"
)

// Store is what counts: a Redis, or what stands in for one.
type Store interface {
	// Do runs a command of the module's at a time, in ms since the epoch, and returns the reply as it goes over the wire.
	Do(command [][]byte, nowMS int64) ([]byte, error)
	// Forget drops everything that was counted.
	Forget() error
}

// start is a test's time 0: a window of a second, a minute, an hour, a day or a week begins there.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// unavailable is the gRPC status with which Envoy ends a stream whose cluster cannot be reached.
const unavailable = 14

// envoy is the host of one test: one worker with one policy.
type envoy struct {
	clock  *hosttest.Clock
	vm     *hosttest.VM
	plugin *hosttest.Plugin
	script *hosttest.Scripted
	store  Store
	err    error // of the store
	down   bool  // Redis does not answer
}

func newEnvoy(ctx context.Context, o *Options) (*envoy, error) {
	e := &envoy{clock: hosttest.NewClockAt(start), store: o.Store}
	e.script = &hosttest.Scripted{Reply: e.reply}
	host := hosttest.NewHost(o.Module, hosttest.Options{
		Generation: hosttest.Current, Clock: e.clock, Environment: o.env,
		Clusters: map[string]hosttest.Backend{o.policy.Redis.Cluster: e.script},
	})
	vm, err := host.NewVM(ctx)
	if err != nil {
		return nil, fmt.Errorf("the module does not start: %w; give one that fits this program, or none", err)
	}
	e.vm = vm
	if e.plugin, err = vm.NewPlugin(o.raw); err != nil {
		vm.Close()
		return nil, fmt.Errorf("the module refuses the policy that this program takes: %w; give a module that fits this program, or none\n%s", err, strings.TrimSpace(vm.LogText()))
	}
	return e, nil
}

// reply has the store answer a command.
func (e *envoy) reply(command [][]byte) []byte {
	reply, err := e.store.Do(command, e.clock.Now().UnixMilli())
	if err != nil {
		e.err = errors.Join(e.err, err)
		return nil
	}
	return reply
}

// elapsed is the time since the test's start.
func (e *envoy) elapsed() time.Duration { return e.clock.Now().Sub(start) }

// advance lets time go by, and what comes in with it.
func (e *envoy) advance(d time.Duration) {
	e.clock.Advance(d)
	e.deliver()
}

// deliver hands over everything that Redis has answered.
func (e *envoy) deliver() {
	for e.script.Pending() > 0 && !e.script.Frozen {
		if _, err := e.script.Deliver(); err != nil {
			e.err = errors.Join(e.err, err)
			return
		}
	}
}

// decided lets a request be decided, and time go by while Redis does not answer. It is false where nothing is decided.
func (e *envoy) decided(s *hosttest.Stream, within time.Duration) bool {
	e.deliver()
	for waited := time.Duration(0); s.Paused() && waited <= within && e.vm.Dead() == nil; waited += time.Millisecond {
		e.advance(time.Millisecond)
	}
	return !s.Paused()
}

// become changes what Redis does.
func (e *envoy) become(state string) error {
	e.script.Refuse, e.script.Frozen = state == RedisDown, state == RedisSilent
	e.down = e.script.Refuse || e.script.Frozen
	switch state {
	case RedisDown:
		return e.script.CloseAll(unavailable, "no healthy upstream")
	case RedisEmpty:
		if err := e.store.Forget(); err != nil {
			return err
		}
	}
	if !e.down {
		_, err := e.script.Deliver() // what was sent to a silent one
		e.deliver()
		return err
	}
	return nil
}

// broken is why the module cannot be trusted any more, nil if it can.
func (e *envoy) broken() error {
	if err := e.vm.Dead(); err != nil {
		return fmt.Errorf("the module trapped: %w; report it with this file", err)
	}
	if faults := e.vm.Faults(); len(faults) > 0 {
		return fmt.Errorf("the module did what Envoy does not survive: %s; report it with this file", faults[0])
	}
	return e.script.Err()
}
