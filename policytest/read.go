package policytest

import (
	"bytes"
	"encoding/json"
	"slices"

	"routelimit/bootstrap/yamltree"
)

func (r *reader) file(n *yamltree.Node, f *File) {
	var policy, callers, tests *yamltree.Node
	ok := r.mapping(n, "a file of tests", []field{
		{"policy", func(n *yamltree.Node) { policy = n }},
		{"env", func(n *yamltree.Node) { f.Env = r.env(n) }},
		{"callers", func(n *yamltree.Node) { callers = n }},
		{"tests", func(n *yamltree.Node) { tests = n }},
	})
	if !ok {
		return
	}
	if policy == nil {
		r.failAt(n, "policy is missing; write policy: and the name of its file, or the policy itself")
	} else {
		r.policy(policy, f)
	}
	r.readCallers(callers)
	if len(tests.Items()) == 0 {
		r.failAt(n, "there are no tests; write tests: with a list, each with a name and steps")
	}
	for _, test := range tests.Items() {
		f.Tests = append(f.Tests, r.test(test))
	}
}

// policy reads the name of a file, a policy as YAML, or one as a text of JSON.
func (r *reader) policy(n *yamltree.Node, f *File) {
	switch text := n.Text(); {
	case n.IsMapping():
		n.Walk(func(m *yamltree.Node) { r.members(m) })
		raw, err := json.Marshal(n.Value())
		if err != nil {
			r.failAt(n, "the policy cannot be written as JSON: %v; write numbers, texts, lists and mappings", err)
		}
		f.Policy = raw
	case bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("{")):
		f.Policy = []byte(text)
	case text == "":
		r.failAt(n, "the policy is empty; write the name of its file, or the policy itself")
	default:
		f.PolicyFile = text
	}
}

func (r *reader) env(n *yamltree.Node) map[string]string {
	env := map[string]string{}
	for _, line := range r.lines(n, "environment variables") {
		env[line.Name] = line.Value
	}
	return env
}

func (r *reader) readCallers(n *yamltree.Node) {
	r.callers = map[string]Request{}
	if n == nil {
		return
	}
	if !n.IsMapping() {
		r.failAt(n, "callers are names, each with what its requests have; write alice: {from: 203.0.113.7}")
		return
	}
	for _, member := range r.members(n) {
		var caller Request
		r.mapping(member.Value, "a caller", r.requestFields(&caller))
		r.callers[member.Name] = caller
	}
}

// requestFields are those that callers and steps share.
func (r *reader) requestFields(into *Request) []field {
	body := func(n *yamltree.Node, kind string, data []byte) {
		if into.Body != nil {
			r.failAt(n, "a request has one body; write one of json, form and body")
		}
		into.Body, into.Type = append([]byte{}, data...), kind
	}
	return []field{
		{"from", func(n *yamltree.Node) { into.From = r.text(n, "from") }},
		{"headers", func(n *yamltree.Node) { into.Headers = r.lines(n, "headers") }},
		{"cookies", func(n *yamltree.Node) { into.Cookies = r.lines(n, "cookies") }},
		{"json", func(n *yamltree.Node) { body(n, "application/json", r.json(n)) }},
		{"form", func(n *yamltree.Node) {
			if !n.IsMapping() {
				r.failAt(n, "form is the fields of a body; write form: {name: value}, or did you mean \"from\", for an address?")
				return
			}
			body(n, "application/x-www-form-urlencoded", []byte(form(r.lines(n, "fields of a form"))))
		}},
		{"body", func(n *yamltree.Node) { body(n, "", []byte(r.text(n, "body"))) }},
		{"set", func(n *yamltree.Node) { into.Set = r.lines(n, "what Envoy says") }},
		{"envoy_route", func(n *yamltree.Node) { into.EnvoyRoute = r.text(n, "envoy_route") }},
	}
}

func (r *reader) json(n *yamltree.Node) []byte {
	raw, err := json.Marshal(n.Value())
	if err != nil {
		r.failAt(n, "this cannot be written as JSON: %v; write it as a text with body:", err)
	}
	return raw
}

func (r *reader) test(n *yamltree.Node) Test {
	t := Test{Line: n.Line}
	var steps *yamltree.Node
	ok := r.mapping(n, "a test", []field{
		{"name", func(n *yamltree.Node) { t.Name = r.text(n, "name") }},
		{"steps", func(n *yamltree.Node) { steps = n }},
	})
	if !ok {
		return t
	}
	if t.Name == "" {
		r.failAt(n, "name is missing; write what the test shows")
	}
	if len(steps.Items()) == 0 {
		r.failAt(n, "the test has no steps; write steps: with a list, such as - {send: GET /, expect: 200}")
	}
	for _, step := range steps.Items() {
		t.Steps = append(t.Steps, r.step(step))
	}
	return t
}

// merged is what a caller says of a request with what a step says in its place.
func merged(caller, own Request) Request {
	if own.From != "" {
		caller.From = own.From
	}
	if own.EnvoyRoute != "" {
		caller.EnvoyRoute = own.EnvoyRoute
	}
	if own.Body != nil {
		caller.Body, caller.Type = own.Body, own.Type
	}
	caller.Headers = mergedLines(caller.Headers, own.Headers)
	caller.Cookies = mergedLines(caller.Cookies, own.Cookies)
	caller.Set = mergedLines(caller.Set, own.Set)
	if caller.From == "" {
		caller.From = defaultFrom
	}
	return caller
}

func mergedLines(old, own []Line) []Line {
	kept := slices.DeleteFunc(slices.Clone(old), func(l Line) bool {
		return slices.ContainsFunc(own, func(other Line) bool { return other.Name == l.Name })
	})
	return append(kept, own...)
}
