package hosttest

import "github.com/tetratelabs/wazero/api"

// envFunctions are the functions of module "env" in ABI 0.2.1.
var envFunctions = []hostFunction{
	{name: "proxy_log", params: ints(3), run: (*instance).log},
	{name: "proxy_get_log_level", params: ints(1), run: (*instance).getLogLevel},
	{name: "proxy_get_current_time_nanoseconds", params: ints(1), run: (*instance).getCurrentTime},
	{name: "proxy_set_tick_period_milliseconds", params: ints(1), run: (*instance).setTickPeriod},
	{name: "proxy_get_status", params: ints(3), run: (*instance).getStatus},

	{name: "proxy_set_effective_context", params: ints(1), run: (*instance).setEffectiveContext},
	{name: "proxy_done", params: nil, run: (*instance).done},
	{name: "proxy_continue_stream", params: ints(1), run: (*instance).continueStream},
	{name: "proxy_close_stream", params: ints(1), run: (*instance).closeStream},
	{name: "proxy_send_local_response", params: ints(8), run: (*instance).sendLocalResponse},

	{name: "proxy_get_header_map_value", params: ints(5), run: (*instance).getHeaderMapValue},
	{name: "proxy_add_header_map_value", params: ints(5), run: (*instance).addHeaderMapValue},
	{name: "proxy_replace_header_map_value", params: ints(5), run: (*instance).replaceHeaderMapValue},
	{name: "proxy_remove_header_map_value", params: ints(3), run: (*instance).removeHeaderMapValue},
	{name: "proxy_get_header_map_pairs", params: ints(3), run: (*instance).getHeaderMapPairs},
	{name: "proxy_set_header_map_pairs", params: ints(3), run: (*instance).setHeaderMapPairs},
	{name: "proxy_get_header_map_size", params: ints(2), run: (*instance).getHeaderMapSize},

	{name: "proxy_get_buffer_bytes", params: ints(5), run: (*instance).getBufferBytes},
	{name: "proxy_get_buffer_status", params: ints(3), run: (*instance).getBufferStatus},
	{name: "proxy_set_buffer_bytes", params: ints(5), run: (*instance).setBufferBytes},

	{name: "proxy_get_property", params: ints(4), run: (*instance).getProperty},
	{name: "proxy_set_property", params: ints(4), run: (*instance).setProperty},
	{name: "proxy_call_foreign_function", params: ints(6), run: (*instance).callForeignFunction},

	{name: "proxy_get_shared_data", params: ints(5), run: (*instance).getSharedData},
	{name: "proxy_set_shared_data", params: ints(5), run: (*instance).setSharedData},
	{name: "proxy_register_shared_queue", params: ints(3), run: (*instance).registerSharedQueue},
	{name: "proxy_resolve_shared_queue", params: ints(5), run: (*instance).resolveSharedQueue},
	{name: "proxy_dequeue_shared_queue", params: ints(3), run: (*instance).dequeueSharedQueue},
	{name: "proxy_enqueue_shared_queue", params: ints(3), run: (*instance).enqueueSharedQueue},

	{name: "proxy_define_metric", params: ints(4), run: (*instance).defineMetric},
	{name: "proxy_increment_metric", params: []api.ValueType{i32, i64}, run: (*instance).incrementMetric},
	{name: "proxy_record_metric", params: []api.ValueType{i32, i64}, run: (*instance).recordMetric},
	{name: "proxy_get_metric", params: ints(2), run: (*instance).getMetric},

	{name: "proxy_http_call", params: ints(10), run: (*instance).httpCall},
	{name: "proxy_grpc_call", params: ints(12), run: (*instance).grpcCall},
	{name: "proxy_grpc_stream", params: ints(9), run: (*instance).grpcStream},
	{name: "proxy_grpc_send", params: ints(4), run: (*instance).grpcSend},
	{name: "proxy_grpc_close", params: ints(1), run: (*instance).grpcClose},
	{name: "proxy_grpc_cancel", params: ints(1), run: (*instance).grpcCancel},
}
