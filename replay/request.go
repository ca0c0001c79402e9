package replay

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"strings"

	"routelimit/accesslog"
	"routelimit/bootstrap"
	"routelimit/policy/identity"
)

// request is an entry as identities see a request.
type request struct {
	*accesslog.Entry
	view     *view
	path     string
	source   []byte // source.address; empty: not known
	appended string // what Envoy appends to X-Forwarded-For; "": nothing
	cookie   string // from cookies that the log has one by one
	bearer   string // from claims
	form     bool   // the body is made of fields
}

var _ identity.Attributes = (*request)(nil)

const sourceAddress = "source\x00address"

// Header gives what the log has of a header.
func (r *request) Header(name string, line int) (string, bool) {
	var lines [2]string
	switch name {
	case ":method":
		lines[0] = r.Method
	case ":path":
		lines[0] = r.path
	case ":authority":
		lines[0] = r.Host
	case "x-forwarded-for":
		lines = [2]string{r.ForwardedFor, r.appended}
	case "content-type":
		if lines[0] = r.logged(name); r.form {
			lines[0] = "application/x-www-form-urlencoded"
		}
	case "content-encoding":
		if !r.form { // fields are logged as they were read
			lines[0] = r.logged(name)
		}
	case "cookie":
		lines = [2]string{r.logged(name), r.cookie}
	case "authorization":
		if lines[0] = r.logged(name); lines[0] == "" {
			lines[0] = r.bearer
		}
	default:
		lines[0] = r.logged(name)
	}
	if lines[0] == "" {
		lines[0], lines[1] = lines[1], ""
	}
	if line > 1 || lines[line] == "" {
		return "", false
	}
	return lines[line], true
}

// logged is the value of a header that is a field of its own.
func (r *request) logged(name string) string {
	for _, p := range r.view.headers {
		if p.name == name {
			return r.Values[p.at]
		}
	}
	return ""
}

// Property gives what the log has of an Envoy attribute.
func (r *request) Property(path string) ([]byte, bool) {
	for _, p := range r.view.properties {
		if p.name == path {
			value := r.Values[p.at]
			return []byte(value), value != ""
		}
	}
	if path == sourceAddress {
		return r.source, len(r.source) > 0
	}
	return nil, false
}

// restore puts together what the log has in pieces.
func (r *request) restore(front *bootstrap.Front) {
	r.path = r.Path
	for i, value := range r.present(r.view.queries) {
		separator := "&"
		if !strings.Contains(r.path, "?") {
			separator = "?"
		}
		r.path += separator + url.QueryEscape(i) + "=" + url.QueryEscape(value)
	}
	for name, value := range r.present(r.view.cookies) {
		r.cookie += name + "=" + url.PathEscape(value) + ";"
	}
	if r.bearer = ""; len(r.view.claims) > 0 {
		r.bearer = r.token()
	}
	r.arrive(front)
}

// present goes through the values of some places that the line has.
func (r *request) present(places []place) func(func(name, value string) bool) {
	return func(yield func(string, string) bool) {
		for _, p := range places {
			if value := r.Values[p.at]; value != "" && !yield(p.name, value) {
				return
			}
		}
	}
}

// body is a form of the fields that the log has of it; nil if the line has none.
func (r *request) body() *identity.Body {
	var form []byte
	for name, value := range r.present(r.view.fields) {
		form = append(form, '&')
		form = append(append(form, url.QueryEscape(name)...), '=')
		form = append(form, url.QueryEscape(value)...)
	}
	if r.form = form != nil; !r.form {
		return nil
	}
	return &identity.Body{Bytes: form[1:], Complete: true}
}

// token is a bearer token with the claims that the log has; nobody verifies one
// that is read by jwt_unverified.
func (r *request) token() string {
	claims := tree{}
	for name, value := range r.present(r.view.claims) {
		path, _ := accesslog.SplitPath(name) // identity has read it, and would not take a bad one
		claims.set(path, value)
	}
	return "Bearer ." + base64.RawURLEncoding.EncodeToString(claims.json()) + "."
}

// arrive sets the client's address, and what Envoy appends.
func (r *request) arrive(front *bootstrap.Front) {
	r.source, r.appended = r.source[:0], ""
	client := r.Client
	if client == "" && !r.Layout.Received {
		// Envoy's last entry is its peer, or whom the proxy in front saw.
		client = r.ForwardedFor[strings.LastIndexByte(r.ForwardedFor, ',')+1:]
	}
	peer, ok := parseAddress(strings.Trim(client, " \t"))
	if !ok {
		return
	}
	if r.Layout.Received {
		if front.Appends() {
			r.appended = peer.Addr().String()
		}
		peer = front.Source(peer, r.chain(), r.logged(front.ClientHeader))
	}
	r.source = peer.AppendTo(r.source)
}

func (r *request) chain() []string {
	if r.ForwardedFor == "" {
		return nil
	}
	chain := strings.Split(r.ForwardedFor, ",")
	for i := range chain {
		chain[i] = strings.TrimSpace(chain[i])
	}
	return chain
}

// somePort stands for a peer's port where the log has none: Envoy's 0 means that
// the address is not the peer's.
const somePort = 1

func parseAddress(text string) (netip.AddrPort, bool) {
	if address, err := netip.ParseAddrPort(text); err == nil {
		return address, true
	}
	text, _, _ = strings.Cut(text, "%") // netip would keep every zone
	address, err := netip.ParseAddr(text)
	return netip.AddrPortFrom(address, somePort), err == nil
}

// hops counts the entries of X-Forwarded-For as the filter sees them.
func (r *request) hops() (n int) {
	for line := 0; ; line++ {
		value, ok := r.Header("x-forwarded-for", line)
		if !ok {
			return n
		}
		for entry := range strings.SplitSeq(value, ",") {
			if strings.Trim(entry, " \t") != "" {
				n++
			}
		}
	}
}
