//go:build wasip1

package shim

import "unsafe"

// What the proxy offers, as ABI 0.2.1 names it. Only what host serves to the
// SDK and what host.go and grpc.go call is imported.

//go:wasmimport env proxy_log
func proxyLog(level uint32, message unsafe.Pointer, size int32) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize int32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path unsafe.Pointer, pathSize int32, value unsafe.Pointer, valueSize int32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, details unsafe.Pointer, detailsSize int32, body unsafe.Pointer, bodySize int32, headers unsafe.Pointer, headersSize int32, grpcStatus int32) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key unsafe.Pointer, keySize int32, value, valueSize, cas unsafe.Pointer) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key unsafe.Pointer, keySize int32, value unsafe.Pointer, valueSize int32, cas uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(mapType uint32, key unsafe.Pointer, keySize int32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(mapType uint32, key unsafe.Pointer, keySize int32, value unsafe.Pointer, valueSize int32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(mapType uint32, key unsafe.Pointer, keySize int32, value unsafe.Pointer, valueSize int32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(mapType uint32, key unsafe.Pointer, keySize int32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(mapType uint32, pairs, pairsSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaderMapPairs(mapType uint32, pairs unsafe.Pointer, pairsSize int32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(bufferType uint32, start, maxSize int32, data, dataSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(bufferType uint32, start, maxSize int32, data unsafe.Pointer, dataSize int32) uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(streamType uint32) uint32

//go:wasmimport env proxy_close_stream
func proxyCloseStream(streamType uint32) uint32

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeignFunction(name unsafe.Pointer, nameSize int32, argument unsafe.Pointer, argumentSize int32, result, resultSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriodMilliseconds(period uint32) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(contextID uint32) uint32

//go:wasmimport env proxy_done
func proxyDone() uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(metricType uint32, name unsafe.Pointer, nameSize int32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_stream
func proxyGrpcStream(service unsafe.Pointer, serviceSize int32, name unsafe.Pointer, nameSize int32, method unsafe.Pointer, methodSize int32, metadata unsafe.Pointer, metadataSize int32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_send
func proxyGrpcSend(token uint32, message unsafe.Pointer, size int32, endOfStream int32) uint32

//go:wasmimport env proxy_grpc_close
func proxyGrpcClose(token uint32) uint32

//go:wasmimport env proxy_grpc_cancel
func proxyGrpcCancel(token uint32) uint32

//go:wasmimport env proxy_get_status
func proxyGetStatus(code, message, messageSize unsafe.Pointer) uint32
