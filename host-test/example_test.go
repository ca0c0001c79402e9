package hosttest_test

import (
	"context"
	"fmt"
	"os"
	"time"

	hosttest "routelimit/host-test"
	"routelimit/limit"
)

// The product's own module, built by make wasm, refuses a request.
func Example() {
	ctx := context.Background()
	wasm, err := os.ReadFile("../build/routelimit.wasm")
	if err != nil {
		fmt.Println(err)
		return
	}
	module, err := hosttest.Compile(ctx, wasm)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close(ctx)

	// A Redis that refuses for 7 s.
	redis := &hosttest.Scripted{Reply: func([][]byte) []byte {
		d := limit.Decision{AtMS: 1729771200000, Verdicts: []limit.Verdict{{Reset: 7 * time.Second, Wait: 7 * time.Second}}}
		return d.AppendReply(nil)
	}}
	host := hosttest.NewHost(module, hosttest.Options{Clusters: map[string]hosttest.Backend{"routelimit": redis}})
	vm, err := host.NewVM(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	plugin, err := vm.NewPlugin([]byte(`{"default": {"identity": "ip", "limit": 10, "window": "1m"}}`))
	if err != nil {
		fmt.Println(err, vm.LogText())
		return
	}

	s := plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/"), nil)
	fmt.Println("waits for Redis:", s.Paused())
	fmt.Printf("asked: %s\n", redis.Commands()[0][3])
	redis.Deliver()
	fmt.Println("status", s.Status(), "after", s.Client().Headers.Get("retry-after"), "s")
	fmt.Println("the upstream saw it:", s.Upstream().Started)

	vm.Advance(8 * time.Second) // until then it is refused from memory
	late := plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/"), nil)
	vm.Advance(time.Second) // the deadline passes; the default route lets it through
	fmt.Println("after a second without an answer:", late.Upstream().Ended)
	fmt.Println(vm.Faults(), vm.Dead())
	// Output:
	// waits for Redis: true
	// asked: rl:{default|ip:127.0.0.1}
	// status 429 after 7 s
	// the upstream saw it: false
	// after a second without an answer: true
	// [] <nil>
}
