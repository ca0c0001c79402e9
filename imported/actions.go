package imported

import (
	"strings"
	"unicode/utf8"

	"routelimit/bootstrap/yamltree"
)

// narrow notes how many bits of an IPv6 address count. There is one number for a
// policy: the smallest, which holds more addresses to one count.
func (r *requestReader) narrow(n *yamltree.Node, bits int) {
	if r.prefix6 != 0 && r.prefix6 != bits {
		r.lose(placeOf(r.file, n), "IPv6 addresses are told apart by different numbers of bits, and client.ipv6_prefix is one for all limits: %d", min(r.prefix6, bits))
		bits = min(r.prefix6, bits)
	}
	r.prefix6 = bits
}

func (r *requestReader) readMasked(n *yamltree.Node) {
	v4, v6 := int64(32), int64(128)
	if bits := n.At("v4_prefix_mask_len"); bits != nil {
		v4, _ = bits.Number()
	}
	if bits := n.At("v6_prefix_mask_len"); bits != nil {
		v6, _ = bits.Number()
	}
	if v4 != 32 || v6 < 1 || v6 > 128 {
		r.cannot(n, "masked_remote_address: an IPv4 address counts whole here, and of an IPv6 address 1 to 128 bits")
		return
	}
	r.narrow(n, int(v6))
	r.add(nil, "masked_remote_address", entry{source: "ip"})
}

func (r *requestReader) readMetadata(n *yamltree.Node, drops bool) {
	key := n.At("metadata_key", "key").Text()
	source := "metadata:" + escapeElement(key)
	stands := r.route.At("metadata", "filter_metadata", key)
	for _, element := range n.At("metadata_key", "path").Items() {
		source += "/" + escapeElement(element.At("key").Text())
		stands = stands.At(element.At("key").Text())
	}
	origin := n.At("source").Text()
	fallback := n.At("default_value").Text()
	switch {
	case origin == "ROUTE_ENTRY" || origin == "1":
		value := stands.Text()
		if value == "" {
			value = fallback
		}
		if value == "" && !drops {
			return
		}
		if value == "" {
			r.lost = true // Envoy never sends it
			r.note(placeOf(r.file, n), "the route has no metadata %s, so this descriptor is never sent", source[len("metadata:"):])
			return
		}
		r.add(n, "", entry{value: value})
	case origin != "" && origin != "DYNAMIC" && origin != "0":
		r.cannot(n, "metadata of the source %s is not known when a request is counted", origin)
	case fallback != "":
		r.add(n, "", entry{source: source, optional: true})
		r.loseIfLimited(n, "default_value %q: a request without the metadata was counted with all others that lack it; here it is counted by its address", fallback)
	default:
		r.add(n, "", entry{source: source, optional: true})
		r.tellAbsent(n, false, drops, "the metadata "+source[len("metadata:"):])
	}
}

func escapeElement(text string) string {
	return strings.NewReplacer(`\`, `\\`, `/`, `\/`).Replace(text)
}

// readMatches reads header_value_match and query_parameter_value_match: an entry of
// a known value, sent to requests that match.
func (r *requestReader) readMatches(n *yamltree.Node, matchers []*yamltree.Node, defaultKey, kind string) {
	wanted := n.At("expect_match") == nil || n.At("expect_match").True()
	for _, m := range matchers {
		name := strings.ToLower(m.At("name").Text())
		if named, ok := methodsOf(m); ok && name == ":method" && kind == "header:" && (wanted || len(matchers) == 1) {
			if !wanted {
				named.except = !named.except
			}
			r.methods = r.methods.and(named)
			continue
		}
		value, ok := exactOf(m)
		source, _ := headerSource(name)
		if kind == "query:" {
			source = kind + m.At("name").Text()
		}
		if !ok || !isPlan(value) || !wanted && len(matchers) > 1 {
			r.cannot(m, "only :method, and whole values of a header or query parameter, can tell here whether a limit holds; give those requests a route of their own")
			return
		}
		if !r.isSource(m, source) {
			return
		}
		if source == pathSource {
			if _, ok := pathTemplate(value); !ok {
				r.cannot(m, "the path %q cannot be a route here, which has no query", value)
				return
			}
			r.tellQuery(m)
		}
		r.when = append(r.when, condition{source, value, m.At("invert_match").True() == wanted})
	}
	r.add(n, defaultKey, entry{value: n.At("descriptor_value").Text()})
}

// isPlan says whether a policy can list a value as a plan.
func isPlan(value string) bool {
	return value != "" && len(value) <= 128 && utf8.ValidString(value) && value == strings.TrimSpace(value) && !strings.ContainsAny(value, "\r\n")
}

// headerSource is the source of a header, and whether every request has it.
func headerSource(name string) (source string, always bool) {
	switch name = strings.ToLower(name); name {
	case ":path":
		return pathSource, true
	case ":method":
		return "property:request.method", true
	case ":authority", "host":
		return "property:request.host", true
	case ":scheme":
		return "property:request.scheme", true
	}
	return "header:" + name, false
}

// snake is the name of a field as YAML has it, whichever of both forms stands there.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
