//go:build wasip1

package shim

import (
	"time"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// What a request callback may answer beyond the SDK's Continue and Pause.
// Envoy takes them as they are where the plugin is configured with
// allow_on_headers_stop_iteration; without it, it reads each but Continue from
// the headers callback as StopAllIterationAndWatermark.
const (
	Continue                     types.Action = 0
	StopIteration                types.Action = 1
	StopIterationAndWatermark    types.Action = 2
	StopAllIterationAndWatermark types.Action = 4
)

// LogLevel is the level of a log line, as the proxy numbers them.
type LogLevel uint32

const (
	LogDebug    LogLevel = 1
	LogInfo     LogLevel = 2
	LogWarn     LogLevel = 3
	LogError    LogLevel = 4
	LogCritical LogLevel = 5
)

const (
	statusOK = 0

	mapRequestHeaders  = 0
	mapResponseHeaders = 2

	bufferRequestBody         = 0
	bufferResponseBody        = 1
	bufferGRPCReceive         = 5
	bufferPluginConfiguration = 7

	streamRequest = 0

	metricCounter   = 0
	metricGauge     = 1
	metricHistogram = 2
)

// Log writes a line to the proxy's log.
func Log(level LogLevel, message string) {
	proxyLog(uint32(level), str(message), int32(len(message)))
}

// PluginConfiguration returns the configuration of the plugin that is being
// configured, nil if it has none.
func PluginConfiguration() []byte { return buffer(bufferPluginConfiguration, 0, 1<<30) }

// AppendRequestHeaders appends all lines of the request's headers, for one call
// to the proxy.
func AppendRequestHeaders(dst [][2]string) [][2]string {
	return AppendLines(dst, answer.bytes(proxyGetHeaderMapPairs(mapRequestHeaders, answer.data(), answer.size())))
}

// ResponseHeader returns the first line of a response header.
func ResponseHeader(name string) (value string, ok bool) {
	status := proxyGetHeaderMapValue(mapResponseHeaders, str(name), int32(len(name)), answer.data(), answer.size())
	return text(answer.bytes(status)), status == statusOK
}

// ReplaceResponseHeader leaves one line of that name, with that value.
func ReplaceResponseHeader(name, value string) {
	proxyReplaceHeaderMapValue(mapResponseHeaders, str(name), int32(len(name)), str(value), int32(len(value)))
}

// RequestBody returns size bytes of the piece of the body that is being shown.
func RequestBody(size int) []byte { return buffer(bufferRequestBody, 0, size) }

// ResponseBody returns size bytes of the piece of the body that is being shown.
func ResponseBody(size int) []byte { return buffer(bufferResponseBody, 0, size) }

// ReplaceRequestBody puts b in the place of the piece of the body that is being
// shown. It reports whether the proxy took it.
func ReplaceRequestBody(b []byte) bool {
	return proxySetBufferBytes(bufferRequestBody, 0, 1<<30, bytes(b), int32(len(b))) == statusOK
}

// PrependResponseBody puts b before the piece of the body that is being shown.
// It reports whether the proxy took it.
func PrependResponseBody(b []byte) bool {
	return proxySetBufferBytes(bufferResponseBody, 0, 0, bytes(b), int32(len(b))) == statusOK
}

// Property returns one attribute of the proxy or the request; the elements of
// its path are joined by NUL. Absent and unreadable attributes give false.
func Property(path string) (value []byte, ok bool) {
	status := proxyGetProperty(str(path), int32(len(path)), answer.data(), answer.size())
	return answer.bytes(status), status == statusOK
}

// SetFilterState sets the filter state wasm.<name> of the request, for access
// logs: %FILTER_STATE(wasm.<name>:PLAIN)%.
func SetFilterState(name, value string) {
	proxySetProperty(str(name), int32(len(name)), str(value), int32(len(value)))
}

// ContinueRequest lets a request go on that is held.
func ContinueRequest() { proxyContinueStream(streamRequest) }

// SendLocalResponse answers the request in the upstream's place. details becomes
// %RESPONSE_CODE_DETAILS%. grpcStatus is -1 where the request is not gRPC.
// It reports whether the proxy took it.
func SendLocalResponse(status uint32, details string, headers [][2]string, body []byte, grpcStatus int32) bool {
	pairs := AppendPairs(nil, headers)
	return proxySendLocalResponse(status, str(details), int32(len(details)), bytes(body), int32(len(body)),
		bytes(pairs), int32(len(pairs)), grpcStatus) == statusOK
}

// SetEffectiveContext makes the following calls concern the context id, until
// the callback ends. It reports whether that context is alive.
func SetEffectiveContext(id uint32) bool { return proxySetEffectiveContext(id) == statusOK }

// SetTickPeriod lets the plugin's OnTick be called every ms milliseconds; 0 ends it.
func SetTickPeriod(ms uint32) { proxySetTickPeriodMilliseconds(ms) }

// Monotonic is the time passed since some moment, on a clock that only goes
// forward. It is what time.Since would say, without the way there.
func Monotonic() time.Duration { return time.Duration(nanotime()) }

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Metric is a counter, gauge or histogram of the proxy, which all workers
// share. The zero value counts nothing.
type Metric struct{ id uint32 }

// DefineCounter returns the counter of that name, which other workers and an
// earlier configuration may have defined already.
func DefineCounter(name string) Metric { return define(metricCounter, name) }

// DefineGauge returns the gauge of that name.
func DefineGauge(name string) Metric { return define(metricGauge, name) }

// DefineHistogram returns the histogram of that name.
func DefineHistogram(name string) Metric { return define(metricHistogram, name) }

func define(kind uint32, name string) Metric {
	var id uint32
	if name == "" || proxyDefineMetric(kind, str(name), int32(len(name)), unsafe.Pointer(&id)) != statusOK {
		return Metric{}
	}
	return Metric{id: id}
}

// Add counts a counter up; n below 1 is ignored, since the proxy refuses it.
func (m Metric) Add(n int64) {
	if m.id != 0 && n > 0 {
		proxyIncrementMetric(m.id, n)
	}
}

// Record sets a gauge, or adds a value to a histogram.
func (m Metric) Record(value uint64) {
	if m.id != 0 {
		proxyRecordMetric(m.id, value)
	}
}

func buffer(kind uint32, start, size int) []byte {
	return answer.bytes(proxyGetBufferBytes(kind, int32(start), int32(size), answer.data(), answer.size()))
}

// answer is where the proxy writes the address and the size of the bytes that a
// call brings back. One place serves all calls, since they never nest; as
// variables of each call they would be allocated.
var answer result

type result struct {
	address *byte
	length  int
}

func (r *result) data() unsafe.Pointer { return unsafe.Pointer(&r.address) }

func (r *result) size() unsafe.Pointer { return unsafe.Pointer(&r.length) }

// bytes takes the answer of a call that returned status, nil if it brought none.
func (r *result) bytes(status uint32) []byte {
	address, length := r.address, r.length
	*r = result{}
	if status != statusOK || address == nil {
		return nil
	}
	return unsafe.Slice(address, length)
}

func str(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func bytes(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
