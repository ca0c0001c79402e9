package lint

import "routelimit/policy"

// defaultBuffer is Envoy's per_connection_buffer_limit_bytes where none is set.
const defaultBuffer = 1 << 20

// checkBody: a request whose body names the caller has to be held, and its body
// has to come.
func (e *envoy) checkBody(p *plugin) {
	if !needsBody(p) {
		return
	}
	if !p.config.At("allow_on_headers_stop_iteration").True() {
		e.fail("body-not-held", p.config, "an identity is in the body, and Envoy shows the module no body in time; write allow_on_headers_stop_iteration: true")
	}
	buffer, at := int64(defaultBuffer), p.manager.listener
	if n := at.At("per_connection_buffer_limit_bytes"); n != nil {
		at = n
		buffer, _ = n.Number()
	}
	if most := int64(p.policy.Body.MaxBytes); most > buffer {
		e.fail("body-buffer", at, "the listener stops reading at %d bytes, before the %d of body.max_bytes have come; write per_connection_buffer_limit_bytes: %d or more, or a smaller body.max_bytes",
			buffer, most, most)
	}
}

func needsBody(p *plugin) bool {
	for _, r := range allRoutes(p) {
		if r.NeedsBody {
			return true
		}
	}
	return false
}

// allRoutes are the policy's, its default and those that Envoy's routes carry.
func allRoutes(p *plugin) []*policy.Route {
	all := append(append([]*policy.Route{}, p.policy.Routes...), p.declared...)
	if p.policy.Default != nil {
		all = append(all, p.policy.Default)
	}
	return all
}
