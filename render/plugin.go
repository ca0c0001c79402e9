package render

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	limiterName   = "routelimit" // of the plugin that decides
	gatewayConfig = `{"role": "gateway"}`
)

// limiter is the plugin that decides.
func (p *parsed) limiter(code *corev3.AsyncDataSource) *wasmfilterv3.Wasm {
	w := plugin(limiterName, string(p.Policy), code)
	w.Config.AllowOnHeadersStopIteration = wrapperspb.Bool(true) // without it no body is seen in time
	if p.hashKey != "" {
		w.Config.GetVmConfig().EnvironmentVariables = &wasmv3.EnvironmentVariables{HostEnvKeys: []string{p.hashKey}}
	}
	return w
}

// gateway is the plugin that takes the gRPC framing off.
func gateway(code *corev3.AsyncDataSource) *wasmfilterv3.Wasm {
	return plugin(gatewayName, gatewayConfig, code)
}

// plugin loads the module in one role. Each role has a vm_id of its own: a crash of one must not take the other along.
func plugin(name, configuration string, code *corev3.AsyncDataSource) *wasmfilterv3.Wasm {
	return &wasmfilterv3.Wasm{Config: &wasmv3.PluginConfig{
		Name:          name,
		FailurePolicy: wasmv3.FailurePolicy_FAIL_RELOAD, // a crashed VM is replaced; until then requests get 503
		Vm: &wasmv3.PluginConfig_VmConfig{VmConfig: &wasmv3.VmConfig{
			VmId: name, Runtime: "envoy.wasm.runtime.v8", Code: code,
		}},
		Configuration: pack(wrapperspb.String(configuration)),
	}}
}

func localFile(name string) *corev3.AsyncDataSource {
	return &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{Local: file(name, "")}}
}

// httpFilter is an HTTP filter with its configuration beside it.
func httpFilter(name string, config proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(config)}}
}

func router() *hcmv3.HttpFilter {
	return httpFilter("envoy.filters.http.router", &routerv3.Router{})
}

// pack wraps a message of ours, which can always be encoded.
func pack(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
	}
	return a
}
