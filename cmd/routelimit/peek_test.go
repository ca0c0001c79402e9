package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

const peekedPolicy = `{
	"identities": {"name": {"from": "header:x-name", "secret": true}},
	"routes": {"POST /login": {"limits": [
		{"name": "pair", "identity": "ip+name", "limit": 3, "window": "5m", "algorithm": "sliding_log"},
		{"name": "address", "identity": "ip", "limit": 10, "window": "1h", "algorithm": "fixed_window"},
		{"name": "burst", "identity": "ip", "limit": 6, "window": "1m", "algorithm": "token_bucket"}]},
		"GET /free": {"limits": []}},
	"deny_cache": {"max_time": "9s"},
	"default": null}`

const addressKey = "rl:{POST:/login|ip:203.0.113.7}"

// counted charges an address twice.
func counted(t *testing.T, r *servers.Redis) {
	t.Helper()
	window := &limit.Limit{Algorithm: limit.FixedWindow, Limit: 10, Window: time.Hour}
	bucket := &limit.Limit{Algorithm: limit.TokenBucket, Limit: 6, Window: time.Minute}
	charge(t, r, addressKey, limit.Charge{Limit: window, Cost: 2}, limit.Charge{Limit: bucket, Cost: 2})
}

func TestPeekSaysInWordsWhatIsStored(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	counted(t, r)
	code, out, stderr := call(t, "peek", addressKey, "--redis", r.URL())
	const when = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? UTC`
	want := regexp.MustCompile(`^key        rl:\{POST:/login\|ip:203.0.113.7\}
expires    in \d+h?[0-9hms]*
field      b60: bucket, refilled each 1m: lacked 2 tokens at ` + when + `
field      w3600: window of 1h since ` + when + `: 2 counted, 0 in the window before
$`)
	if code != exitOK || stderr != "" || !want.MatchString(out) {
		t.Errorf("code %d, stderr %q, stdout\n%s", code, stderr, out)
	}

	path := write(t, "policy.json", peekedPolicy)
	code, out, stderr = call(t, "peek", "POST", "/login", "--policy", path, "--from", "203.0.113.7", "-H", "x-name: S3cr3t", "--redis", r.URL())
	for _, want := range []string{
		"|name:", "           not there: nothing is counted, or what was has passed\nleft       3 of 3 under pair: 3 in 5m by sliding_log\n",
		"\nleft       8 of 10 under address: 10 in 1h by fixed_window, more in ", "\nleft       4 of 6 under burst: 6 in 1m by token_bucket, more in ",
	} {
		if code != exitOK || stderr != "" || !strings.Contains(out, want) || strings.Contains(out, "S3cr3t") {
			t.Errorf("code %d, stderr %q, no %q in\n%s", code, stderr, want, out)
		}
	}

	code, out, _ = call(t, "peek", "POST", "/login", "--policy", path, "--from", "203.0.113.7", "--limit", "burst", "--redis", r.URL(), "--output", "json")
	var got struct{ Keys []peeked }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Keys) != 1 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if k := got.Keys[0]; k.Key != addressKey || !k.Exists || k.TTLMS <= 0 || len(k.Fields) != 2 || len(k.Left) != 2 || k.Left[1].Remaining != 4 {
		t.Errorf("%+v", k)
	}
	if n := r.Client().DBSize(t.Context()).Val(); n != 1 {
		t.Errorf("peeking left %d keys", n)
	}
}

func TestResetDeletesOneKeyAfterAYes(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	const other = "rl:{POST:/login|ip:203.0.113.8}"
	exists := func(key string) bool { return r.Client().Exists(t.Context(), key).Val() == 1 }
	counted(t, r)
	charge(t, r, other, limit.Charge{Limit: &limit.Limit{Limit: 9, Window: time.Hour}, Cost: 1})

	for _, answer := range []string{"", "no\n", "yes please\n", "\n"} {
		code, out, stderr := callWith(t.Context(), answer, "reset", addressKey, "--redis", r.URL())
		if code != exitFindings || !strings.Contains(out, "delete this key? ") || !strings.Contains(stderr, "nothing was deleted; answer yes, or give --yes") || !exists(addressKey) {
			t.Errorf("%q: code %d, stdout %q, stderr %q", answer, code, out, stderr)
		}
	}
	code, out, stderr := callWith(t.Context(), "yes\n", "reset", addressKey, "--redis", r.URL())
	if code != exitOK || stderr != "" || !strings.Contains(out, "\ndeleted "+addressKey+" with 2 fields\n") ||
		!strings.Contains(out, "may refuse from memory for up to 30s more") || exists(addressKey) || !exists(other) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	code, out, stderr = call(t, "reset", addressKey, "--redis", r.URL())
	if code != exitOK || stderr != "" || !strings.Contains(out, "deleted nothing: the key is not there; see who is counted with routelimit top") || strings.Contains(out, "from memory") {
		t.Errorf("once more: code %d, stdout %q, stderr %q", code, out, stderr)
	}

	counted(t, r)
	path := write(t, "policy.json", peekedPolicy)
	request := []string{"reset", "POST", "/login", "--policy", path, "--from", "203.0.113.7", "-H", "x-name: a", "--redis", r.URL(), "--yes"}
	code, out, stderr = call(t, request...)
	if code != exitUsage || out != "" || !strings.Contains(stderr, "counted under 2 keys") || !strings.Contains(stderr, "'"+addressKey+"'") || !exists(addressKey) {
		t.Errorf("two keys: code %d, stdout %q, stderr %q", code, out, stderr)
	}
	code, out, stderr = call(t, append(request, "--limit", "burst", "--output", "json")...)
	var got struct {
		Key     string
		Deleted bool
		Memory  int `json:"refused_from_memory_ms"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || stderr != "" || got.Key != addressKey || !got.Deleted || got.Memory != 9000 || exists(addressKey) || !exists(other) {
		t.Errorf("code %d, %v, %+v, stderr %q", code, err, got, stderr)
	}
}

