// Package hosttest runs a proxy-wasm HTTP filter natively, under wazero, and
// behaves towards it as a real Envoy does: the same hostcalls with the same
// answers, the same order of callbacks, the same ways to die.
//
// Nothing happens by itself. The test is the client, the upstream, Redis and
// the clock, and everything that follows from one of its calls is done when
// that call returns:
//
//	Compile      the module, checked as Envoy checks it, once
//	Host         an Envoy process: clock, clusters, metrics, shared data
//	VM           a worker's VM; it can trap and be reloaded
//	Plugin       a root: one configuration; an update makes a second one
//	Stream       one request and its response
//	Scripted     a Redis that the test plays
//	Redis        a real one
//	GRPCStream   the plugin's link to either
//
// A request that asks Redis, from its headers to its refusal:
//
//	module, err := hosttest.Compile(ctx, wasm)
//	redis := &hosttest.Scripted{Reply: func([][]byte) []byte { return []byte("*6\r\n…") }}
//	host := hosttest.NewHost(module, hosttest.Options{Clusters: map[string]hosttest.Backend{"routelimit": redis}})
//	vm, err := host.NewVM(ctx)
//	plugin, err := vm.NewPlugin([]byte(`{"default": {"identity": "ip", "limit": 10, "window": "1m"}}`))
//
//	s := plugin.Request(hosttest.RequestHeaders("GET", "example.com", "/"), nil)
//	s.Paused()               // true: the plugin waits for Redis
//	redis.Deliver()          // now it has its answer
//	s.Status()               // "429", or "" and s.Upstream() has the request
//	s.Respond(hosttest.Response{Headers: hosttest.Headers{{":status", "200"}}})
//	s.Client()               // what the client got
//	vm.Advance(time.Second)  // time goes by, ticks fire
//
// Two things are to be looked at in every test: VM.Faults, where the plugin did
// what a real Envoy does not survive although this host does, and VM.Dead.
//
// Where the behaviour comes from: the ABI is
// https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1; the rest is
// proxy-wasm-cpp-host (exports.cc, context.cc, wasm.cc) and Envoy
// (source/extensions/common/wasm/context.cc, source/common/http/filter_manager.cc)
// up to 1.40, checked against a running Envoy with the same plugin
// (testdata/guest).
//
// What is not played: HTTP callouts and unary gRPC calls (they find no
// cluster), TCP filters, metadata frames, 1xx responses, what Envoy's codecs and
// connection manager add to headers, retries and timeouts of the router.
package hosttest
