package identity

import (
	"bytes"

	"routelimit/plainfmt"
)

// Component is a named part of an identity.
type Component struct {
	Name   string // [a-z][a-z0-9_]*, see CheckName
	Source Source

	// Fold: the value is a name that people type, so spellings that an
	// application takes for one are one (see fold). Only text identifies then,
	// not a JSON number.
	Fold bool

	// Secret: only a hash of the value may stand in keys, logs and metrics.
	Secret bool
}

// The built-in components.
const (
	nameIP  = "ip"  // the client's address
	nameAll = "all" // everybody
)

// BuiltIn lists the names of the built-in components.
func BuiltIn() []string { return []string{nameIP, nameAll} }

// maxName keeps keys short.
const maxName = 64

// CheckName says whether a component may have this name.
func CheckName(name string) error {
	switch {
	case name == nameIP, name == nameAll:
		return plainfmt.Errorf("the identity %q is built in; choose another name", name)
	case !isName(name):
		return plainfmt.Errorf("%q cannot name an identity; write a lower-case letter, then lower-case letters, digits and underscores", name)
	case len(name) > maxName:
		return plainfmt.Errorf("the name %q… has %d characters; write at most %d", name[:20], len(name), maxName)
	}
	return nil
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// unreadValue stands in for what a body says that cannot be read. No value is
// written like it: escapes leave no "#" but before a hash.
const unreadValue = "#unread"

// presence says whether a component or an alternative holds for a request.
type presence uint8

const (
	absent   presence = iota
	asUnread          // by unreadValue
	present
)

// append appends "name:value" for one request, if the value is present. An
// empty or blank value is not.
func (c *Component) append(dst []byte, r *Request, hash *hasher) ([]byte, presence) {
	if c.Source.reader == nil {
		return dst, absent
	}
	dst = append(dst, c.Name...)
	dst = append(dst, ':')
	start := len(dst)
	dst, what := c.Source.reader.read(dst, r)
	if what == number && c.Fold { // an upstream may make a text of the body's
		what = missing
		if c.Source.needsBody() {
			what = unread
			r.Noted |= BodyUnread
		}
	}
	switch what {
	case unread:
		return append(dst[:start], unreadValue...), asUnread
	case missing:
		return dst, absent
	}
	if c.Fold {
		dst = fold(dst, start)
	}
	value := dst[start:]
	if len(bytes.TrimSpace(value)) == 0 {
		return dst, absent
	}
	if c.Secret {
		return hash.appendSecret(dst[:start], value), present
	}
	if len(value) > maxValue {
		r.Noted |= Oversized
	}
	return escape(dst, start), present
}
