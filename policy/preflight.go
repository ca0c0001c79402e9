package policy

import "routelimit/policy/identity"

// IsPreflight reports whether a request is a CORS preflight (WHATWG Fetch,
// "CORS-preflight request"): OPTIONS with Origin and
// Access-Control-Request-Method. Any other OPTIONS is an ordinary request.
func IsPreflight(attrs identity.Attributes) bool {
	method, _ := attrs.Header(":method", 0)
	if method != "OPTIONS" {
		return false
	}
	_, origin := attrs.Header("origin", 0)
	_, requested := attrs.Header("access-control-request-method", 0)
	return origin && requested
}
