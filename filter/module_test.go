//go:build !wasip1

package main_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
)

// The functions that Envoy calls, and no other.
var wantExports = []string{
	"_initialize",
	"proxy_abi_version_0_2_1",
	"proxy_on_configure",
	"proxy_on_context_create",
	"proxy_on_delete",
	"proxy_on_grpc_close",
	"proxy_on_grpc_receive",
	"proxy_on_grpc_receive_initial_metadata",
	"proxy_on_grpc_receive_trailing_metadata",
	"proxy_on_memory_allocate",
	"proxy_on_request_body",
	"proxy_on_request_headers",
	"proxy_on_request_trailers",
	"proxy_on_response_body",
	"proxy_on_response_headers",
	"proxy_on_response_trailers",
	"proxy_on_tick",
	"proxy_on_vm_start",
}

// What the module asks of Envoy: hostcalls of ABI 0.2.1, and of WASI what Envoy
// has offered since 1.33.
var wantImports = []string{
	"env.proxy_add_header_map_value", "env.proxy_call_foreign_function", "env.proxy_close_stream", "env.proxy_continue_stream",
	"env.proxy_define_metric", "env.proxy_done", "env.proxy_get_buffer_bytes", "env.proxy_get_header_map_pairs",
	"env.proxy_get_header_map_value", "env.proxy_get_metric", "env.proxy_get_property", "env.proxy_get_shared_data",
	"env.proxy_get_status", "env.proxy_grpc_cancel", "env.proxy_grpc_close", "env.proxy_grpc_send", "env.proxy_grpc_stream",
	"env.proxy_increment_metric", "env.proxy_log", "env.proxy_record_metric", "env.proxy_remove_header_map_value",
	"env.proxy_replace_header_map_value", "env.proxy_send_local_response", "env.proxy_set_buffer_bytes",
	"env.proxy_set_effective_context", "env.proxy_set_header_map_pairs", "env.proxy_set_property", "env.proxy_set_shared_data",
	"env.proxy_set_tick_period_milliseconds",
	"wasi_snapshot_preview1.args_get", "wasi_snapshot_preview1.args_sizes_get", "wasi_snapshot_preview1.clock_time_get",
	"wasi_snapshot_preview1.environ_get", "wasi_snapshot_preview1.environ_sizes_get", "wasi_snapshot_preview1.fd_close",
	"wasi_snapshot_preview1.fd_fdstat_get", "wasi_snapshot_preview1.fd_fdstat_set_flags",
	"wasi_snapshot_preview1.fd_prestat_dir_name", "wasi_snapshot_preview1.fd_prestat_get", "wasi_snapshot_preview1.fd_write",
	"wasi_snapshot_preview1.poll_oneoff", "wasi_snapshot_preview1.proc_exit", "wasi_snapshot_preview1.random_get",
	"wasi_snapshot_preview1.sched_yield",
}

func TestExportsAndImports(t *testing.T) {
	wasm, err := os.ReadFile(wasmPath)
	if err != nil {
		t.Fatalf("%v; run make wasm", err)
	}
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(t.Context())
	code, err := runtime.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantExports, slices.Sorted(maps.Keys(code.ExportedFunctions()))); diff != "" {
		t.Errorf("exports (- wanted, + found):\n%s", diff)
	}
	var imports []string
	for _, f := range code.ImportedFunctions() {
		module, name, _ := f.Import()
		imports = append(imports, module+"."+name)
	}
	slices.Sort(imports)
	imports = slices.Compact(imports) // Go imports fd_write twice
	if diff := cmp.Diff(wantImports, imports); diff != "" {
		t.Errorf("imports (- wanted, + found):\n%s", diff)
	}
}

// countedCalls are the hostcalls that a request may make.
var countedCalls = []string{
	"proxy_get_header_map_pairs", "proxy_get_header_map_value", "proxy_replace_header_map_value", "proxy_get_property", "proxy_set_property",
	"proxy_get_buffer_bytes", "proxy_grpc_send", "proxy_grpc_stream", "proxy_set_effective_context", "proxy_continue_stream",
	"proxy_send_local_response", "proxy_increment_metric", "proxy_record_metric", "proxy_define_metric", "proxy_log",
	"proxy_set_tick_period_milliseconds", "proxy_get_current_time_nanoseconds", "clock_time_get", "proxy_add_header_map_value",
	"proxy_remove_header_map_value", "proxy_get_shared_data", "proxy_set_shared_data", "proxy_call_foreign_function", "proxy_get_metric",
}

