package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	hosttest "routelimit/host-test"
	"routelimit/limit/standin"
)

// rounds is how often each kind of request is counted.
const rounds = 100

const policy = `{
	"client": {"trusted_hops": 1},
	"identities": {"user": {"from": "header:x-user"}, "name": {"from": "body:name", "fold": true, "secret": true}},
	"routes": {
		"GET /one": {"identity": "user", "limit": 1000, "window": "1m"},
		"GET /leased": {"identity": "user", "limit": 10000, "window": "1h", "lease": 1000},
		"POST /login": {"limits": [
			{"identity": "ip+name", "limit": 1000, "window": "5m", "algorithm": "sliding_log"},
			{"identity": "ip", "limit": 1000, "window": "5m"}]}},
	"default": {"identity": "ip", "limit": 1000, "window": "1m"}}`

// count runs requests through a module and returns how often each function was called.
func count(ctx context.Context, wasm string) (map[string]int, error) {
	code, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	calls := &counter{calls: map[string]int{}}
	module, err := hosttest.Compile(experimental.WithFunctionListenerFactory(ctx, calls), code)
	if err != nil {
		return nil, err
	}
	defer module.Close(ctx)
	var counts standin.Redis
	redis := &hosttest.Scripted{Reply: func(command [][]byte) []byte { return counts.Do(command, 1_729_771_200_000) }}
	host := hosttest.NewHost(module, hosttest.Options{Clusters: map[string]hosttest.Backend{"routelimit": redis}})
	vm, err := host.NewVM(ctx)
	if err != nil {
		return nil, err
	}
	plugin, err := vm.NewPlugin([]byte(policy))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, vm.LogText())
	}
	round := func() {
		forwarded := []string{"x-forwarded-for", "203.0.113.7", "content-type", "application/json", "x-user", "u"}
		for _, s := range []*hosttest.Stream{
			plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/one", forwarded...), nil),
			plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/leased", forwarded...), nil),
			plugin.Request(hosttest.RequestHeaders("POST", "example.com", "/login", forwarded...), []byte(`{"name": "alice"}`)),
			plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/other?a=b", forwarded...), nil),
		} {
			for redis.Pending() > 0 {
				redis.Deliver()
			}
			s.Respond(hosttest.Response{Headers: hosttest.Headers{{":status", "200"}}})
		}
	}
	for range rounds { // let memory and maps grow
		round()
	}
	calls.on = true
	for range rounds {
		round()
	}
	return calls.calls, nil
}

// counter counts the calls of each function by the name that the module gives it.
type counter struct {
	on    bool
	calls map[string]int
}

func (c *counter) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	return experimental.FunctionListenerFunc(func(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
		if c.on {
			c.calls[strings.TrimPrefix(f.DebugName(), ".")]++
		}
	})
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
