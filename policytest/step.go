package policytest

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/strictjson"
)

// mostTimes bounds how often one step sends.
const mostTimes = 1_000_000

func (r *reader) step(n *yamltree.Node) Step {
	s := Step{Line: n.Line, Column: n.Column}
	send := Send{Times: 1, Upstream: 200}
	var own Request
	var sent, expected, caller *yamltree.Node
	var ofRequest *yamltree.Node // the first field that is nothing without send
	with := func(n *yamltree.Node) {
		if ofRequest == nil {
			ofRequest = n
		}
	}
	fields := []field{
		{"at", func(n *yamltree.Node) { s.At, s.HasAt = r.duration(n, "at"), true }},
		{"wait", func(n *yamltree.Node) { s.Wait = r.duration(n, "wait") }},
		{"redis", func(n *yamltree.Node) {
			s.Redis = r.oneOf(n, "redis", []string{RedisUp, RedisDown, RedisSilent, RedisEmpty})
		}},
		{"send", func(n *yamltree.Node) { sent = n; r.send(n, &send) }},
		{"every", func(n *yamltree.Node) { with(n); send.Every = r.duration(n, "every") }},
		{"as", func(n *yamltree.Node) { with(n); caller = n; send.Caller = r.text(n, "as") }},
		{"upstream", func(n *yamltree.Node) { with(n); send.Upstream = int(r.whole(n, "upstream", 200, 599)) }},
		{"expect", func(n *yamltree.Node) { with(n); expected = n; r.expect(n, &send.Expect) }},
	}
	for _, f := range r.requestFields(&own) {
		read := f.read
		f.read = func(n *yamltree.Node) { with(n); read(n) }
		fields = append(fields, f)
	}
	if !r.mapping(n, "a step", fields) {
		return s
	}
	switch {
	case sent == nil && ofRequest != nil:
		r.failAt(ofRequest, "this is said of a request, and the step sends none; write send: METHOD /path beside it")
	case sent == nil:
		if !s.HasAt && s.Wait == 0 && s.Redis == "" {
			r.failAt(n, "the step does nothing; write send, at, wait or redis")
		}
		return s
	case expected == nil:
		r.failAt(sent, "what must come of it is missing; write expect: 200, or another status")
	}
	if s.HasAt && s.Wait > 0 {
		r.failAt(n, "at says when since the test's start, wait since the step before; write one of them")
	}
	base, known := r.callers[send.Caller]
	if caller != nil && !known {
		r.unknownCaller(caller)
	}
	send.Request = merged(base, own)
	s.Send = &send
	r.check(n, &send)
	return s
}

// check builds the request once, so that what is wrong with it has its place.
func (r *reader) check(n *yamltree.Node, s *Send) {
	if len(r.problems) > 0 {
		return
	}
	if _, _, err := s.build(nil, 1); err != nil {
		r.failAt(n, "%v", err)
	}
}

func (r *reader) unknownCaller(n *yamltree.Node) {
	if near, ok := strictjson.Nearest(n.Text(), slices.Sorted(maps.Keys(r.callers))); ok {
		r.failAt(n, "caller %q is unknown; did you mean %q?", n.Text(), near)
		return
	}
	r.failAt(n, "caller %q is unknown; describe it under callers:", n.Text())
}

// send reads "10 x POST /login".
func (r *reader) send(n *yamltree.Node, s *Send) {
	words := strings.Fields(r.text(n, "send"))
	if len(words) == 4 && words[1] == "x" {
		times, err := strconv.Atoi(words[0])
		if err != nil || times < 1 || times > mostTimes {
			r.failAt(n, "%q is no number of requests; write one from 1 to %d", words[0], mostTimes)
			return
		}
		s.Times, words = times, words[2:]
	}
	if len(words) != 2 {
		r.failAt(n, "%q is no request; write METHOD /path, or 10 x METHOD /path", n.Text())
		return
	}
	s.Method, s.URL = words[0], words[1]
}

// form is the body of a form, its fields in order.
func form(lines []Line) string {
	var fields []string
	for _, l := range lines {
		fields = append(fields, url.QueryEscape(l.Name)+"="+url.QueryEscape(l.Value))
	}
	return strings.Join(fields, "&")
}
