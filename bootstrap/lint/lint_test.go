package lint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func noEnv(string) (string, bool) { return "", false }

func shipped(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit replaces texts that occur once, each by the one after it.
func edit(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			t.Fatalf("the text holds %q %d times", pairs[i], n)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// find lists findings as "error rule: the line that it points to".
func find(t *testing.T, text string, o Options) []string {
	t.Helper()
	o.Env = noEnv
	found, err := File([]byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	list := []string{}
	for _, f := range found {
		severity := "warning"
		if f.Error {
			severity = "error"
		}
		if f.Line < 1 || f.Line > len(lines) || !strings.Contains(f.Text, "; ") {
			t.Fatalf("%+v says not where, or not what to do", f)
		}
		line := lines[f.Line-1]
		if f.Column > 0 {
			line = line[min(f.Column-1, len(line)):]
		}
		line, _, _ = strings.Cut(line, " #")
		list = append(list, fmt.Sprintf("%s %s: %s", severity, f.Rule, strings.TrimSpace(line)))
	}
	return list
}

func TestTheShippedConfigurationIsClean(t *testing.T) {
	if diff := cmp.Diff([]string{}, find(t, shipped(t), Options{})); diff != "" {
		t.Error(diff)
	}
}

// listeningGateway is a gateway in a listener of its own, with the idle timeouts of
// its manager, 0s if it is "", and its route, which has none then.
func listeningGateway(manager, route string) string {
	if manager == "" {
		manager = "0s"
	}
	if route != "" {
		route = ", idle_timeout: " + route
	}
	return `
  - name: listening_gateway
    internal_listener: {}
    filter_chains:
    - filters:
      - typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stream_idle_timeout: ` + manager + `
          route_config: {virtual_hosts: [{routes: [{route: {cluster: redis` + route + `}}]}]}
          http_filters:
          - typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm
              config:
                name: routelimit_listening
                failure_policy: FAIL_RELOAD
                vm_config: {vm_id: listening}
                configuration: {"@type": type.googleapis.com/google.protobuf.StringValue, value: '{"role": "gateway"}'}
`
}

// lasting is one whose stream may last so long by its manager and by its route.
func lasting(manager, route string) string {
	gateway := listeningGateway("", "")
	if manager != "" {
		gateway = strings.Replace(gateway, "stream_idle_timeout: 0s", "stream_idle_timeout: 0s\n          common_http_protocol_options: {max_stream_duration: "+manager+"}", 1)
	}
	if route != "" {
		gateway = strings.Replace(gateway, "{cluster: redis}", "{cluster: redis, max_stream_duration: {max_stream_duration: "+route+"}}", 1)
	}
	return gateway
}

// Each case is the shipped configuration with one thing written otherwise.
func TestEachFaultIsFoundWhereItIs(t *testing.T) {
	const (
		remote       = "          use_remote_address: true\n"
		hops         = `"client": { "trusted_hops": 1 }`
		redisCluster = "  - name: redis\n    connect_timeout: 0.025s\n"
		clusterType  = "    lb_policy: CLUSTER_PROVIDED\n    cluster_type: {name: envoy.clusters.redis}\n"
		publicAt     = `"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`
		plugin       = "name: routelimit"
		redisProxy   = `"@type": type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy`
		reload       = "                failure_policy: FAIL_RELOAD           # a crashed VM is replaced; until then requests get 503\n"
		gateway      = "              failure_policy: FAIL_RELOAD\n"
		pool         = "    upstream_config:\n      name: envoy.filters.connection_pools.http.tcp\n      typed_config: {\"@type\": type.googleapis.com/envoy.extensions.upstreams.http.tcp.v3.TcpConnectionPoolProto}\n"
		codec        = "        - name: envoy.filters.http.upstream_codec\n          typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec}\n"
		endOfRedis   = "          prefix_routes: {catch_all_route: {cluster: redis}}\n"
		jwt          = "                  payload_in_metadata: payload # read as metadata:envoy.filters.http.jwt_authn/payload/sub\n"
	)
	for name, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"invalid policy": {[]string{`"limit": 30, "window": "1m"`, `"limit": 30, "window": "60"`},
			[]string{`error invalid: "60" },`}},
		"unwise policy": {[]string{`"POST /orders": { "identity": "user_id"`, `"POST /orders": { "identity": "api_key"`},
			[]string{`warning unverified-identity: "identity": "api_key", "limit": 30, "window": "1m" },`}},

		"no failure policy": {[]string{reload, ""},
			[]string{"warning failure-policy: " + plugin}},
		"crashes let all pass": {[]string{reload, "                failure_policy: FAIL_OPEN\n"},
			[]string{"warning fail-open: FAIL_OPEN"}},
		"crashes let all pass, as it was written": {[]string{reload, "                fail_open: true\n"},
			[]string{"warning fail-open: true"}},
		"crashes let all pass, as a number": {[]string{reload, "                failure_policy: 3\n"},
			[]string{"warning fail-open: 3"}},
		"crashes let pass what is open anyway": {[]string{reload, "                failure_policy: FAIL_OPEN\n", `"on_error": "closed", `, ""}, []string{}},
		"crashes let undeclared requests pass": {[]string{reload, "                failure_policy: FAIL_OPEN\n", `"on_error": "closed", `, "",
			`"default": { "identity": "user_id|ip", "limit": 120, "window": "1m" }`, `"undeclared": "refuse"`},
			[]string{"warning fail-open: FAIL_OPEN"}},
		"a gateway that is left out": {[]string{gateway, "              failure_policy: FAIL_OPEN\n"},
			[]string{"warning fail-open: FAIL_OPEN"}},

		"one VM for both roles": {[]string{"vm_id: routelimit_gateway", "vm_id: routelimit"},
			[]string{"error vm-id-shared: name: routelimit_gateway"}},
		"hash key that the module cannot see": {[]string{hops, hops + `, "hash_key_env": "KEY"`},
			[]string{"error hash-key-hidden: " + plugin}},
		"hash key of the host": {[]string{hops, hops + `, "hash_key_env": "KEY"`,
			"# environment_variables: {host_env_keys: [ROUTELIMIT_HASH_KEY]}", "environment_variables: {host_env_keys: [KEY]}"}, []string{}},
		"hash key in the file": {[]string{hops, hops + `, "hash_key_env": "KEY"`,
			"# environment_variables: {host_env_keys: [ROUTELIMIT_HASH_KEY]}", "environment_variables: {key_values: {KEY: 0123456789abcdef}}"}, []string{}},
		"password that the module cannot see, and redis_proxy does not want": {[]string{hops, hops + `, "redis": {"password_env": "PASSWORD", "username_env": "USER"}`},
			[]string{"error redis-password-hidden: " + plugin, "error redis-user-hidden: " + plugin, "warning redis-entry: " + redisProxy}},
		"database that redis_proxy does not know": {[]string{hops, hops + `, "redis": {"database": 3}`},
			[]string{"warning redis-entry: " + redisProxy}},
		"password for a Redis reached directly": {[]string{hops, hops + `, "redis": {"password_env": "PASSWORD", "username_env": "USER", "database": 3}`,
			"# environment_variables: {host_env_keys: [ROUTELIMIT_HASH_KEY]}", "environment_variables: {host_env_keys: [PASSWORD, USER]}",
			"envoy_internal_address: {server_listener_name: routelimit_redis}", "socket_address: {address: 127.0.0.1, port_value: 6379}"}, []string{}},
		"no label for metrics": {[]string{"  - {tag_name: outcome, regex: '(\\.outcome=\\.(.*?);)'}\n", ""},
			[]string{"warning stats-tags: - {tag_name: route, regex: '(\\.route=\\.(.*?);)'}"}},

		"nobody says whose address": {[]string{remote, "", hops + ",", ""},
			[]string{"warning client-forgeable: " + publicAt}},
		"Envoy's own count of proxies":   {[]string{remote, "          xff_num_trusted_hops: 1\n", hops + ",", ""}, []string{}},
		"an extension finds the address": {[]string{remote, "          original_ip_detection_extensions: [{name: x}]\n", hops + ",", ""}, []string{}},
		"the peer is hidden": {[]string{remote, "          use_remote_address: false\n", hops, `"client": { "trusted_hops": 0 }`},
			[]string{"error client-hidden: false"}},
		"the peer is hidden by Envoy's count": {[]string{remote, remote + "          xff_num_trusted_hops: 1\n", hops, `"client": { "trusted_hops": 0 }`},
			[]string{"error client-hidden: 1"}},
		"Envoy counts one proxy more": {[]string{remote, remote + "          xff_num_trusted_hops: 1\n"},
			[]string{"warning client-hops: 1"}},
		"Envoy counts one proxy less": {[]string{remote, remote + "          xff_num_trusted_hops: 1\n", hops, `"client": { "trusted_hops": 3 }`},
			[]string{"warning client-hops: 1", "warning client-short-chain: 1"}},
		"Envoy counts the same proxies": {[]string{remote, remote + "          xff_num_trusted_hops: 1\n", hops, `"client": { "trusted_hops": 2 }`},
			[]string{"warning client-short-chain: 1"}},
		"Envoy counts, and appends nothing": {[]string{remote, remote + "          skip_xff_append: true\n          xff_num_trusted_hops: 1\n"}, []string{}},
		"Envoy counts, and is not appended to": {[]string{remote, "          xff_num_trusted_hops: 1\n"},
			[]string{"warning client-hops: 1"}},
		"Envoy counts none": {[]string{remote, remote + "          xff_num_trusted_hops: 0\n", hops, `"client": { "trusted_hops": 2 }`}, []string{}},
		"an extension counts": {[]string{remote, "          original_ip_detection_extensions: [{name: x, typed_config: {'@type': t/envoy.extensions.http.original_ip_detection.xff.v3.XffConfig, xff_num_trusted_hops: 1}}]\n"},
			[]string{"warning client-hops: 1}}]"}},
		"the peer is not hidden":     {[]string{hops, `"client": { "trusted_hops": 0 }`}, []string{}},
		"one proxy in front":         {[]string{remote, ""}, []string{}},
		"two proxies, peer hidden":   {[]string{remote, "", hops, `"client": { "trusted_hops": 2 }`}, []string{"warning client-short-chain: " + publicAt}},
		"two proxies and this Envoy": {[]string{hops, `"client": { "trusted_hops": 3 }`}, []string{}},
		"nothing appended": {[]string{remote, remote + "          skip_xff_append: true\n"},
			[]string{"warning client-not-appended: true"}},

		"body not held": {[]string{"                allow_on_headers_stop_iteration: true # Envoy 1.35 or newer. Without it routelimit never sees a body in time\n", ""},
			[]string{"error body-not-held: " + plugin}},
		"small buffer": {[]string{"per_connection_buffer_limit_bytes: 32768", "per_connection_buffer_limit_bytes: 16383"},
			[]string{"error body-buffer: 16383"}},
		"buffer just large enough": {[]string{"per_connection_buffer_limit_bytes: 32768", "per_connection_buffer_limit_bytes: 16384"}, []string{}},
		"Envoy's own buffer":       {[]string{"    per_connection_buffer_limit_bytes: 32768\n", "", hops, hops + `, "body": {"max_bytes": 1048576}`}, []string{}},

		"a token's claims nobody writes": {[]string{jwt, ""},
			[]string{"error claims-missing: " + plugin}},
		"a plan in claims nobody writes": {[]string{`"limit": 120, "window"`, `"limit": {"by": "metadata:envoy.filters.http.jwt_authn/other/plan", "values": {"gold": 1}, "default": 1}, "window"`},
			[]string{"error claims-missing: " + plugin}},
		"no verification": {[]string{"envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", "envoy.extensions.filters.http.cors.v3.Cors"},
			[]string{"warning claims-missing: " + plugin}},

		"no such cluster": {[]string{hops, hops + `, "redis": {"cluster": "redis-link"}`},
			[]string{"error redis-cluster: " + plugin}},
		"a cluster from elsewhere": {[]string{hops, hops + `, "redis": {"cluster": "redis-link"}`, "static_resources:", "dynamic_resources: {cds_config: {path: x}}\nstatic_resources:"}, []string{}},
		"slow redis_proxy": {[]string{"op_timeout: 0.025s", "op_timeout: 0.05s"},
			[]string{"warning op-timeout: 0.05s"}},
		"redis_proxy as slow as can be": {[]string{"op_timeout: 0.025s", "op_timeout: 0.045s"}, []string{}},
		"redis_proxy hardly faster": {[]string{"op_timeout: 0.025s", "op_timeout: 0.046s"},
			[]string{"warning op-timeout: 0.046s"}},
		"redis_proxy that is not there": {[]string{"server_listener_name: routelimit_redis", "server_listener_name: redis"},
			[]string{"error internal-listener: redis}}}}]}]"}},
		"listeners from elsewhere": {[]string{"server_listener_name: routelimit_redis", "server_listener_name: redis",
			"static_resources:", "dynamic_resources: {lds_config: {path: x}}\nstatic_resources:"}, []string{}},
		"a Cluster": {[]string{redisCluster, redisCluster + clusterType}, []string{}},
		"a Cluster that is not followed": {[]string{redisCluster, redisCluster + clusterType, "            enable_redirection: true # to nodes that announce host names, only with dns_cache_config as well\n", ""},
			[]string{"warning redirection: op_timeout: 0.025s"}},
		"a Cluster that must not be followed": {[]string{redisCluster, redisCluster + clusterType, "enable_redirection: true", "enable_redirection: false"},
			[]string{"warning redirection: false"}},
		"slower policy": {[]string{"op_timeout: 0.025s", "op_timeout: 0.05s", hops, hops + `, "redis": {"timeout": "60ms"}`}, []string{}},
		"a gateway that speaks HTTP": {[]string{pool, ""},
			[]string{"error gateway-pool: name: routelimit"}},
		"a gateway of another pool": {[]string{"upstreams.http.tcp.v3.TcpConnectionPoolProto", "upstreams.http.http.v3.HttpConnectionPoolProto"},
			[]string{"error gateway-pool: name: envoy.filters.connection_pools.http.tcp"}},
		"a gateway without a codec": {[]string{codec, ""},
			[]string{"error gateway-codec: name: routelimit_gateway"}},
		"a listener's gateway":                    {[]string{endOfRedis, endOfRedis + listeningGateway("", "")}, []string{}},
		"a listener's idle gateway":               {[]string{endOfRedis, endOfRedis + listeningGateway("60s", "")}, []string{"error gateway-idle: 60s"}},
		"a listener's gateway, but for its route": {[]string{endOfRedis, endOfRedis + listeningGateway("60s", "0s")}, []string{}},
		"a listener's gateway of an idle route":   {[]string{endOfRedis, endOfRedis + listeningGateway("0s", "60s")}, []string{"error gateway-idle: 60s}}]}]}"}},
		"a listener's gateway that says nothing": {[]string{endOfRedis, endOfRedis + strings.Replace(listeningGateway("", ""), "stream_idle_timeout: 0s", "codec_type: HTTP2", 1)},
			[]string{`error gateway-idle: "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`}},
		"a listener's gateway of a minute":             {[]string{endOfRedis, endOfRedis + lasting("60s", "")}, []string{"error gateway-duration: 60s}"}},
		"a listener's gateway of a route's minute":     {[]string{endOfRedis, endOfRedis + lasting("", "61s")}, []string{"error gateway-duration: 61s}}}]}]}"}},
		"a listener's gateway that lasts by its route": {[]string{endOfRedis, endOfRedis + lasting("60s", "0s")}, []string{}},
		"a gateway of a minute": {[]string{"        http_filters:\n        - name: routelimit_gateway", "        common_http_protocol_options: {max_stream_duration: 60s}\n        http_filters:\n        - name: routelimit_gateway"},
			[]string{"error gateway-duration: 60s}"}},
		"metadata that comes too late": {[]string{`"api_key":  { "from": "header:x-api-key", "secret": true }`, `"api_key":  { "from": "metadata:envoy.filters.http.router/key" }`},
			[]string{"error metadata-too-late: name: envoy.filters.http.router"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, find(t, edit(t, shipped(t), c.edits...), Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFilterThatVerifiesTooLateIsFound(t *testing.T) {
	text := shipped(t)
	const begin, end = "          - name: envoy.filters.http.jwt_authn\n", "          - name: routelimit\n"
	i, j := strings.Index(text, begin), strings.Index(text, end)
	const router = "          - name: envoy.filters.http.router\n"
	k := strings.Index(text, router)
	if i < 0 || j < i || k < j {
		t.Fatal("envoy.yaml has other filters")
	}
	moved := text[:i] + text[j:k] + text[i:j] + text[k:]
	if diff := cmp.Diff([]string{"error claims-too-late: name: envoy.filters.http.jwt_authn"}, find(t, moved, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestCamelCaseIsReadAsEnvoyReadsIt(t *testing.T) {
	text := edit(t, shipped(t), "allow_on_headers_stop_iteration: true", "allowOnHeadersStopIteration: true", "use_remote_address: true\n", "useRemoteAddress: true\n",
		"op_timeout: 0.025s", "opTimeout: 1s")
	if diff := cmp.Diff([]string{"warning op-timeout: 1s"}, find(t, text, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestAPolicyByItselfIsChecked(t *testing.T) {
	text := "{\n  \"hash_key_env\": \"KEY_OF_ANOTHER_MACHINE\",\n  \"default\": null, \"windo\": 1\n}"
	if diff := cmp.Diff([]string{`error invalid: "windo": 1`}, find(t, text, Options{})); diff != "" {
		t.Error(diff)
	}
	text = strings.Replace(text, `, "windo": 1`, "", 1)
	want := []string{`warning hash-key-unused: "hash_key_env": "KEY_OF_ANOTHER_MACHINE",`, `warning default-null: "default": null`}
	if diff := cmp.Diff(want, find(t, text, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestAByteOrderMarkIsNamed(t *testing.T) {
	for name, text := range map[string]string{
		"a policy":               `{"default": null}`,
		"a policy, set off":      "\r\n " + `{"default": null}`,
		"an Envoy configuration": shipped(t),
	} {
		found, err := File([]byte("\xef\xbb\xbf"+text), Options{Env: noEnv})
		if err != nil || len(found) == 0 || !strings.Contains(found[0].Text, "byte order mark") {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestWhatAPolicyByItselfDoesNotShowIsNoted(t *testing.T) {
	for text, want := range map[string][]string{
		`{"redis": {"cluster": "redis-link"}, "default": null}`: {`whether Envoy has the cluster "redis-link" of redis.cluster is not known from a policy by itself; check the Envoy configuration`},
		`{"redis": {"timeout": "30ms"}, "default": null}`:       nil,
		`{"redis": {"cluster": ""}, "default": null}`:           nil,
	} {
		var got []string
		if _, err := File([]byte(text), Options{Env: noEnv, Note: func(note string) { got = append(got, note) }}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestWhatCannotBeCheckedIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		o    Options
		want error
	}{
		"another Envoy":     {"admin: {}\n", Options{}, ErrNothing},
		"empty":             {"", Options{}, ErrNothing},
		"the gateway alone": {"x:\n- typed_config: {\"@type\": t/envoy.extensions.filters.http.wasm.v3.Wasm, config: {name: routelimit, configuration: {value: '{\"role\": \"gateway\"}'}}}\n", Options{}, ErrNothing},
		"a policy's routes": {"{}", Options{RequireDeclared: true}, ErrNoRoutes},
	} {
		c.o.Env = noEnv
		if found, err := File([]byte(c.text), c.o); !errors.Is(err, c.want) || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	found, err := File([]byte("a: 1\nb: [\n"), Options{Env: noEnv})
	if err != nil || len(found) != 1 || found[0].Line != 2 || found[0].Rule != "syntax" {
		t.Errorf("%v, %v", found, err)
	}
}
