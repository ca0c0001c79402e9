package route

import (
	"errors"
	"strings"

	"routelimit/plainfmt"
)

// maxTemplate bounds a template, in bytes: it is part of every key.
const maxTemplate = 512

// Pattern is what a route matches; see the package comment for its syntax.
type Pattern struct {
	Method   string // upper case, or "*" for any
	Host     string // lower case, without a port; "" for any
	Template string // as written, from its first slash on

	segments []segment
}

// segment is one step of a template.
//
//	login   {static, "login"}
//	:id     {parameter, "id"}
//	*       {wildcard, "*"}
type segment struct {
	kind kind
	text string // static: in normal form; otherwise the parameter's name
}

type kind uint8

const (
	static kind = iota
	parameter
	wildcard
)

// ParsePattern reads "METHOD template" or "METHOD host/template".
func (r Reading) ParsePattern(text string) (Pattern, error) {
	method, place, ok := strings.Cut(text, " ")
	if !ok {
		return Pattern{}, plainfmt.Errorf(`%.80q has no method; write a method, one blank and a path, such as "GET /users/:id", or "* /users/:id" for any method`, text)
	}
	slash := strings.IndexByte(place, '/')
	if slash < 0 {
		return Pattern{}, plainfmt.Errorf(`%.80q has no path; write a method, one blank and a path, such as "GET /users/:id"`, text)
	}
	p := Pattern{Method: strings.ToUpper(method), Host: strings.ToLower(place[:slash]), Template: place[slash:]}
	if err := checkMethod(method); err != nil {
		return Pattern{}, err
	}
	if err := checkHost(place[:slash]); err != nil {
		return Pattern{}, err
	}
	var err error
	p.segments, err = r.parseTemplate(p.Template)
	return p, err
}

// String returns the pattern as a configuration writes it.
func (p Pattern) String() string { return p.Method + " " + p.Host + p.Template }

// Params lists the names of the parameters, "*" for a last wildcard.
func (p Pattern) Params() []string {
	var names []string
	for _, s := range p.segments {
		if s.kind != static {
			names = append(names, s.text)
		}
	}
	return names
}

func checkMethod(method string) error {
	if method == "*" {
		return nil
	}
	for i := range len(method) {
		c := lower(method[i])
		if !('a' <= c && c <= 'z' || i > 0 && (c == '-' || c == '_' || '0' <= c && c <= '9')) {
			return plainfmt.Errorf(`%.40q is no method; write one such as "GET" or "POST", or "*" for any`, method)
		}
	}
	if method == "" || len(method) > 32 {
		return plainfmt.Errorf(`%.40q is no method; write one such as "GET" or "POST", or "*" for any`, method)
	}
	return nil
}

func checkHost(host string) error {
	if strings.Contains(host, ":") {
		return plainfmt.Errorf("host %.80q has a port; write the host alone, a request's port takes no part", host)
	}
	if len(host) > maxHost {
		return plainfmt.Errorf("host %.80q… is %d bytes long; a host name has at most %d", host, len(host), maxHost)
	}
	if strings.HasSuffix(host, ".") {
		return plainfmt.Errorf("host %.80q ends in a dot; leave the dot out, a request's is ignored", host)
	}
	for i := range len(host) {
		c := lower(host[i])
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return plainfmt.Errorf(`host %.80q may hold letters, digits, "-", "_" and "." only; write a host name, or a path that starts with "/"`, host)
		}
	}
	return nil
}

func (r Reading) parseTemplate(template string) ([]segment, error) {
	if len(template) > maxTemplate {
		return nil, plainfmt.Errorf("the path is %d bytes long; use at most %d, for example with a last \"*\"", len(template), maxTemplate)
	}
	if strings.ContainsFunc(template, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, plainfmt.Errorf("the path %.80q has a blank or a control character; take it out, or write it as an escape such as %%20", template)
	}
	if strings.ContainsAny(template, "?#") {
		return nil, errors.New(`the path has a "?" or "#"; a query takes no part in matching, so leave it out (or write %3F, %23)`)
	}
	var segments []segment
	for rest := template; rest != ""; {
		var written string
		written, rest = nextSegment(rest)
		if written == "" {
			continue
		}
		s, err := r.parseSegment(written)
		if err != nil {
			return nil, err
		}
		if s.kind == wildcard && rest != "" {
			return nil, plainfmt.Errorf(`"*" stands before %.80q; it is the rest of the path, so write it last, or ":name" for one segment`, rest)
		}
		if s.kind == parameter && hasParameter(segments, s.text) {
			return nil, plainfmt.Errorf("parameter %q occurs twice; give each its own name", s.text)
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func (r Reading) parseSegment(written string) (segment, error) {
	if written == "*" {
		return segment{wildcard, "*"}, nil
	}
	if name, ok := parameterName(written); ok {
		if !isName(name) {
			return segment{}, plainfmt.Errorf(`parameter %.80q needs a name of letters, digits and "_" that starts with a letter; write ":id", or "%%3A" for a segment that starts with a colon`, written)
		}
		return segment{parameter, name}, nil
	}
	if strings.ContainsAny(written, "{}*") {
		return segment{}, plainfmt.Errorf(`segment %.80q mixes text with a parameter or "*", which are whole segments; write ":name" or a last "*" (as data: %%7B, %%7D, %%2A)`, written)
	}
	if !r.KeepParameters && strings.Contains(written, ";") {
		return segment{}, plainfmt.Errorf(`segment %.80q has parameters, which take no part in matching; leave out what begins with ";" (as data: %%3B), or write "keep_path_parameters": true`, written)
	}
	text := r.appendSegment(nil, written)
	if r.IgnoreCase {
		foldCase(text)
	}
	if string(text) == "." || string(text) == ".." {
		return segment{}, plainfmt.Errorf("segment %.80q never occurs in a normalised path; leave it out", written)
	}
	return segment{static, string(text)}, nil
}

// parameterName tells whether a segment is meant as a parameter, and takes its name out.
func parameterName(written string) (string, bool) {
	if name, ok := strings.CutPrefix(written, ":"); ok {
		return name, true
	}
	if strings.HasPrefix(written, "{") && strings.HasSuffix(written, "}") {
		return written[1 : len(written)-1], true
	}
	return "", false
}

func isName(name string) bool {
	for i := range len(name) {
		c := lower(name[i])
		if !('a' <= c && c <= 'z' || i > 0 && (c == '_' || '0' <= c && c <= '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func hasParameter(segments []segment, name string) bool {
	for _, s := range segments {
		if s.kind == parameter && s.text == name {
			return true
		}
	}
	return false
}
