package hosttest

import (
	"strings"
)

// properties are Envoy attributes by their path, elements joined by NUL.
type properties map[string]property

type property struct {
	value  []byte
	result uint32
}

func (p properties) set(path []string, v property) { p[strings.Join(path, "\x00")] = v }

// SetProperty sets an attribute for all streams of the root that do not set it
// themselves, and for the root: SetProperty(b, "xds", "node", "id").
// The bytes are as get_property answers them: strings raw, numbers as 8 bytes
// little-endian, messages serialised.
func (p *Plugin) SetProperty(value []byte, path ...string) {
	p.properties.set(path, property{value: value})
}

// SetProperty sets an attribute of this stream. See Plugin.SetProperty.
//
// Without it a stream has source.address 127.0.0.1:40000, and what Envoy reads
// from the request: request.path, url_path, query, method, host, scheme, id,
// useragent, referer and headers.
func (s *Stream) SetProperty(value []byte, path ...string) {
	s.properties.set(path, property{value: value})
}

// FailProperty lets get_property answer a result other than 0 for that path:
// 1 where Envoy has no such attribute, 3 where it cannot serialise it (a null
// in a JWT's payload, for example).
func (s *Stream) FailProperty(result uint32, path ...string) {
	s.properties.set(path, property{result: result})
}

// FilterState returns what the plugin has set with set_property, by the key
// that access logs name it with: "wasm." and the path.
func (s *Stream) FilterState() map[string]string { return s.filterState }

const filterStatePrefix = "wasm."

func (in *instance) getProperty(args []uint64) uint32 {
	path, ok := in.read(args[0], args[1])
	if !ok {
		return resultInvalidMemoryAccess
	}
	found := in.context().property(string(path))
	if found.result != resultOK {
		return found.result
	}
	return in.give(found.value, args[2], args[3])
}

func (in *instance) setProperty(args []uint64) uint32 {
	path, pathOK := in.read(args[0], args[1])
	value, valueOK := in.read(args[2], args[3])
	if !pathOK || !valueOK {
		return resultInvalidMemoryAccess
	}
	s := in.context().stream
	if s == nil {
		return resultNotFound
	}
	s.filterState[filterStatePrefix+string(path)] = string(value)
	return resultOK
}

// property looks an attribute up: first what the test has set, then what the
// stream itself knows.
func (c *wasmContext) property(path string) property {
	if s := c.stream; s != nil {
		if v, ok := s.properties[path]; ok {
			return v
		}
		if v, ok := s.attribute(path); ok {
			return property{value: []byte(v)}
		}
	}
	if c.root != nil {
		if v, ok := c.root.plugin.properties[path]; ok {
			return v
		}
	}
	return property{result: resultNotFound}
}

func (s *Stream) attribute(path string) (string, bool) {
	parts := strings.Split(path, "\x00")
	switch {
	case path == "source\x00address":
		_, set := s.plugin.properties[path]
		return defaultSource, !set
	case len(parts) == 1:
		v, ok := s.filterState[filterStatePrefix+path]
		return v, ok
	case parts[0] == "filter_state" && len(parts) == 2:
		v, ok := s.filterState[parts[1]]
		return v, ok
	case parts[0] == "request" && s.requestHeaders() != nil:
		return requestAttribute(*s.requestHeaders(), parts[1:])
	}
	return "", false
}

const defaultSource = "127.0.0.1:40000"

// attributeHeaders are the attributes of a request that are one of its headers.
var attributeHeaders = map[string]string{
	"path": ":path", "method": ":method", "host": ":authority", "scheme": ":scheme",
	"id": "x-request-id", "useragent": "user-agent", "referer": "referer",
}

func requestAttribute(h Headers, path []string) (string, bool) {
	if path[0] == "headers" {
		if len(path) != 2 {
			return "", false
		}
		values := h.Values(strings.ToLower(path[1]))
		return strings.Join(values, ","), values != nil
	}
	if len(path) != 1 {
		return "", false
	}
	urlPath, query, _ := strings.Cut(h.Get(":path"), "?")
	switch path[0] {
	case "url_path":
		return urlPath, true
	case "query":
		return query, true
	}
	name, ok := attributeHeaders[path[0]]
	if !ok {
		return "", false
	}
	return h.first(name)
}

// callForeignFunction answers as Envoy does: declare_property is accepted and
// returns nothing; set_envoy_filter_state knows no key that a plugin may set;
// both want a message whose first field is a name. No other is known here.
func (in *instance) callForeignFunction(args []uint64) uint32 {
	name, nameOK := in.read(args[0], args[1])
	argument, argumentOK := in.read(args[2], args[3])
	if !nameOK || !argumentOK {
		return resultInvalidMemoryAccess
	}
	declare := string(name) == "declare_property"
	if !declare && string(name) != "set_envoy_filter_state" {
		return resultNotFound
	}
	if _, err := bytesField(argument, 1); err != nil {
		return resultBadArgument
	}
	if !declare {
		return resultNotFound
	}
	for _, ptr := range args[4:6] {
		if ptr != 0 && !in.writeUint32(ptr, 0) {
			return resultInvalidMemoryAccess
		}
	}
	return resultOK
}