// hostcalls returns how often run makes the module call each of them.
func (r *rig) hostcalls(run func()) map[string]int {
	before := map[string]int{}
	for _, name := range countedCalls {
		before[name] = r.vm.Calls(name)
	}
	run()
	made := map[string]int{}
	for _, name := range countedCalls {
		if n := r.vm.Calls(name) - before[name]; n > 0 {
			made[name] = n
		}
	}
	return made
}

// A call that brings bytes back costs 0.6 us, any other 0.05 to 0.3: their
// number is most of what a request costs here. A smaller one is progress; then
// put it here.
func TestHostcallsOfARequest(t *testing.T) {
	const policy = `{"identities": {"u": {"from": "body:u"}}, "routes": {
		"* /ip":  {"identity": "ip", "limit": 5, "window": "1m"},
		"* /u":   {"identity": "u", "limit": 5, "window": "1m"},
		"* /two": {"limits": [{"identity": "ip", "limit": 5, "window": "1m"}, {"identity": "all", "limit": 5, "window": "1m"}]}}, "default": null}`
	passed := map[string]int{
		"proxy_get_header_map_pairs":     1,
		"proxy_get_property":             2, // the route's metadata, source.address
		"clock_time_get":                 2, // asked, answered
		"proxy_grpc_send":                1,
		"proxy_get_buffer_bytes":         1, // the reply
		"proxy_set_effective_context":    1, // the request's, and back to the plugin's
		"proxy_continue_stream":          1,
		"proxy_increment_metric":         1,
		"proxy_record_metric":            2, // batch, waited
		"proxy_replace_header_map_value": 3,
	}
	with := func(changes map[string]int) map[string]int {
		changed := maps.Clone(passed)
		maps.Copy(changed, changes)
		maps.DeleteFunc(changed, func(_ string, n int) bool { return n == 0 })
		return changed
	}
	for name, c := range map[string]struct {
		path, body string
		reply      func([][]byte) []byte
		want       map[string]int
	}{
		"passed":   {"/ip", "", allow, passed},
		"two keys": {"/two", "", allow, with(map[string]int{"proxy_increment_metric": 2})},
		"with a body": {"/u", `{"u":"a"}`, allow, with(map[string]int{
			"proxy_get_header_map_pairs": 2, "proxy_get_buffer_bytes": 2, "proxy_get_property": 1, "clock_time_get": 3})},
		"refused": {"/ip", "", refuse, with(map[string]int{
			"proxy_continue_stream": 0, "proxy_replace_header_map_value": 0, "proxy_send_local_response": 1, "proxy_set_property": 2,
			"proxy_log": 1, "clock_time_get": 3})},
		"refused from memory": {"/ip", "", refuse, map[string]int{
			"proxy_get_header_map_pairs": 1, "proxy_get_property": 2, "clock_time_get": 2, // the line's, recalled
			"proxy_send_local_response": 1, "proxy_set_property": 2, "proxy_log": 1, "proxy_increment_metric": 2}},
		"not limited": {"/none", "", allow, map[string]int{
			"proxy_get_header_map_pairs": 1, "proxy_get_property": 1, "proxy_increment_metric": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			policy := policy
			if !strings.Contains(name, "memory") {
				policy = asking(policy)
			}
			r := onScript(t, c.reply, policy)
			request := func() {
				s := r.do("POST", c.path, c.body, "content-type", jsonType)
				respond(s, "200")
			}
			for range 3 { // links, metrics and the tick are there from then on
				request()
			}
			if diff := cmp.Diff(c.want, r.hostcalls(request)); diff != "" {
				t.Errorf("hostcalls (- before, + now):\n%s", diff)
			}
		})
	}
}
