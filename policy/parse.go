package policy

import (
	"bytes"
	"slices"

	"routelimit/plainfmt"
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
		return nil, Errors{{Message: plainfmt.Sprintf("the configuration has %d bytes; write at most %d", len(raw), maxConfiguration)}}
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
	keepPathParameters, denyCache, breaker, local                  *strictjson.Node
	routes, fallback                                               *strictjson.Node
}

var sectionFields = []strictjson.Field[sections]{
	{
		Name: "mode", Read: func(s *sections, n *strictjson.Node) { s.mode = n },
		Doc:     prose("what becomes of decisions: `enforce` refuses, `shadow` only counts what it would have refused, `off` limits nothing"),
		Default: prose(`"enforce"`), Example: prose(`"shadow"`),
	},
	{
		Name: "client", Read: func(s *sections, n *strictjson.Node) { s.client = n },
		Doc:     prose("how the client's address is found, which is the identity `ip`"),
		Example: prose(`{"trusted_hops": 1}`),
	},
	{
		Name: "hash_key_env", Read: func(s *sections, n *strictjson.Node) { s.hashKeyEnv = n },
		Doc: prose("the environment variable with the key, of 16 bytes or more, under which secret identities are hashed by HMAC-SHA-256. " +
			"Without it they are hashed by SHA-256, which hides only what nobody can guess"),
		Example: prose(`"ROUTELIMIT_HASH_KEY"`),
	},
	{
		Name: "identities", Read: func(s *sections, n *strictjson.Node) { s.identities = n },
		Doc:     prose("names for what tells callers apart, to be used by limits, beside the built-in `ip` and `all`"),
		Example: prose(`{"api_key": {"from": "header:x-api-key", "secret": true}}`),
	},
	{
		Name: "routes", Read: func(s *sections, n *strictjson.Node) { s.routes = n },
		Doc: prose("limits by `METHOD template`: `:id` or `{id}` is one segment, a last `*` one segment or more, the method `*` any. " +
			"A host may stand before the path"),
		Example: prose(`{"POST /login": {"identity": "ip", "limit": 10, "window": "5m"}}`),
	},
	{
		Name: "default", Read: func(s *sections, n *strictjson.Node) { s.fallback = n },
		Doc: prose("what holds for requests that no route covers; `null` leaves them unlimited. " +
			"Beside `routes` it has to be written, unless `undeclared` is `refuse`"),
		Example: prose(`{"identity": "ip", "limit": 120, "window": "1m"}`),
	},
	{
		Name: "undeclared", Read: func(s *sections, n *strictjson.Node) { s.undeclared = n },
		Doc:     prose("what becomes of requests that no route covers: `default` applies the default to them, `refuse` answers 404"),
		Default: prose(`"default"`), Example: prose(`"refuse"`),
	},
	{
		Name: "count_preflights", Read: func(s *sections, n *strictjson.Node) { s.countPreflights = n },
		Doc:     prose("whether CORS preflights are counted and refused like other requests"),
		Default: prose(`false`), Example: prose(`true`),
	},
	{
		Name: "ignore_path_case", Read: func(s *sections, n *strictjson.Node) { s.ignorePathCase = n },
		Doc:     prose("whether `/Login` is `/login`, for upstreams to which it is"),
		Default: prose(`false`), Example: prose(`true`),
	},
	{
		Name: "keep_path_parameters", Read: func(s *sections, n *strictjson.Node) { s.keepPathParameters = n },
		Doc: prose("whether what follows a `;` in a segment is a part of it, for upstreams to which `/login;v=1` is not `/login`. " +
			"Otherwise it is cut off, in every segment"),
		Default: prose(`false`), Example: prose(`true`),
	},
	{
		Name: "headers", Read: func(s *sections, n *strictjson.Node) { s.headers = n },
		Doc: prose("how quota headers are written, on passed and refused responses: `x-ratelimit` with the reset in seconds from now, " +
			"`x-ratelimit-epoch` with it in Unix seconds, a revision of the IETF draft, or `none`"),
		Default: prose(`"x-ratelimit"`), Example: prose(`"draft-08"`),
	},
	{
		Name: "response", Read: func(s *sections, n *strictjson.Node) { s.response = n },
		Doc:     prose("what a caller gets who is refused"),
		Example: prose(`{"format": "problem"}`),
	},
	{
		Name: "redis", Read: func(s *sections, n *strictjson.Node) { s.redis = n },
		Doc:     prose("how Redis is asked"),
		Example: prose(`{"timeout": "50ms"}`),
	},
	{
		Name: "body", Read: func(s *sections, n *strictjson.Node) { s.body = n },
		Doc:     prose("how much of a body is read, and for how long, where an identity is in it"),
		Example: prose(`{"max_bytes": 8192}`),
	},
	{
		Name: "log", Read: func(s *sections, n *strictjson.Node) { s.log = n },
		Doc:     prose("what log lines say"),
		Example: prose(`{"identity": "hashed"}`),
	},
	{
		Name: "deny_cache", Read: func(s *sections, n *strictjson.Node) { s.denyCache = n },
		Doc:     prose("how many refused callers are remembered, and for how long they are refused without asking"),
		Example: prose(`{"max_entries": 1000}`),
	},
	{
		Name: "breaker", Read: func(s *sections, n *strictjson.Node) { s.breaker = n },
		Doc:     prose("when a worker stops asking a Redis that does not answer"),
		Example: prose(`{"failures": 10}`),
	},
	{
		Name: "local", Read: func(s *sections, n *strictjson.Node) { s.local = n },
		Doc:     prose("how much routes with `\"on_error\": \"local\"` let pass while Redis does not decide"),
		Example: prose(`{"share_percent": 5}`),
	},
	{
		Name: "$schema", Read: func(_ *sections, n *strictjson.Node) { n.Text() },
		Doc:     prose("where editors find the schema of the file; nothing else reads it"),
		Example: prose(`"./schema.json"`),
	},
	{Name: "role", Read: func(s *sections, n *strictjson.Node) { s.role = n }},
}

// prose is for people only; see [strictjson.Text].
func prose(text string) strictjson.Text { return strictjson.Prose(text) }

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
	p.NeverUnasked = slices.ContainsFunc(p.Routes, neverUnasked) || p.Default != nil && neverUnasked(p.Default)
}

func neverUnasked(r *Route) bool { return r.NeverUnasked }

// failRole explains the field that only the gateway's configuration has, which
// is exactly {"role": "gateway"} and never comes here.
func failRole(n *strictjson.Node) {
	if n.Kind() == strictjson.String && n.Show() == `"gateway"` {
		n.FailName(`the gateway's configuration is {"role": "gateway"} and nothing else; remove all other fields, or the role if this plugin is to limit`)
		return
	}
	n.Fail(`%s is no role; remove the field if this plugin is to limit, or write {"role": "gateway"} and nothing else for the gateway`, n.Show())
}
