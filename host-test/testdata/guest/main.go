//go:build wasip1

// A plugin that does what its configuration says, for testing the host.
//
// Each line of the configuration is "callback: command; command; …": what to do
// when Envoy calls proxy_callback. Every command logs its name, arguments, what
// the hostcall answered and what it brought back. "answer N" is what the
// callback returns. script.go has the commands.
package main

import (
	"fmt"
	"strings"
	"unsafe"
)

func main() {}

var (
	scripts = map[uint32]map[string]string{} // by root
	roots   = map[uint32]uint32{}            // root of each context
	held    []uint32                         // streams in the order of their request headers
)

// run does the script of a callback and returns its answer.
func run(callback string, id uint32, args ...any) uint32 {
	if len(args) > 0 {
		say(fmt.Sprint(callback, " ", args))
	}
	e := execution{id: id, root: roots[id]}
	for command := range strings.SplitSeq(scripts[roots[id]][callback], ";") {
		if words := strings.Fields(command); len(words) > 0 {
			e.do(words)
		}
	}
	return e.answer
}

func say(text string) { proxyLog(2, at(text), size(text)) }

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(n int32) unsafe.Pointer {
	allocated(int(n))
	return unsafe.Pointer(unsafe.SliceData(make([]byte, n)))
}

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {
	roots[id] = id
	if parent != 0 {
		roots[id] = parent
	}
}

//go:wasmexport proxy_on_vm_start
func onVMStart(id uint32, n int32) uint32 {
	var r result
	proxyGetBufferBytes(6, 0, n, r.at(), r.size())
	say(fmt.Sprintf("vm_start %q", r.text()))
	return 1
}

//go:wasmexport proxy_on_configure
func onConfigure(id uint32, n int32) uint32 {
	var r result
	proxyGetBufferBytes(7, 0, n, r.at(), r.size())
	scripts[id] = map[string]string{}
	for line := range strings.Lines(r.text()) {
		callback, script, _ := strings.Cut(line, ":")
		scripts[id][strings.TrimSpace(callback)] = strings.TrimSpace(script)
	}
	if scripts[id]["configure"] == "refuse" {
		return 0
	}
	run("configure", id)
	return 1
}

//go:wasmexport proxy_on_tick
func onTick(id uint32) { run("tick", id, id) }

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id uint32, n, end int32) uint32 {
	held = append(held, id)
	return run("request_headers", id, n, end)
}

//go:wasmexport proxy_on_request_body
func onRequestBody(id uint32, n, end int32) uint32 { return run("request_body", id, n, end) }

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id uint32, n int32) uint32 { return run("request_trailers", id, n) }

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id uint32, n, end int32) uint32 { return run("response_headers", id, n, end) }

//go:wasmexport proxy_on_response_body
func onResponseBody(id uint32, n, end int32) uint32 { return run("response_body", id, n, end) }

//go:wasmexport proxy_on_response_trailers
func onResponseTrailers(id uint32, n int32) uint32 { return run("response_trailers", id, n) }

//go:wasmexport proxy_on_grpc_receive_initial_metadata
func onGRPCInitialMetadata(id, token uint32, n int32) { run("grpc_initial_metadata", id, token, n) }

//go:wasmexport proxy_on_grpc_receive
func onGRPCReceive(id, token uint32, n int32) { run("grpc_receive", id, token, n) }

//go:wasmexport proxy_on_grpc_receive_trailing_metadata
func onGRPCTrailingMetadata(id, token uint32, n int32) { run("grpc_trailing_metadata", id, token, n) }

//go:wasmexport proxy_on_grpc_close
func onGRPCClose(id, token, status uint32) { run("grpc_close", id, token, status) }

//go:wasmexport proxy_on_queue_ready
func onQueueReady(id, token uint32) { run("queue_ready", id, token) }

//go:wasmexport proxy_on_log
func onLog(id uint32) { run("log", id) }

//go:wasmexport proxy_on_done
func onDone(id uint32) uint32 {
	if scripts[roots[id]]["done"] == "wait" {
		return 0
	}
	run("done", id)
	return 1
}

//go:wasmexport proxy_on_delete
func onDelete(id uint32) {
	run("delete", id)
	delete(roots, id)
}
