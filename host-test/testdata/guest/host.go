//go:build wasip1

package main

import "unsafe"

// The hostcalls of ABI 0.2.1, bare.

//go:wasmimport env proxy_log
func proxyLog(level uint32, m unsafe.Pointer, n int32) uint32

//go:wasmimport env proxy_get_log_level
func proxyGetLogLevel(level unsafe.Pointer) uint32

//go:wasmimport env proxy_get_current_time_nanoseconds
func proxyGetCurrentTime(ns unsafe.Pointer) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriod(ms uint32) uint32

//go:wasmimport env proxy_get_status
func proxyGetStatus(code, message, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(id uint32) uint32

//go:wasmimport env proxy_done
func proxyDone() uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(direction uint32) uint32

//go:wasmimport env proxy_close_stream
func proxyCloseStream(direction uint32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, d unsafe.Pointer, dn int32, b unsafe.Pointer, bn int32, h unsafe.Pointer, hn int32, grpc int32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(m uint32, k unsafe.Pointer, kn int32, v, vn unsafe.Pointer) uint32

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(m uint32, k unsafe.Pointer, kn int32, v unsafe.Pointer, vn int32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(m uint32, k unsafe.Pointer, kn int32, v unsafe.Pointer, vn int32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(m uint32, k unsafe.Pointer, kn int32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(m uint32, p, n unsafe.Pointer) uint32

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaderMapPairs(m uint32, p unsafe.Pointer, n int32) uint32

//go:wasmimport env proxy_get_header_map_size
func proxyGetHeaderMapSize(m uint32, n unsafe.Pointer) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(kind uint32, start, length int32, b, n unsafe.Pointer) uint32

//go:wasmimport env proxy_get_buffer_status
func proxyGetBufferStatus(kind uint32, n, flags unsafe.Pointer) uint32

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(kind uint32, start, length int32, b unsafe.Pointer, n int32) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(p unsafe.Pointer, pn int32, v, vn unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(p unsafe.Pointer, pn int32, v unsafe.Pointer, vn int32) uint32

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeignFunction(f unsafe.Pointer, fn int32, a unsafe.Pointer, an int32, r, rn unsafe.Pointer) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(k unsafe.Pointer, kn int32, v, vn, cas unsafe.Pointer) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(k unsafe.Pointer, kn int32, v unsafe.Pointer, vn int32, cas uint32) uint32

//go:wasmimport env proxy_register_shared_queue
func proxyRegisterSharedQueue(q unsafe.Pointer, qn int32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_resolve_shared_queue
func proxyResolveSharedQueue(vm unsafe.Pointer, vmn int32, q unsafe.Pointer, qn int32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_dequeue_shared_queue
func proxyDequeueSharedQueue(token uint32, v, vn unsafe.Pointer) uint32

//go:wasmimport env proxy_enqueue_shared_queue
func proxyEnqueueSharedQueue(token uint32, v unsafe.Pointer, vn int32) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, n int32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value unsafe.Pointer) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(c unsafe.Pointer, cn int32, h unsafe.Pointer, hn int32, b unsafe.Pointer, bn int32, t unsafe.Pointer, tn int32, ms uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_call
func proxyGRPCCall(s unsafe.Pointer, sn int32, sv unsafe.Pointer, svn int32, m unsafe.Pointer, mn int32, md unsafe.Pointer, mdn int32, b unsafe.Pointer, bn int32, ms uint32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_stream
func proxyGRPCStream(s unsafe.Pointer, sn int32, sv unsafe.Pointer, svn int32, m unsafe.Pointer, mn int32, md unsafe.Pointer, mdn int32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_send
func proxyGRPCSend(token uint32, m unsafe.Pointer, n int32, end int32) uint32

//go:wasmimport env proxy_grpc_close
func proxyGRPCClose(token uint32) uint32

//go:wasmimport env proxy_grpc_cancel
func proxyGRPCCancel(token uint32) uint32

// at is where the bytes of s lie.
func at(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

// size is how many they are.
func size(s string) int32 { return int32(len(s)) }

// result is where a hostcall says where the bytes lie that it brings back.
type result struct {
	ptr *byte
	n   int32
}

func (r *result) at() unsafe.Pointer   { return unsafe.Pointer(&r.ptr) }
func (r *result) size() unsafe.Pointer { return unsafe.Pointer(&r.n) }
func (r *result) text() string         { return string(unsafe.Slice(r.ptr, r.n)) }
