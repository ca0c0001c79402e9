//go:build wasip1

package shim

import (
	"runtime"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// The SDK's host and callbacks are internal to it. Outside TinyGo it reaches
// the proxy through an interface made for its own tests; sdkHost has the same
// methods, and go:linkname hands our implementation over.

//go:linkname registerHost github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.RegisterMockWasmHost
func registerHost(h sdkHost) (release func())

func init() {
	registerHost(host{})
	// The SDK calls through its own interface type, which has named types for
	// some parameters. So the linker sees no call to our methods and would drop
	// them. Naming them as methods of sdkHost keeps them.
	runtime.KeepAlive(sdkCalls)
}

var sdkCalls = [...]any{
	sdkHost.ProxyLog, sdkHost.ProxySetProperty, sdkHost.ProxyGetProperty, sdkHost.ProxySendLocalResponse,
	sdkHost.ProxyGetSharedData, sdkHost.ProxySetSharedData,
	sdkHost.ProxyRegisterSharedQueue, sdkHost.ProxyResolveSharedQueue, sdkHost.ProxyDequeueSharedQueue, sdkHost.ProxyEnqueueSharedQueue,
	sdkHost.ProxyGetHeaderMapValue, sdkHost.ProxyAddHeaderMapValue, sdkHost.ProxyReplaceHeaderMapValue, sdkHost.ProxyRemoveHeaderMapValue,
	sdkHost.ProxyGetHeaderMapPairs, sdkHost.ProxySetHeaderMapPairs, sdkHost.ProxyContinueStream, sdkHost.ProxyCloseStream,
	sdkHost.ProxyGetBufferBytes, sdkHost.ProxySetBufferBytes, sdkHost.ProxyHttpCall, sdkHost.ProxyCallForeignFunction,
	sdkHost.ProxySetTickPeriodMilliseconds, sdkHost.ProxySetEffectiveContext, sdkHost.ProxyDone,
	sdkHost.ProxyDefineMetric, sdkHost.ProxyIncrementMetric, sdkHost.ProxyRecordMetric, sdkHost.ProxyGetMetric,
}

// sdkHost has the methods of the SDK's internal.ProxyWasmHost (v0.24.0), all of
// them and no other: a test compares the two.
type sdkHost interface {
	ProxyLog(logLevel uint32, messageData *byte, messageSize int) uint32
	ProxySetProperty(pathData *byte, pathSize int, valueData *byte, valueSize int) uint32
	ProxyGetProperty(pathData *byte, pathSize int, returnValueData **byte, returnValueSize *int) uint32
	ProxySendLocalResponse(statusCode uint32, statusCodeDetailData *byte, statusCodeDetailsSize int, bodyData *byte, bodySize int, headersData *byte, headersSize int, grpcStatus int32) uint32
	ProxyGetSharedData(keyData *byte, keySize int, returnValueData **byte, returnValueSize *int, returnCas *uint32) uint32
	ProxySetSharedData(keyData *byte, keySize int, valueData *byte, valueSize int, cas uint32) uint32
	ProxyRegisterSharedQueue(nameData *byte, nameSize int, returnID *uint32) uint32
	ProxyResolveSharedQueue(vmIDData *byte, vmIDSize int, nameData *byte, nameSize int, returnID *uint32) uint32
	ProxyDequeueSharedQueue(queueID uint32, returnValueData **byte, returnValueSize *int) uint32
	ProxyEnqueueSharedQueue(queueID uint32, valueData *byte, valueSize int) uint32
	ProxyGetHeaderMapValue(mapType uint32, keyData *byte, keySize int, returnValueData **byte, returnValueSize *int) uint32
	ProxyAddHeaderMapValue(mapType uint32, keyData *byte, keySize int, valueData *byte, valueSize int) uint32
	ProxyReplaceHeaderMapValue(mapType uint32, keyData *byte, keySize int, valueData *byte, valueSize int) uint32
	ProxyContinueStream(streamType uint32) uint32
	ProxyCloseStream(streamType uint32) uint32
	ProxyRemoveHeaderMapValue(mapType uint32, keyData *byte, keySize int) uint32
	ProxyGetHeaderMapPairs(mapType uint32, returnValueData **byte, returnValueSize *int) uint32
	ProxySetHeaderMapPairs(mapType uint32, mapData *byte, mapSize int) uint32
	ProxyGetBufferBytes(bufferType uint32, start int, maxSize int, returnBufferData **byte, returnBufferSize *int) uint32
	ProxySetBufferBytes(bufferType uint32, start int, maxSize int, bufferData *byte, bufferSize int) uint32
	ProxyHttpCall(upstreamData *byte, upstreamSize int, headerData *byte, headerSize int, bodyData *byte, bodySize int, trailersData *byte, trailersSize int, timeout uint32, calloutIDPtr *uint32) uint32
	ProxyCallForeignFunction(funcNamePtr *byte, funcNameSize int, paramPtr *byte, paramSize int, returnData **byte, returnSize *int) uint32
	ProxySetTickPeriodMilliseconds(period uint32) uint32
	ProxySetEffectiveContext(contextID uint32) uint32
	ProxyDone() uint32
	ProxyDefineMetric(metricType uint32, metricNameData *byte, metricNameSize int, returnMetricIDPtr *uint32) uint32
	ProxyIncrementMetric(metricID uint32, offset int64) uint32
	ProxyRecordMetric(metricID uint32, value uint64) uint32
	ProxyGetMetric(metricID uint32, returnMetricValue *uint64) uint32
}

// statusUnimplemented answers the SDK's calls that nothing here makes: HTTP
// callouts, which cannot carry a lasting stream, and shared queues.
const statusUnimplemented = 12

type host struct{}

func (host) ProxyLog(level uint32, m *byte, n int) uint32 { return proxyLog(level, at(m), int32(n)) }

func (host) ProxySetProperty(p *byte, pn int, v *byte, vn int) uint32 {
	return proxySetProperty(at(p), int32(pn), at(v), int32(vn))
}

func (host) ProxyGetProperty(p *byte, pn int, v **byte, vn *int) uint32 {
	return proxyGetProperty(at(p), int32(pn), unsafe.Pointer(v), unsafe.Pointer(vn))
}

func (host) ProxySendLocalResponse(status uint32, d *byte, dn int, b *byte, bn int, h *byte, hn int, grpc int32) uint32 {
	return proxySendLocalResponse(status, at(d), int32(dn), at(b), int32(bn), at(h), int32(hn), grpc)
}

func (host) ProxyGetSharedData(k *byte, kn int, v **byte, vn *int, cas *uint32) uint32 {
	return proxyGetSharedData(at(k), int32(kn), unsafe.Pointer(v), unsafe.Pointer(vn), unsafe.Pointer(cas))
}

func (host) ProxySetSharedData(k *byte, kn int, v *byte, vn int, cas uint32) uint32 {
	return proxySetSharedData(at(k), int32(kn), at(v), int32(vn), cas)
}

func (host) ProxyRegisterSharedQueue(*byte, int, *uint32) uint32 { return statusUnimplemented }

func (host) ProxyResolveSharedQueue(*byte, int, *byte, int, *uint32) uint32 {
	return statusUnimplemented
}

func (host) ProxyDequeueSharedQueue(uint32, **byte, *int) uint32 { return statusUnimplemented }

func (host) ProxyEnqueueSharedQueue(uint32, *byte, int) uint32 { return statusUnimplemented }

func (host) ProxyGetHeaderMapValue(m uint32, k *byte, kn int, v **byte, vn *int) uint32 {
	return proxyGetHeaderMapValue(m, at(k), int32(kn), unsafe.Pointer(v), unsafe.Pointer(vn))
}

func (host) ProxyAddHeaderMapValue(m uint32, k *byte, kn int, v *byte, vn int) uint32 {
	return proxyAddHeaderMapValue(m, at(k), int32(kn), at(v), int32(vn))
}

func (host) ProxyReplaceHeaderMapValue(m uint32, k *byte, kn int, v *byte, vn int) uint32 {
	return proxyReplaceHeaderMapValue(m, at(k), int32(kn), at(v), int32(vn))
}

func (host) ProxyContinueStream(t uint32) uint32 { return proxyContinueStream(t) }

func (host) ProxyCloseStream(t uint32) uint32 { return proxyCloseStream(t) }

func (host) ProxyRemoveHeaderMapValue(m uint32, k *byte, kn int) uint32 {
	return proxyRemoveHeaderMapValue(m, at(k), int32(kn))
}

func (host) ProxyGetHeaderMapPairs(m uint32, v **byte, vn *int) uint32 {
	return proxyGetHeaderMapPairs(m, unsafe.Pointer(v), unsafe.Pointer(vn))
}

func (host) ProxySetHeaderMapPairs(m uint32, d *byte, n int) uint32 {
	return proxySetHeaderMapPairs(m, at(d), int32(n))
}

func (host) ProxyGetBufferBytes(t uint32, start, size int, v **byte, vn *int) uint32 {
	return proxyGetBufferBytes(t, int32(start), int32(size), unsafe.Pointer(v), unsafe.Pointer(vn))
}

func (host) ProxySetBufferBytes(t uint32, start, size int, d *byte, n int) uint32 {
	return proxySetBufferBytes(t, int32(start), int32(size), at(d), int32(n))
}

func (host) ProxyHttpCall(*byte, int, *byte, int, *byte, int, *byte, int, uint32, *uint32) uint32 {
	return statusUnimplemented
}

func (host) ProxyCallForeignFunction(f *byte, fn int, p *byte, pn int, v **byte, vn *int) uint32 {
	return proxyCallForeignFunction(at(f), int32(fn), at(p), int32(pn), unsafe.Pointer(v), unsafe.Pointer(vn))
}

func (host) ProxySetTickPeriodMilliseconds(ms uint32) uint32 {
	return proxySetTickPeriodMilliseconds(ms)
}

func (host) ProxySetEffectiveContext(id uint32) uint32 { return proxySetEffectiveContext(id) }

func (host) ProxyDone() uint32 { return proxyDone() }

func (host) ProxyDefineMetric(t uint32, n *byte, size int, id *uint32) uint32 {
	return proxyDefineMetric(t, at(n), int32(size), unsafe.Pointer(id))
}

func (host) ProxyIncrementMetric(id uint32, offset int64) uint32 {
	return proxyIncrementMetric(id, offset)
}

func (host) ProxyRecordMetric(id uint32, value uint64) uint32 { return proxyRecordMetric(id, value) }

func (host) ProxyGetMetric(id uint32, value *uint64) uint32 {
	return proxyGetMetric(id, unsafe.Pointer(value))
}

func at(b *byte) unsafe.Pointer { return unsafe.Pointer(b) }

// The SDK's callbacks for the VM and its plugins, which find the context of an
// id and call it.

//go:linkname sdkOnVMStart github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnVMStart
func sdkOnVMStart(id uint32, size int) types.OnVMStartStatus

//go:linkname sdkOnConfigure github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnConfigure
func sdkOnConfigure(id uint32, size int) types.OnPluginStartStatus

//go:linkname sdkOnContextCreate github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnContextCreate
func sdkOnContextCreate(id, parent uint32)

//go:linkname sdkOnTick github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnTick
func sdkOnTick(id uint32)

//go:linkname sdkOnDone github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnDone
func sdkOnDone(id uint32) bool

//go:linkname sdkOnDelete github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyOnDelete
func sdkOnDelete(id uint32)
