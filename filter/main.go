//go:build wasip1

// Command filter is routelimit.wasm, the program that Envoy runs for each
// request. One module has two roles, told apart by the plugin's configuration:
//
//	{"role": "gateway"}   gateway.go: carries the link's bytes, nothing else
//	anything else         a policy, for plugin.go and the files below
//
// The life of a limited request:
//
//	request.go   headers -> route -> [body.go: hold and read the body]
//	decide.go    identities -> keys -> commands -> link
//	link/        one stream to Redis for all requests of the worker
//	decide.go    replies -> pass, refuse, or the route's on_error
//	respond.go   429, 503, quota headers; refunds
//
// metrics.go, logs.go and panic.go are what an operator sees of it.
package main

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

// The runtime calls init functions only; there is no main in a reactor module.
func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }
