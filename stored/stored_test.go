package stored

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/resp"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func TestKeysAreTakenApart(t *testing.T) {
	for text, want := range map[string]Key{
		"rl:{POST:/login|ip:203.0.113.7|username:2bd806c97f0e00af}": {Prefix: "rl", Scope: "POST:/login", Identity: "ip:203.0.113.7|username:2bd806c97f0e00af", Names: []string{"ip", "username"}},
		"a:b:{bucket:logins|all}":                                   {Prefix: "a:b", Scope: "bucket:logins", Identity: "all", Names: []string{"all"}},
		"rl:{default/api|ip:2001:db8::/64}":                         {Prefix: "rl", Scope: "default/api", Identity: "ip:2001:db8::/64", Names: []string{"ip"}},
	} {
		want.Text = text
		if got, err := ParseKey(text); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v\n%s", err, cmp.Diff(want, got))
		}
	}
	for _, text := range []string{"", "session:42", "rl:{default}", "rl:{|ip:1}", "rl:{a|}", ":{a|b}", "rl:{a|b}c", "rl:{a|{b}}", "rl:{a|b\n}"} {
		if k, err := ParseKey(text); err == nil || !strings.Contains(err.Error(), "write one such as") {
			t.Errorf("%q: %+v, %v", text, k, err)
		}
	}
}

const now = 1_767_225_900_000 // 2026-01-01 00:05:00 UTC

func TestFieldsAreSaidInWords(t *testing.T) {
	log := "\x01\x9b\x76\xda\x31\xe0\x01\x9b\x76\xda\x31\xe1"
	for _, c := range []struct{ name, value, want string }{
		{"w300", "1767225900 4 9", "window of 5m since 2026-01-01 00:05:00 UTC: 4 counted, 9 in the window before"},
		{"w60", "1767225600 4 9", "window of 1m since 2026-01-01 00:00:00 UTC: 4 counted, 9 in the window before; it ended at 2026-01-01 00:01:00 UTC"},
		{"~w60", "1767225900 1 0", "window of 1m since 2026-01-01 00:05:00 UTC: 1 counted, 0 in the window before; of a shadow limit"},
		{"b60", "1767225890250 210000", "bucket, refilled each 1m: lacked 3.5 tokens at 2026-01-01 00:04:50.25 UTC"},
		{"w300", "4 9", "not a start and two counts"}, {"w300", "a b c", "not a start and two counts"}, {"w300", "-1 2 3", "not a start and two counts"},
		{"w300", "99999999999999 1 1", "not a start and two counts"},
		{"l300", "abc", "not a log of times"}, {"l300", "", "not a log of times"}, {"b60", "x", "not a time and what the bucket lacks"},
		{"w0", "1 2 3", "no field of routelimit"}, {"w07", "1 2 3", "no field of routelimit"}, {"x60", "1", "no field of routelimit"}, {"", "", "no field of routelimit"}, {"~", "", "no field of routelimit; of a shadow limit"},
	} {
		f := ParseField(c.name, c.value)
		if got := f.Words(now); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.value, got, c.want)
		}
	}
	f := ParseField("l300", log)
	if got := f.Words(f.Times[1] + 299_999); !strings.HasPrefix(got, "log of 5m: 1 in the window, 1 older ones; the oldest of ") {
		t.Errorf("%q", got)
	}
}

func FuzzFields(f *testing.F) {
	f.Add("w300", "1767225900 4 9", int64(now))
	f.Add("~l5", "123456", int64(now))
	f.Add("b60", "1 2", int64(now))
	f.Fuzz(func(t *testing.T, name, value string, at int64) {
		if at < 0 || at > 1<<53 {
			return
		}
		field := ParseField(name, value)
		if field.Words(at) == "" {
			t.Error("no words")
		}
		field.Used(at, true, 3)
	})
}

