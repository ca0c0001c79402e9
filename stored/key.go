// Package stored reads what Redis holds of callers: their keys and the fields in them, back into words. It charges
// nothing and changes nothing.
//
// docs/operations.md shows the keys; limit/decide.lua says what stands in the fields. What is in Redis may be anybody's:
// what cannot be read is said to be so.
package stored

import (
	"fmt"
	"strings"
)

// Key is the name of a hash that counts one caller, taken apart: rl:{POST:/login|ip:203.0.113.7}.
type Key struct {
	Text     string
	Prefix   string   // "rl"
	Scope    string   // the route's key, "bucket:" and a name, "default", or "default/" and the name of an Envoy route
	Identity string   // "ip:203.0.113.7|username:2bd806c97f0e00af"
	Names    []string // of the identity's components, in order: "ip", "username"
}

// ParseKey takes a key apart. The error says that it is none of routelimit's.
func ParseKey(text string) (Key, error) {
	prefix, tag, ok := strings.Cut(text, ":{")
	tag, closed := strings.CutSuffix(tag, "}")
	scope, identity, parts := strings.Cut(tag, "|")
	if !ok || !closed || !parts || prefix == "" || scope == "" || identity == "" || strings.ContainsAny(tag, "{} \r\n\x00") {
		return Key{}, fmt.Errorf("%q is no key of routelimit; write one such as rl:{POST:/login|ip:203.0.113.7}, as logs and routelimit explain show them, in single quotes", text)
	}
	k := Key{Text: text, Prefix: prefix, Scope: scope, Identity: identity}
	for part := range strings.SplitSeq(identity, "|") {
		name, _, _ := strings.Cut(part, ":")
		k.Names = append(k.Names, name)
	}
	return k, nil
}
