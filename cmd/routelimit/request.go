package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"routelimit/bootstrap"
	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/policy/identity"
)

// attributes are a request as identities ask for it.
type attributes struct {
	headers    [][2]string // names in lower case
	properties map[string]string
}

func (a *attributes) Header(name string, line int) (string, bool) {
	for _, h := range a.headers {
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

func (a *attributes) Property(path string) ([]byte, bool) {
	value, ok := a.properties[path]
	return []byte(value), ok
}

func (a *attributes) has(name string) bool {
	_, ok := a.Header(name, 0)
	return ok
}

// request is what the command line describes. Errors repeat no value of a header: it may be a secret.
func (f *explainFlags) request(stdin io.Reader, method, url string, p *policy.Policy, front *bootstrap.Front) (explain.Request, error) {
	a := &attributes{properties: map[string]string{}}
	host, path, err := splitURL(url)
	if err != nil {
		return explain.Request{}, err
	}
	a.headers = [][2]string{{":method", method}, {":authority", host}, {":path", path}}
	if err := a.addHeaders(f.headers); err != nil {
		return explain.Request{}, err
	}
	if err := a.arrive(f.from, front); err != nil {
		return explain.Request{}, err
	}
	if f.envoyRoute != "" {
		a.properties["xds\x00route_name"] = f.envoyRoute
	}
	if err := a.addProperties(f.set); err != nil {
		return explain.Request{}, err
	}
	body, err := f.body(stdin, a, p.Body.MaxBytes)
	return explain.Request{Attributes: a, Body: body}, err
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

func (a *attributes) addHeaders(lines []string) error {
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("header %d has no name; write -H 'name: value'", i+1)
		}
		value = strings.Trim(value, " \t")
		if name == "host" {
			a.headers[1][1] = value
			continue
		}
		a.headers = append(a.headers, [2]string{name, value})
	}
	return nil
}

// addProperties takes SOURCE=VALUE.
func (a *attributes) addProperties(settings []string) error {
	for i, setting := range settings {
		source, value, ok := strings.Cut(setting, "=")
		if !ok {
			return fmt.Errorf("--set %d has no value; write --set metadata:namespace/key=value or --set property:path=value", i+1)
		}
		parsed, err := identity.ParseSource(source)
		if err != nil {
			return err
		}
		path, ok := parsed.Property()
		if !ok {
			return fmt.Errorf("--set %s: only metadata: and property: come from Envoy; give the request itself a header, a path or a body", source)
		}
		a.properties[path] = value
	}
	return nil
}

// body is the request's body, as far as the filter would have read it.
func (f *explainFlags) body(stdin io.Reader, a *attributes, most int) (*identity.Body, error) {
	if !f.hasData {
		return nil, nil
	}
	data := []byte(f.data)
	if f.dataFile != "" {
		var err error
		if data, err = readFile(f.dataFile, stdin); err != nil {
			return nil, err
		}
	}
	if !a.has("content-type") {
		a.headers = append(a.headers, [2]string{"content-type", "application/x-www-form-urlencoded"})
	}
	kind, _ := a.Header("content-type", 0)
	waits := a.has("upgrade") || a.has("expect") || strings.HasPrefix(kind, "application/grpc") // see the filter: it does not wait for these
	return &identity.Body{Bytes: data, Complete: len(data) <= most && !waits}, nil
}

// arrive sets the client's address, and X-Forwarded-For as Envoy leaves it.
func (a *attributes) arrive(from string, front *bootstrap.Front) error {
	peer, err := parsePeer(from)
	if err != nil {
		return err
	}
	if front == nil {
		a.properties["source\x00address"] = peer.String()
		return nil
	}
	named, _ := a.Header(front.ClientHeader, 0)
	a.properties["source\x00address"] = front.Source(peer, a.forwardedFor(), named).String()
	if front.Appends() {
		a.headers = append(a.headers, [2]string{"x-forwarded-for", peer.Addr().String()})
	}
	return nil
}

func (a *attributes) forwardedFor() []string {
	var entries []string
	for line := 0; ; line++ {
		value, ok := a.Header("x-forwarded-for", line)
		if !ok {
			return entries
		}
		for entry := range strings.SplitSeq(value, ",") {
			entries = append(entries, strings.TrimSpace(entry))
		}
	}
}

// somePort is the peer's where none is given.
const somePort = 50000

func parsePeer(from string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(from); err == nil {
		return netip.AddrPortFrom(address, somePort), nil
	}
	peer, err := netip.ParseAddrPort(from)
	if err != nil {
		return peer, fmt.Errorf("--from %q is no address; write one such as 203.0.113.7 or [2001:db8::7]:50000", from)
	}
	return peer, nil
}