func TestPeekAndResetLeaveForeignKeysAlone(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	r.Client().Set(t.Context(), "rl:{a|text}", "x", 0)
	r.Client().HSet(t.Context(), "rl:{a|hash}", "cart", "x\x1b[31m")
	many := map[string]any{}
	for i := range 1500 {
		many[time.Duration(i).String()] = "x"
	}
	r.Client().HSet(t.Context(), "rl:{a|many}", many)
	for key, want := range map[string]string{"rl:{a|text}": "it is a string", "rl:{a|hash}": `its field "cart"`, "rl:{a|many}": "it has 1500 fields"} {
		code, out, _ := call(t, "peek", key, "--redis", r.URL())
		if code != exitOK || !strings.Contains(out, "none of routelimit's: "+want) || strings.Contains(out, "\x1b") {
			t.Errorf("peek %s: code %d, %q", key, code, out)
		}
		code, _, stderr := call(t, "reset", key, "--redis", r.URL(), "--yes")
		if code != exitFindings || !strings.Contains(stderr, want) || r.Client().Exists(t.Context(), key).Val() != 1 {
			t.Errorf("reset %s: code %d, %q", key, code, stderr)
		}
	}
}

func TestPeekAndResetFindTheNodeOfACluster(t *testing.T) {
	c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
	l := &limit.Limit{Limit: 9, Window: time.Hour}
	for _, address := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"} {
		key := "rl:{default|ip:" + address + "}"
		command := limit.AppendEval(nil, limit.AppendDecide(nil, []byte(key), 0, []limit.Charge{{Limit: l, Cost: 1}}))
		if reply, err := ask(t.Context(), c.Client(), command); err != nil || reply.Text == nil {
			t.Fatalf("%+v, %v", reply, err)
		}
		if code, out, _ := call(t, "peek", key, "--redis", c.Addrs()[0]); code != exitOK || !strings.Contains(out, ": 1 counted") {
			t.Errorf("%s: code %d\n%s", key, code, out)
		}
		if code, out, _ := call(t, "reset", key, "--redis", c.Addrs()[1], "--yes"); code != exitOK || !strings.Contains(out, "deleted "+key+" with 1 field\n") {
			t.Errorf("%s: code %d\n%s", key, code, out)
		}
	}
}

func TestPeekAndResetSayWhatToDo(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	path := write(t, "policy.json", peekedPolicy)
	db := r.Client()
	if err := db.Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">secret-word", "~*", "+@all", "-del").Err(); err != nil {
		t.Fatal(err)
	}
	counted(t, r)
	t.Setenv("REDIS_URL", "")
	t.Setenv(passwordEnv, "secret-word")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no Redis":            {[]string{"peek", addressKey}, exitUsage, "write --redis redis://host:port, or set REDIS_URL"},
		"no key":              {[]string{"peek", "session:4", "--redis", r.URL()}, exitUsage, "write one such as rl:{POST:/login|ip:203.0.113.7}"},
		"no such limit":       {[]string{"peek", "POST", "/login", "--policy", path, "--limit", "none", "--redis", r.URL()}, exitUsage, `--limit "none" limits no such request`},
		"an output":           {[]string{"peek", addressKey, "--redis", r.URL(), "--output", "xml"}, exitUsage, "write text or json"},
		"counted nowhere":     {[]string{"peek", "GET", "/free", "--policy", path, "--redis", r.URL()}, exitFindings, "the route has no limits"},
		"nobody there":        {[]string{"peek", addressKey, "--redis", "127.0.0.1:1"}, exitFindings, "does not answer"},
		"a wrong password":    {[]string{"peek", addressKey, "--redis", "redis://reader:wrong@" + r.Addr()}, exitFindings, "wants another user or password"},
		"not permitted":       {[]string{"reset", addressKey, "--redis", "redis://reader@" + r.Addr(), "--yes"}, exitFindings, "allow this user DEL"},
		"JSON asks nothing":   {[]string{"reset", addressKey, "--redis", r.URL(), "--output", "json"}, exitUsage, "give --yes"},
		"standard input once": {[]string{"reset", "POST", "/login", "--policy", "-", "--redis", r.URL()}, exitUsage, "give --yes, or the file by its name"},
	} {
		code, _, stderr := call(t, c.args...)
		if code != c.code || !strings.HasPrefix(stderr, "routelimit: ") || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret-word") {
			t.Errorf("%s: code %d, stderr %q", name, code, stderr)
		}
	}
	t.Setenv("REDIS_URL", "redis://reader@"+r.Addr())
	if code, out, stderr := call(t, "peek", addressKey); code != exitOK || !strings.Contains(out, "2 counted") {
		t.Errorf("from the environment: code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

// The commands that docs/operations.md lists are all that the three need.
func TestAUserOfItsOwnNeedsWhatTheDocsSay(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	rules := []any{"ACL", "SETUSER", "operator", "on", ">secret-word", "~rl:*", "-@all"}
	for _, command := range strings.Fields("info type time pttl hlen hgetall evalsha eval hmget pexpire del scan hscan") {
		rules = append(rules, "+"+command)
	}
	if err := r.Client().Do(t.Context(), rules...).Err(); err != nil {
		t.Fatal(err)
	}
	counted(t, r)
	path := write(t, "policy.json", peekedPolicy)
	url := "redis://operator:secret-word@" + r.Addr()
	for _, args := range [][]string{{"peek", addressKey, "--policy", path}, {"top", "--policy", path}, {"reset", addressKey, "--yes"}} {
		if code, out, stderr := call(t, append(args, "--redis", url)...); code != exitOK || stderr != "" || !strings.Contains(out, "ip:203.0.113.7") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", args[0], code, out, stderr)
		}
	}
}

// A client of this machine may be counted under another address than 127.0.0.1, with --from and without.
func TestPeekAndResetSayWhoseAddressMayBeMeant(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	path := write(t, "policy.json", peekedPolicy)
	for from, want := range map[string]string{
		"":            "routelimit: client 127.0.0.1 is assumed: --from says who connects; of a client on its own machine Envoy may see that machine's address\n",
		"127.0.0.1":   "routelimit: client 127.0.0.1: of a client on its own machine Envoy may see that machine's address\n",
		"203.0.113.7": "",
	} {
		for _, verb := range []string{"peek", "reset"} {
			args := []string{verb, "POST", "/login", "--policy", path, "-H", "x-name: a", "--limit", "burst", "--redis", r.URL()}
			if from != "" {
				args = append(args, "--from", from)
			}
			if code, out, stderr := call(t, args...); code != exitOK || stderr != want || !strings.Contains(out, "not there") {
				t.Errorf("%s --from %q: code %d, stdout %q, stderr %q", verb, from, code, out, stderr)
			}
		}
	}
}
