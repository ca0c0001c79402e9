package bootstrap

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

const (
	managerFilter   = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	xffDetection    = "envoy.extensions.http.original_ip_detection.xff.v3.XffConfig"
	headerDetection = "envoy.extensions.http.original_ip_detection.custom_header.v3.CustomHeaderConfig"
)

// Front is what Envoy does with a request before the filter sees it, and the routes that it may choose.
type Front struct {
	UseRemoteAddress bool
	SkipAppend       bool // skip_xff_append
	TrustedHops      int  // xff_num_trusted_hops
	// ClientHeader is in lower case the header in which original_ip_detection.custom_header finds the client; "" if there is none.
	ClientHeader string
	Carried      []Carried
}

// Carried is a route of Envoy's that carries limits in its metadata.
type Carried struct {
	Name   string // "" if it has none
	Fields []byte // of the namespace routelimit, in JSON
}

// Source is source.address, whom Envoy trusts, for a request of a peer that sends these entries of X-Forwarded-For and
// this value of ClientHeader ("": none). Envoy reports an entry of a header with port 0, and its peer with the peer's port.
func (f Front) Source(peer netip.AddrPort, sent []string, named string) netip.AddrPort {
	if f.ClientHeader != "" {
		if address, err := netip.ParseAddr(named); err == nil {
			return netip.AddrPortFrom(address, 0)
		}
	}
	hops := f.TrustedHops
	if !f.UseRemoteAddress {
		hops++ // the last entry is whom the proxy in front saw
	}
	if hops > 0 && hops <= len(sent) {
		if address, err := netip.ParseAddr(sent[len(sent)-hops]); err == nil {
			return netip.AddrPortFrom(address, 0)
		}
	}
	return peer
}

// Appends says whether Envoy appends its peer to X-Forwarded-For.
func (f Front) Appends() bool { return f.UseRemoteAddress && !f.SkipAppend }

// Front is that of the connection manager around the plugin that Policy returns the configuration of; false if the file
// holds none.
func (c *Config) Front() (Front, bool, error) {
	raw, err := c.Policy()
	if err != nil {
		return Front{}, false, err
	}
	var front Front
	found := false
	walk(c.root, func(m map[string]any) {
		if found || err != nil || !isType(m, managerFilter) || !loads(m, raw) {
			return
		}
		found = true
		front.UseRemoteAddress = entry(m, "use_remote_address") == true
		front.SkipAppend = entry(m, "skip_xff_append") == true
		front.TrustedHops = number(entry(m, "xff_num_trusted_hops"))
		front.detect(items(m["original_ip_detection_extensions"]))
		front.Carried, err = carried(m)
	})
	return front, found, err
}

// detect reads the extensions by which Envoy finds the client where use_remote_address is false.
func (f *Front) detect(extensions []any) {
	for _, extension := range extensions {
		typed, _ := entry(extension, "typed_config").(map[string]any)
		switch {
		case isType(typed, xffDetection):
			f.TrustedHops = number(typed["xff_num_trusted_hops"])
		case isType(typed, headerDetection):
			f.ClientHeader = strings.ToLower(text(typed, "header_name"))
		}
	}
}

// loads says whether a connection manager has the plugin of that configuration.
func loads(manager map[string]any, configuration string) bool {
	for _, filter := range items(manager["http_filters"]) {
		typed, _ := entry(filter, "typed_config").(map[string]any)
		if config, ok := pluginConfig(typed); ok && (Plugin{config}).Configuration() == configuration {
			return true
		}
	}
	return false
}

func carried(manager map[string]any) ([]Carried, error) {
	var all []Carried
	for _, host := range items(entry(manager, "route_config", "virtual_hosts")) {
		for _, route := range items(entry(host, "routes")) {
			fields := entry(route, "metadata", "filter_metadata", "routelimit")
			if fields == nil {
				continue
			}
			raw, err := json.Marshal(fields)
			if err != nil {
				return nil, fmt.Errorf("the metadata of route %q cannot be read: %w; write numbers and texts", text(route, "name"), err)
			}
			all = append(all, Carried{text(route, "name"), raw})
		}
	}
	return all, nil
}