// What is read from a real Redis is what the script says is left, for every algorithm, whatever was charged when.
func TestWhatIsUsedIsWhatTheScriptSays(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		l := limit.Limit{
			Algorithm: limit.Algorithm(rapid.IntRange(0, 3).Draw(t, "algorithm")), Limit: rapid.Int64Range(1, 9).Draw(t, "limit"),
			Window: time.Duration(rapid.IntRange(1, 5).Draw(t, "window")) * time.Second, Shadow: rapid.Bool().Draw(t, "shadow"),
		}
		key := fmt.Sprintf("rl:{a|ip:%d}", round)
		at := int64(now)
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			at += rapid.Int64Range(0, 3000).Draw(t, "ms")
			do(t, r, key, at, limit.Charge{Limit: &l, Cost: rapid.Int64Range(1, 3).Draw(t, "cost")})
		}
		at += rapid.Int64Range(0, 3000).Draw(t, "later")
		fields := ParseFields(r.Client().HGetAll(t.Context(), key).Val())
		want := do(t, r, key, at, limit.Charge{Limit: &l})
		if got := max(0, l.Limit-Used(&l, fields, at)); got != want {
			t.Fatalf("%+v at %d: %d are left, the script says %d\n%+v", l, at, got, want, fields)
		}
	})
}

// do runs the script and returns what remains.
func do(t *rapid.T, r *servers.Redis, key string, at int64, charge limit.Charge) int64 {
	charges := []limit.Charge{charge}
	verdicts, err := left(charges, key, at, asker(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return verdicts[0].Remaining
}

func TestLimitsOfAKeyAreFound(t *testing.T) {
	p, err := policy.Parse([]byte(`{
		"identities": {"user": {"from": "header:x-user"}},
		"routes": {
			"POST /login": {"limits": [
				{"name": "pair", "identity": "ip+user", "limit": 1, "window": "1m"},
				{"name": "user", "identity": "user|ip", "limit": 2, "window": "1h"},
				{"name": "address", "identity": "ip", "limit": 3, "window": "5m", "algorithm": "sliding_log"},
				{"name": "own", "identity": "user", "limit": 4, "window": "2m"}]},
			"GET /a": {"identity": "ip", "limit": 1, "window": "1m", "bucket": "reads"},
			"GET /b": {"identity": "ip", "limit": 1, "window": "1m", "bucket": "reads"}},
		"default": {"identity": "all", "limit": 1, "window": "1m", "per": "envoy_route"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"rl:{POST:/login|ip:1|user:a}": {"pair"}, "rl:{POST:/login|user:a}": {"user", "own"}, "rl:{POST:/login|ip:1}": {"user", "address"},
		"rl:{bucket:reads|ip:1}": {"ip"}, "rl:{default/x|all}": {"all"}, "rl:{GET:/a|ip:1}": nil, "other:{POST:/login|ip:1}": nil,
	} {
		key, err := ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range Limits(p, key, nil) {
			got = append(got, l.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
	key, _ := ParseKey("rl:{POST:/login|ip:1}")
	if got := Limits(p, key, []Field{ParseField("w120", "0 1 0")}); len(got) != 3 || got[2].Name != "own" {
		t.Errorf("the address stands in: %v", got)
	}
	if got := Limits(p, key, []Field{ParseField("w3600", "0 1 0"), ParseField("w60", "0 1 0")}); len(got) != 3 || got[2].Name != "pair" {
		t.Errorf("a field that is another limit's: %v", got)
	}
}

// asker sends commands as they are over a connection of its own.
func asker(t *rapid.T, r *servers.Redis) func([]byte) (resp.Value, error) {
	return func(command []byte) (resp.Value, error) {
		conn, err := net.Dial("tcp", r.Addr())
		if err != nil {
			return resp.Value{}, err
		}
		defer conn.Close()
		if _, err := conn.Write(command); err != nil {
			return resp.Value{}, err
		}
		var d resp.Decoder
		for {
			if v, err := d.Next(); err != resp.ErrShort {
				return v, err
			}
			chunk := make([]byte, 4096)
			n, err := conn.Read(chunk)
			if err != nil {
				return resp.Value{}, err
			}
			d.Write(chunk[:n])
		}
	}
}
