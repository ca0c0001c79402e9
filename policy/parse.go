package policy

import (
	"bytes"
	"fmt"

	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// maxConfiguration bounds a configuration, in bytes.
const maxConfiguration = 4 << 20

// Parse reads a configuration and looks environment variables up by env. The
// error is an [Errors] that holds everything that is wrong. No configuration at
// all, {} and null give a policy that limits nothing, with Empty set.
func Parse(raw []byte, env func(string) (string, bool)) (*Policy, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return emptyPolicy(), nil
	}
	if len(raw) > maxConfiguration {
		return nil, Errors{{Message: fmt.Sprintf("the configuration has %d bytes; write at most %d", len(raw), maxConfiguration)}}
	}
	document := strictjson.Parse(raw)
	root := document.Root()
	if root != nil && root.Kind() == strictjson.Null {
		return emptyPolicy(), nil
	}
	p := newPolicy()
	if root != nil {
		r := &reader{policy: p, document: document, expressions: map[string]*identity.Expr{}}
		r.read(root, env)
	}
	if problems := document.Problems(); len(problems) > 0 {
		return nil, Errors(problems)
	}
	return p, nil
}

func emptyPolicy() *Policy {
	p := newPolicy()
	p.Empty = true
	return p
}

// sections are the values of the configuration's fields. They are read in an
// order of their own, since routes need the identities, wherever those stand.
type sections struct {
	role, mode, client, hashKeyEnv, identities, redis, body, log   *strictjson.Node
	headers, response, countPreflights, ignorePathCase, undeclared *strictjson.Node
	routes, fallback                                               *strictjson.Node
}

var sectionFields = []strictjson.Field[sections]{
	{Name: "mode", Read: func(s *sections, n *strictjson.Node) { s.mode = n }},
	{Name: "client", Read: func(s *sections, n *strictjson.Node) { s.client = n }},
	{Name: "hash_key_env", Read: func(s *sections, n *strictjson.Node) { s.hashKeyEnv = n }},
	{Name: "identities", Read: func(s *sections, n *strictjson.Node) { s.identities = n }},
	{Name: "routes", Read: func(s *sections, n *strictjson.Node) { s.routes = n }},
	{Name: "default", Read: func(s *sections, n *strictjson.Node) { s.fallback = n }},
	{Name: "undeclared", Read: func(s *sections, n *strictjson.Node) { s.undeclared = n }},
	{Name: "count_preflights", Read: func(s *sections, n *strictjson.Node) { s.countPreflights = n }},
	{Name: "ignore_path_case", Read: func(s *sections, n *strictjson.Node) { s.ignorePathCase = n }},
	{Name: "headers", Read: func(s *sections, n *strictjson.Node) { s.headers = n }},
	{Name: "response", Read: func(s *sections, n *strictjson.Node) { s.response = n }},
	{Name: "redis", Read: func(s *sections, n *strictjson.Node) { s.redis = n }},
	{Name: "body", Read: func(s *sections, n *strictjson.Node) { s.body = n }},
	{Name: "log", Read: func(s *sections, n *strictjson.Node) { s.log = n }},
	{Name: "deny_cache", Read: unsupported[sections]},
	{Name: "breaker", Read: unsupported[sections]},
	{Name: "$schema", Read: func(_ *sections, n *strictjson.Node) { n.Text() }},
	{Name: "role", Read: func(s *sections, n *strictjson.Node) { s.role = n }},
}

// unsupported refuses a field that is known and does nothing yet.
func unsupported[T any](_ *T, n *strictjson.Node) { n.FailName("not supported yet; remove it") }

// reader is what the readers of a configuration share.
type reader struct {
	policy      *Policy
	document    *strictjson.Document
	expressions map[string]*identity.Expr // by their text
}

func (r *reader) read(root *strictjson.Node, env func(string) (string, bool)) {
	p := r.policy
	var s sections
	if !strictjson.ReadObject(root, &s, sectionFields) {
		return
	}
	if s.role != nil {
		failRole(s.role)
	}
	s.readSettings(p)
	p.Empty = s == sections{}
	p.definitions = s.readDefinitions(env)

	if s.routes != nil {
		r.readRoutes(s.routes)
	}
	r.readFallback(&s)
}

// failRole explains the field that only the gateway's configuration has, which
// is exactly {"role": "gateway"} and never comes here.
func failRole(n *strictjson.Node) {
	if role, ok := n.Text(); !ok {
		return
	} else if role == "gateway" {
		n.FailName(`the gateway's configuration is {"role": "gateway"} and nothing else; remove all other fields, or the role if this plugin is to limit`)
	} else {
		n.Fail(`%s is no role; remove the field if this plugin is to limit, or write {"role": "gateway"} and nothing else for the gateway`, n.Show())
	}
}
