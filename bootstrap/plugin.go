package bootstrap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	wasmFilter  = "envoy.extensions.filters.http.wasm.v3.Wasm"
	jwtFilter   = "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"
	stringValue = "type.googleapis.com/google.protobuf.StringValue"
)

// Plugin is one place where a configuration loads routelimit.
type Plugin struct {
	config map[string]any // envoy.extensions.wasm.v3.PluginConfig
}

// Plugins are all places where routelimit is loaded, in the order of their vm_id. Other Wasm filters are not among them.
func (c *Config) Plugins() []Plugin { return PluginsIn(c.root) }

// PluginsIn are the places in a part of a configuration, such as a listener.
func PluginsIn(part map[string]any) []Plugin {
	var list []Plugin
	walk(part, func(m map[string]any) {
		if config, found := pluginConfig(m); found {
			list = append(list, Plugin{config})
		}
	})
	slices.SortFunc(list, func(a, b Plugin) int { return strings.Compare(a.VMID(), b.VMID()) })
	return list
}

// pluginConfig is the plugin configuration in a filter's typed_config, if the filter is routelimit.
func pluginConfig(typed map[string]any) (map[string]any, bool) {
	config, ok := typed["config"].(map[string]any)
	return config, ok && isType(typed, wasmFilter) && ours(config)
}

func isType(m map[string]any, message string) bool {
	return strings.HasSuffix(text(m, "@type"), "/"+message)
}

// ours tells routelimit from other Wasm filters: by the plugin's name, the VM's or the module's file.
func ours(config map[string]any) bool {
	for _, s := range []string{
		text(config, "name"), text(config, "vm_config", "vm_id"), text(config, "vm_config", "code", "local", "filename"),
	} {
		if strings.Contains(s, "routelimit") {
			return true
		}
	}
	return false
}

// VMID is the plugin's vm_id.
func (p Plugin) VMID() string { return text(p.config, "vm_config", "vm_id") }

// Module is the file that the plugin is loaded from; "" if it is not a local file.
func (p Plugin) Module() string { return text(p.config, "vm_config", "code", "local", "filename") }

// Configuration is the plugin's configuration, as the module gets it: a StringValue as it stands, a Struct as JSON.
func (p Plugin) Configuration() string {
	switch value := entry(p.config, "configuration", "value").(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err) // it was read from YAML
		}
		return string(raw)
	}
}

// SetConfiguration gives the plugin another configuration.
func (p Plugin) SetConfiguration(raw string) {
	p.config["configuration"] = map[string]any{"@type": stringValue, "value": raw}
}

// Gateway says that the plugin is the link's gateway and holds no policy.
func (p Plugin) Gateway() bool { return Placed{Text: p.Configuration()}.Gateway() }

// SetModule makes the plugin load another file.
func (p Plugin) SetModule(path string) {
	vm, ok := p.config["vm_config"].(map[string]any)
	if !ok {
		vm = map[string]any{}
		p.config["vm_config"] = vm
	}
	vm["code"] = map[string]any{"local": map[string]any{"filename": path}}
}

// SetModule makes every plugin load another file.
func (c *Config) SetModule(path string) error {
	plugins := c.Plugins()
	if len(plugins) == 0 {
		return errNoPlugin()
	}
	for _, p := range plugins {
		p.SetModule(path)
	}
	return nil
}

// SetPolicy gives every plugin that is not the gateway another policy.
func (c *Config) SetPolicy(raw string) error {
	found := false
	for _, p := range c.Plugins() {
		if !p.Gateway() {
			p.SetConfiguration(raw)
			found = true
		}
	}
	if !found {
		return errNoPlugin()
	}
	return nil
}

// Policy is the policy of the first plugin that is not the gateway.
func (c *Config) Policy() (string, error) {
	for _, p := range c.Plugins() {
		if !p.Gateway() {
			return p.Configuration(), nil
		}
	}
	return "", errNoPlugin()
}

func errNoPlugin() error {
	return fmt.Errorf("the Envoy configuration loads no routelimit: no Wasm HTTP filter has it in its name, vm_id or file; name one so")
}

// RemovePlugins takes routelimit out of every HTTP filter chain: the same Envoy without a limiter, for comparison.
func (c *Config) RemovePlugins() {
	walk(c.root, func(m map[string]any) {
		if filters, ok := m["http_filters"].([]any); ok {
			m["http_filters"] = slices.DeleteFunc(filters, func(f any) bool {
				typed, _ := entry(f, "typed_config").(map[string]any)
				_, found := pluginConfig(typed)
				return found
			})
		}
	})
}

// placeholderKey is in the key set of envoy.yaml: a key that nobody owns.
const placeholderKey = "bm8gb25lIGhhcyB0aGlzIGtleSdzIG90aGVyIGhhbGY"

// ReplacePlaceholderKeys gives a JSON Web Key Set to the jwt_authn provider that still trusts nobody but the key in
// envoy.yaml that has no owner. It returns the provider's issuer; false if every provider has keys of its own.
func (c *Config) ReplacePlaceholderKeys(keySet string) (issuer string, replaced bool) {
	walk(c.root, func(m map[string]any) {
		providers, _ := m["providers"].(map[string]any)
		for _, p := range providers {
			keys, _ := entry(p, "local_jwks").(map[string]any)
			if isType(m, jwtFilter) && strings.Contains(text(keys, "inline_string"), placeholderKey) {
				keys["inline_string"] = keySet
				issuer, replaced = text(p, "issuer"), true
			}
		}
	})
	return issuer, replaced
}

// RemoveAccessLogs takes the access logs out, for measurements.
func (c *Config) RemoveAccessLogs() {
	walk(c.root, func(m map[string]any) { delete(m, "access_log") })
}
