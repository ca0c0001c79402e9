package hosttest

import "github.com/tetratelabs/wazero/api"

// What a hostcall answers: WasmResult of the proxy-wasm ABI 0.2.1.
const (
	resultOK                  = 0
	resultNotFound            = 1
	resultBadArgument         = 2
	resultParseFailure        = 4
	resultInvalidMemoryAccess = 6
	resultEmpty               = 7
	resultCasMismatch         = 8
	resultInternalFailure     = 10
)

// Which header map a hostcall means.
const (
	mapRequestHeaders = iota
	mapRequestTrailers
	mapResponseHeaders
	mapResponseTrailers
	mapGRPCInitialMetadata
	mapGRPCTrailingMetadata
	mapCallResponseHeaders
	mapCallResponseTrailers
	mapLast = mapCallResponseTrailers
)

// Which bytes a buffer hostcall means.
const (
	bufferRequestBody         = 0
	bufferResponseBody        = 1
	bufferGRPCReceive         = 5
	bufferVMConfiguration     = 6
	bufferPluginConfiguration = 7
	bufferLast                = 8
)

// What a callback answers. The numbers are Envoy's, which the ABI passes
// through unchanged: 1 means different things to headers and to a body.
const (
	actionContinue         = 0
	actionStopIteration    = 1 // headers: hold them, let the body come; body: hold and buffer it
	actionStopWatermark    = 2 // body: hold it under back-pressure
	actionStopNoBuffer     = 3 // body: drop these bytes
	actionStopAllBuffer    = 3 // headers: hold everything, buffered
	actionStopAllWatermark = 4 // headers: hold everything, under back-pressure
)

// The two directions of a stream as continue_stream and close_stream name them.
const (
	streamRequest  = 0
	streamResponse = 1
	streamLast     = 3
)

const i32, i64 = api.ValueTypeI32, api.ValueTypeI64

// A hostFunction is one function that a module may import.
type hostFunction struct {
	name   string
	params []api.ValueType
	void   bool
	run    func(in *instance, args []uint64) uint32
}

func ints(n int) []api.ValueType {
	types := make([]api.ValueType, n)
	for i := range types {
		types[i] = i32
	}
	return types
}

// An export is a function that Envoy calls, with the signature that it demands.
type export struct {
	params  int
	results int
}

// exports are the functions of ABI 0.2.1 that Envoy calls in an HTTP filter.
var exports = map[string]export{
	"_initialize":                             {0, 0},
	"proxy_on_memory_allocate":                {1, 1},
	"proxy_on_context_create":                 {2, 0},
	"proxy_on_vm_start":                       {2, 1},
	"proxy_on_configure":                      {2, 1},
	"proxy_on_tick":                           {1, 0},
	"proxy_on_request_headers":                {3, 1},
	"proxy_on_request_body":                   {3, 1},
	"proxy_on_request_trailers":               {2, 1},
	"proxy_on_response_headers":               {3, 1},
	"proxy_on_response_body":                  {3, 1},
	"proxy_on_response_trailers":              {2, 1},
	"proxy_on_grpc_receive_initial_metadata":  {3, 0},
	"proxy_on_grpc_receive":                   {3, 0},
	"proxy_on_grpc_receive_trailing_metadata": {3, 0},
	"proxy_on_grpc_close":                     {3, 0},
	"proxy_on_http_call_response":             {5, 0},
	"proxy_on_queue_ready":                    {2, 0},
	"proxy_on_foreign_function":               {3, 0},
	"proxy_on_log":                            {1, 0},
	"proxy_on_done":                           {1, 1},
	"proxy_on_delete":                         {1, 0},
}
