// Package shim puts standard Go under the proxy-wasm ABI 0.2.1 and the
// proxy-wasm-go-sdk, which is published for TinyGo.
//
// It holds the only //go:wasmimport and //go:wasmexport declarations of the
// project. Everything else talks to the proxy through it:
//
//   - imports.go and sdk.go give the SDK its host, so that the SDK's contexts of
//     the VM and its plugins are called as usual; contexts.go keeps those of
//     requests (types.HttpContext), which are called often;
//   - exports.go is what the proxy calls. Every export recovers: a Go panic
//     must never become a trap, since a trap leaves all waiting requests of
//     the worker without an answer;
//   - host.go and grpc.go are the calls that the filter makes: the ones the SDK
//     has no form for (gRPC streams, response code details, raw actions) and
//     the ones on the path of every request, without their allocations;
//   - arena.go serves the memory that the proxy writes its answers into.
//
// Bytes and strings that a call returns lie in that arena. They are valid until
// the callback that asked for them returns; whoever keeps them, copies them.
//
// Where the ABI is described:
// https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1
package shim
