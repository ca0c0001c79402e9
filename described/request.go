// Package described is a request as a person writes it down, on a command line or in a file of tests: a method and a URL,
// headers, who connects, and what Envoy or another filter would say of it.
//
// Errors repeat no value of a header: it may be a secret.
package described

import (
	"errors"
	"fmt"
	"strings"

	"routelimit/policy/identity"
)

// Request is a request as identities see it.
type Request struct {
	// Headers have their names in lower case, pseudo headers first.
	Headers [][2]string
	// Properties are Envoy's attributes, the elements of their paths joined by NUL.
	Properties map[string]string
}

var _ identity.Attributes = (*Request)(nil)

// New is a request without headers. The URL is http://host/path?query, or the path alone.
func New(method, url string) (*Request, error) {
	host, path, err := splitURL(url)
	if err != nil {
		return nil, err
	}
	return &Request{
		Headers:    [][2]string{{":method", method}, {":authority", host}, {":path", path}},
		Properties: map[string]string{},
	}, nil
}

// Header implements identity.Attributes.
func (r *Request) Header(name string, line int) (string, bool) {
	for _, h := range r.Headers {
		if h[0] != name {
			continue
		}
		if line == 0 {
			return h[1], true
		}
		line--
	}
	return "", false
}

// Property implements identity.Attributes.
func (r *Request) Property(path string) ([]byte, bool) {
	value, ok := r.Properties[path]
	return []byte(value), ok
}

// Has says whether there is a header of that name.
func (r *Request) Has(name string) bool {
	_, ok := r.Header(name, 0)
	return ok
}

// AddHeader adds a line; "host" becomes the authority. It is false where the name is none.
func (r *Request) AddHeader(name, value string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || strings.ContainsAny(name, " \t:\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
		return false
	}
	value = strings.Trim(value, " \t")
	if name == "host" {
		r.Headers[1][1] = value
		return true
	}
	r.Headers = append(r.Headers, [2]string{name, value})
	return true
}

// Set says what Envoy or another filter would: source is a metadata: or property: source of an identity.
func (r *Request) Set(source, value string) error {
	parsed, err := identity.ParseSource(source)
	if err != nil {
		return err
	}
	path, ok := parsed.Property()
	if !ok {
		return fmt.Errorf("%s: only metadata: and property: come from Envoy; give the request itself a header, a path or a body", source)
	}
	r.Properties[path] = value
	return nil
}

// SetEnvoyRoute names the route that Envoy chooses.
func (r *Request) SetEnvoyRoute(name string) { r.Properties["xds\x00route_name"] = name }

// Body is a body as far as the filter would read it, of at most so many bytes. It is a form, unless a header says
// otherwise.
func (r *Request) Body(data []byte, most int) *identity.Body {
	if !r.Has("content-type") {
		r.Headers = append(r.Headers, [2]string{"content-type", "application/x-www-form-urlencoded"})
	}
	kind, _ := r.Header("content-type", 0)
	waits := r.Has("upgrade") || r.Has("expect") || strings.HasPrefix(kind, "application/grpc") // see the filter: it does not wait for these
	return &identity.Body{Bytes: data, Complete: len(data) <= most && !waits}
}

// splitURL takes the host and the raw path out of a URL: net/url would decode and tidy what is to be explained.
func splitURL(url string) (host, path string, err error) {
	rest, _, _ := strings.Cut(url, "#") // no client sends what follows
	if scheme, after, ok := strings.Cut(rest, "://"); ok && !strings.Contains(scheme, "/") {
		host, path, _ = strings.Cut(after, "/")
		path = "/" + path
		if question := strings.IndexByte(host, '?'); question >= 0 {
			host, path = host[:question], "/"+host[question:]
		}
		if (scheme != "http" && scheme != "https") || host == "" {
			return "", "", errors.New("the URL cannot be read; write http://host/path, or the path alone")
		}
	} else {
		path = rest
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", "", errors.New("the URL has no path; write http://host/path, or a path that starts with /")
	case strings.ContainsFunc(path+host, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", "", errors.New("the URL has a blank or a control character; write it as an escape, such as %20")
	}
	return host, path, nil
}
