//go:build wasip1

package shim

import (
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// What the proxy calls. Each export begins the life of a new arena, hands over
// to a request, a plugin or the SDK, and recovers.

var memory arena

// running is the callback that runs, for guard. The proxy never enters one export
// while another runs, but for proxy_on_memory_allocate.
var running struct {
	callback string
	context  uint32
}

// begin is called first in every export but proxy_on_memory_allocate. Nothing in
// the arena is in use any more.
func begin(callback string, context uint32) {
	memory.reset()
	running.callback, running.context = callback, context
}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(size int32) unsafe.Pointer { return memory.alloc(int(size)) }

//go:wasmexport proxy_on_vm_start
func onVMStart(id uint32, size int32) (ok int32) {
	defer guard()
	begin("proxy_on_vm_start", id)
	return boolean(bool(sdkOnVMStart(id, int(size))))
}

//go:wasmexport proxy_on_configure
func onConfigure(id uint32, size int32) (ok int32) {
	defer guard()
	begin("proxy_on_configure", id)
	return boolean(bool(sdkOnConfigure(id, int(size))))
}

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {
	defer guard()
	begin("proxy_on_context_create", id)
	if p := plugins[parent]; p != nil {
		requests.put(id, p.NewHttpContext(id))
		return
	}
	sdkOnContextCreate(id, parent)
}

//go:wasmexport proxy_on_tick
func onTick(id uint32) {
	defer guard()
	begin("proxy_on_tick", id)
	sdkOnTick(id)
}

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id uint32, n, endOfStream int32) (action types.Action) {
	defer guardAction(&action)
	begin("proxy_on_request_headers", id)
	return request(id).OnHttpRequestHeaders(int(n), endOfStream != 0)
}

//go:wasmexport proxy_on_request_body
func onRequestBody(id uint32, size, endOfStream int32) (action types.Action) {
	defer guardAction(&action)
	begin("proxy_on_request_body", id)
	return request(id).OnHttpRequestBody(int(size), endOfStream != 0)
}

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id uint32, n int32) (action types.Action) {
	defer guardAction(&action)
	begin("proxy_on_request_trailers", id)
	return request(id).OnHttpRequestTrailers(int(n))
}

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id uint32, n, endOfStream int32) (action types.Action) {
	defer guard()
	begin("proxy_on_response_headers", id)
	return request(id).OnHttpResponseHeaders(int(n), endOfStream != 0)
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id uint32, size, endOfStream int32) (action types.Action) {
	defer guard()
	begin("proxy_on_response_body", id)
	return request(id).OnHttpResponseBody(int(size), endOfStream != 0)
}

//go:wasmexport proxy_on_response_trailers
func onResponseTrailers(id uint32, n int32) (action types.Action) {
	defer guard()
	begin("proxy_on_response_trailers", id)
	return request(id).OnHttpResponseTrailers(int(n))
}

//go:wasmexport proxy_on_grpc_receive_initial_metadata
func onGRPCReceiveInitialMetadata(_, _ uint32, _ int32) {}

//go:wasmexport proxy_on_grpc_receive
func onGRPCReceive(id, token uint32, size int32) {
	defer guard()
	begin("proxy_on_grpc_receive", id)
	if p := plugins[id]; p != nil {
		p.OnReceive(token, int(size))
	}
}

//go:wasmexport proxy_on_grpc_receive_trailing_metadata
func onGRPCReceiveTrailingMetadata(_, _ uint32, _ int32) {}

//go:wasmexport proxy_on_grpc_close
func onGRPCClose(id, token, status uint32) {
	defer guard()
	begin("proxy_on_grpc_close", id)
	if p := plugins[id]; p != nil {
		p.OnClose(token, status)
	}
}

// onDelete is the one callback for the end of a context. The proxy would call
// proxy_on_log and proxy_on_done before it, twice into the VM for every request;
// what the SDK makes of them is done here. A plugin context cannot put its end
// off, for that is what proxy_on_done is for.
//
//go:wasmexport proxy_on_delete
func onDelete(id uint32) {
	defer guard()
	begin("proxy_on_delete", id)
	if r, ok := requests.get(id); ok {
		requests.remove(id)
		r.OnHttpStreamDone()
		return
	}
	delete(plugins, id)
	defer sdkOnDelete(id) // after a panic as well: a context that stays is a leak
	sdkOnDone(id)         // OnPluginDone
}

func boolean(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
