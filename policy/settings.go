package policy

import (
	"strings"
	"time"

	"routelimit/policy/strictjson"
)

// readSettings reads what holds for the whole policy.
func (s *sections) readSettings(p *Policy) {
	if s.mode != nil {
		mode, _ := s.mode.OneOf("enforce", "shadow", "off")
		p.Mode = Mode(mode)
	}
	if s.redis != nil {
		strictjson.ReadObject(s.redis, p, redisFields)
	}
	if s.body != nil {
		strictjson.ReadObject(s.body, p, bodyFields)
	}
	if s.log != nil {
		strictjson.ReadObject(s.log, p, logFields)
	}
	if s.countPreflights != nil {
		p.CountPreflights, _ = s.countPreflights.Bool()
	}
	if s.ignorePathCase != nil {
		p.ignoreCase, _ = s.ignorePathCase.Bool()
	}
	if s.headers != nil {
		readDialect(s.headers, &p.Answer)
	}
	if s.response != nil {
		readResponse(s.response, &p.Answer)
	}
}

var redisFields = []strictjson.Field[Policy]{
	{Name: "cluster", Read: func(p *Policy, n *strictjson.Node) { p.Redis.Cluster = readPlain(n, 256) }},
	{Name: "timeout", Read: func(p *Policy, n *strictjson.Node) {
		p.Redis.Timeout, _ = n.Duration(time.Millisecond, 10*time.Second)
	}},
	{Name: "key_prefix", Read: func(p *Policy, n *strictjson.Node) { p.Redis.KeyPrefix = readLabel(n) }},
	{Name: "username_env", Read: unsupported[Policy]},
	{Name: "password_env", Read: unsupported[Policy]},
}

var bodyFields = []strictjson.Field[Policy]{
	{Name: "max_bytes", Read: func(p *Policy, n *strictjson.Node) {
		most, _ := n.Whole(64, 1<<20)
		p.Body.MaxBytes = int(most)
	}},
	{Name: "timeout", Read: func(p *Policy, n *strictjson.Node) {
		p.Body.Timeout, _ = n.Duration(10*time.Millisecond, time.Minute)
	}},
}

var logFields = []strictjson.Field[Policy]{
	{Name: "identity", Read: func(p *Policy, n *strictjson.Node) {
		how, _ := n.OneOf("plain", "hashed", "none")
		p.Log.Identity = LogIdentity(how)
	}},
}

// readPlain reads a name of printable ASCII.
func readPlain(n *strictjson.Node, longest int) string {
	text, ok := n.Text()
	if !ok {
		return ""
	}
	odd := strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
	if odd || text == "" || len(text) > longest {
		n.Fail("%s is no name; write 1 to %d printable ASCII characters without blanks", n.Show(), longest)
	}
	return text
}

// readLabel reads a name that becomes part of keys.
func readLabel(n *strictjson.Node) string {
	const longest = 64
	text, ok := n.Text()
	if !ok {
		return ""
	}
	if text == "" || len(text) > longest || strings.ContainsFunc(text, func(r rune) bool { return !isLabelRune(r) }) {
		n.Fail(`%s is no name for a key; write 1 to %d letters, digits, "_", "-" and "."`, n.Show(), longest)
	}
	return text
}

func isLabelRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
}
