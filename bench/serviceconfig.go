package main

import (
	"errors"

	"routelimit/bench/stand"
	"routelimit/bootstrap"
)

const (
	serviceCluster = "ratelimit"
	serviceDomain  = "d"
	serviceKey     = "user"
)

// configureService puts Envoy's own rate limit filter in routelimit's place.
func configureService(c *bootstrap.Config, b backends) error {
	return configureServiceFor(c, b, map[string]string{callerHeader: serviceKey})
}

// configureServiceFor sends these headers as descriptors under these keys.
func configureServiceFor(c *bootstrap.Config, b backends, keys map[string]string) error {
	if err := addServiceCluster(c, b.service); err != nil {
		return err
	}
	filter := map[string]any{
		"name": "envoy.filters.http.ratelimit",
		"typed_config": map[string]any{
			"@type":                      stand.TypePrefix + "envoy.extensions.filters.http.ratelimit.v3.RateLimit",
			"domain":                     serviceDomain,
			"timeout":                    decisionTimeout,
			"failure_mode_deny":          true,
			"enable_x_ratelimit_headers": xRateLimit(b.headers),
			"rate_limit_service": map[string]any{
				"transport_api_version": "V3",
				"grpc_service":          map[string]any{"envoy_grpc": map[string]any{"cluster_name": serviceCluster}},
			},
		},
	}
	if err := stand.Unlimit(c, filter); err != nil {
		return err
	}
	return limitByHeaders(c, keys)
}

func addServiceCluster(c *bootstrap.Config, addr string) error {
	static, ok := c.Root()["static_resources"].(map[string]any)
	if !ok {
		return errors.New("envoy.yaml has no static_resources; restore them")
	}
	clusters, _ := static["clusters"].([]any)
	static["clusters"] = append(clusters, map[string]any{
		"name":            serviceCluster,
		"connect_timeout": "1s",
		"typed_extension_protocol_options": map[string]any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": map[string]any{
				"@type":                stand.TypePrefix + "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": map[string]any{"http2_protocol_options": map[string]any{}},
			},
		},
	})
	return c.SetEndpoints(serviceCluster, addr)
}

// limitByHeaders sends each of these headers that a request has as a descriptor, on every route of every virtual host.
func limitByHeaders(c *bootstrap.Config, keys map[string]string) error {
	manager, err := stand.Manager(c)
	if err != nil {
		return err
	}
	routes, _ := manager["route_config"].(map[string]any)
	hosts, _ := routes["virtual_hosts"].([]any)
	if len(hosts) == 0 {
		return errors.New("envoy.yaml's public listener has no virtual host; restore it")
	}
	var limits []any
	for header, key := range keys {
		limits = append(limits, map[string]any{"actions": []any{map[string]any{
			"request_headers": map[string]any{"header_name": header, "descriptor_key": key},
		}}})
	}
	for _, item := range hosts {
		if host, ok := item.(map[string]any); ok {
			host["rate_limits"] = limits
		}
	}
	return nil
}
