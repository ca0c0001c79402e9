package policy

import (
	"strings"
	"time"

	"routelimit/answer"
	"routelimit/policy/strictjson"
)

// readSettings reads what holds for the whole policy.
func (s *sections) readSettings(p *Policy) {
	if s.mode != nil {
		mode, _ := s.mode.OneOf("enforce", "shadow", "off")
		p.Mode = Mode(mode)
	}
	if s.redis != nil && s.redis.Kind() == strictjson.String {
		// Not shown: it may be an address with a password.
		s.redis.Fail(`a text stands here; write an object, in braces, such as {"cluster": "routelimit"}`)
	} else if s.redis != nil {
		strictjson.ReadObject(s.redis, p, redisFields)
		if n := s.redis.Member("username_env"); n != nil && s.redis.Member("password_env") == nil {
			n.FailName("a user is nobody without a password; write password_env beside it, or remove it")
		}
	}
	if s.body != nil {
		strictjson.ReadObject(s.body, p, bodyFields)
	}
	if s.log != nil {
		strictjson.ReadObject(s.log, p, logFields)
	}
	if s.denyCache != nil {
		strictjson.ReadObject(s.denyCache, p, denyCacheFields)
	}
	if s.breaker != nil {
		strictjson.ReadObject(s.breaker, p, breakerFields)
	}
	if s.local != nil {
		strictjson.ReadObject(s.local, p, localFields)
	}
	if s.countPreflights != nil {
		p.CountPreflights, _ = s.countPreflights.Bool()
	}
	if s.ignorePathCase != nil {
		p.Paths.IgnoreCase, _ = s.ignorePathCase.Bool()
	}
	if s.keepPathParameters != nil {
		p.Paths.KeepParameters, _ = s.keepPathParameters.Bool()
	}
	if s.headers != nil {
		dialect, _ := s.headers.OneOf(answer.DialectNames()...)
		p.Answer.Dialect = answer.Dialect(dialect)
	}
	if s.response != nil {
		readResponse(s.response, &p.Answer)
	}
}

var redisFields = []strictjson.Field[Policy]{
	{
		Name: "cluster", Read: func(p *Policy, n *strictjson.Node) { p.Redis.Cluster = readPlain(n) },
		Doc:     prose("the Envoy cluster through which Redis is reached"),
		Default: prose(`"routelimit"`), Example: prose(`"routelimit"`),
	},
	{
		Name: "timeout",
		Read: func(p *Policy, n *strictjson.Node) {
			p.Redis.Timeout, _ = n.Duration(time.Millisecond, 10*time.Second)
		},
		Doc:     prose("how long a request waits for Redis, counted from the asking; then its route's `on_error` holds"),
		Default: prose(`"50ms"`), Example: prose(`"100ms"`),
	},
	{
		Name: "key_prefix", Read: func(p *Policy, n *strictjson.Node) { p.Redis.KeyPrefix = readLabel(n) },
		Doc:     prose("what every key in Redis begins with"),
		Default: prose(`"rl"`), Example: prose(`"edge-1"`),
	},
	{
		Name: "password_env", Read: func(p *Policy, n *strictjson.Node) { p.Redis.PasswordEnv = readVariable(n) },
		Doc: prose("the environment variable with the password for a Redis that is reached without redis_proxy: AUTH is then the first command of " +
			"each stream. Behind redis_proxy its `auth_password` is the place"),
		Example: prose(`"REDIS_PASSWORD"`),
	},
	{
		Name: "username_env", Read: func(p *Policy, n *strictjson.Node) { p.Redis.UsernameEnv = readVariable(n) },
		Doc:     prose("the environment variable with the user's name for that AUTH; if not set, Redis' user `default`"),
		Example: prose(`"REDIS_USER"`),
	},
	{
		Name: "database",
		Read: func(p *Policy, n *strictjson.Node) {
			number, _ := n.Whole(0, maxDatabase)
			p.Redis.Database = int(number)
		},
		Doc:     prose("the number of the database, for a Redis that is reached without redis_proxy, by SELECT; redis_proxy and a Redis Cluster have no other than 0"),
		Default: prose(`0`), Example: prose(`3`),
	},
}

var bodyFields = []strictjson.Field[Policy]{
	{
		Name: "max_bytes",
		Read: func(p *Policy, n *strictjson.Node) {
			most, _ := n.Whole(64, 1<<20)
			p.Body.MaxBytes = int(most)
		},
		Doc: prose("how much of a body is read, in bytes. A longer body names nobody. It must not be more than the listener's " +
			"`per_connection_buffer_limit_bytes`"),
		Default: prose(`16384`), Example: prose(`8192`),
	},
	{
		Name: "timeout",
		Read: func(p *Policy, n *strictjson.Node) {
			p.Body.Timeout, _ = n.Duration(10*time.Millisecond, time.Minute)
		},
		Doc:     prose("how long a request waits for its body, from its headers on; then the body names nobody"),
		Default: prose(`"5s"`), Example: prose(`"2s"`),
	},
}

var logFields = []strictjson.Field[Policy]{
	{
		Name: "identity",
		Read: func(p *Policy, n *strictjson.Node) {
			how, _ := n.OneOf("plain", "hashed", "none")
			p.Log.Identity = LogIdentity(how)
		},
		Doc:     prose("how the refused caller stands in log lines: `plain` as in the key, `hashed`, or `none`"),
		Default: prose(`"plain"`), Example: prose(`"hashed"`),
	},
}

// maxDatabase is far above what any server is set up with.
const maxDatabase = 65535

// readVariable reads the name of an environment variable. Whether it is set is the module's to ask: who looks at a policy
// elsewhere does not need what is in it.
func readVariable(n *strictjson.Node) string {
	n.StatePattern(prose("^[A-Za-z_][A-Za-z0-9_]{0,127}$"))
	const longest = 128
	text, ok := "", n.Kind() == strictjson.Number // a password of digits is not shown either
	if !ok {
		text, ok = n.Text()
	}
	if !ok {
		return ""
	}
	odd := strings.ContainsFunc(text, func(r rune) bool { return !isLabelRune(r) || r == '-' || r == '.' })
	if odd || text == "" || len(text) > longest || '0' <= text[0] && text[0] <= '9' {
		// Not shown: it may be the password.
		n.Fail(`what is written is no name of an environment variable; write 1 to %d letters, digits and "_", and not the password itself`, longest)
	}
	return text
}

// readPlain reads a name of printable ASCII.
func readPlain(n *strictjson.Node) string {
	const longest = 256
	n.StatePattern(prose("^[!-~]{1,256}$"))
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
	n.StatePattern(prose("^[A-Za-z0-9_.-]{1,64}$"))
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
