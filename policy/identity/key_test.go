package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestG08_DifferentCallersHaveDifferentKeys(t *testing.T) {
	d := NewDefinitions([]Component{
		{Name: "user_id", Source: source(t, "header:x-user")},
		{Name: "tenant", Source: source(t, "header:x-tenant")},
		{Name: "secret", Source: source(t, "header:x-key"), Secret: true},
		{Name: "name", Source: source(t, "body:name")},
		{Name: "hidden", Source: source(t, "body:name"), Secret: true},
		{Name: "folded", Source: source(t, "body:name"), Fold: true},
	}, noHops, nil)
	long := strings.Repeat("k", 60<<10)
	seen := map[string]string{}
	for _, tt := range []struct {
		expr string
		r    request
	}{
		{"ip", request{peer: "203.0.113.7:1"}},
		{"ip", request{peer: "-"}},
		{"all", request{}},
		{"user_id", header("x-user", "203.0.113.7")},
		{"user_id", header("x-user", "ip:203.0.113.7")},
		{"user_id", header("x-user", "unknown")},
		{"user_id+tenant", header("x-user", "a:b", "x-tenant", "c")},
		{"user_id+tenant", header("x-user", "a", "x-tenant", "b:c")},
		{"user_id+tenant", header("x-user", "a|tenant:b", "x-tenant", "c")},
		{"user_id+tenant", header("x-user", "a", "x-tenant", "b|tenant:c")},
		{"user_id", header("x-user", "a|tenant:b")},
		{"user_id+tenant", header("x-user", "a", "x-tenant", "b")},
		{"user_id", header("x-user", "a%7Ctenant:b")},
		{"user_id", header("x-user", "}{")},
		{"user_id", header("x-user", "%7D%7B")},
		{"user_id", header("x-user", long)},
		{"user_id", header("x-user", long+"k")},
		{"user_id", header("x-user", string(AppendEscaped(nil, long)))},
		{"secret", header("x-key", "live_AAAAAAAA1")},
		{"secret", header("x-key", "live_AAAAAAAA2")},
		{"secret", header("x-key", long)},
		// What stands in for a body that cannot be read is no caller's value.
		{"name", jsonBody(`{"name"`)},
		{"name", jsonBody(`{"name":"#unread"}`)},
		{"name", jsonBody(`{"name":"%23unread"}`)},
		{"name", jsonBody(`{"name":"unread"}`)},
		{"hidden", jsonBody(`{"name"`)},
		{"hidden", jsonBody(`{"name":"#unread"}`)},
		{"folded", jsonBody(`{"name"`)},
		{"folded", jsonBody(`{"name":"#unread"}`)},
		{"ip+name", jsonBody(`{"name"`)},
		{"ip+name", jsonBody(`{"name":"#unread"}`)},
	} {
		key := keyOf(expr(t, d, tt.expr), tt.r)
		if other, ok := seen[key]; ok {
			t.Errorf("%s of %.80q gave %q, as %s did", tt.expr, tt.r.headers, key, other)
		}
		seen[key] = fmt.Sprintf("%s of %.80q", tt.expr, tt.r.headers)
		if len(key) > 500 || strings.Contains(key, "live_") || strings.Contains(key, "kkkkkkkkk") {
			t.Errorf("the key %q is too long or shows a secret", key)
		}
	}
}

func TestSecretsAreHashedAsOtherToolsHashThem(t *testing.T) {
	for _, hashKey := range []string{"", "k1", strings.Repeat("long", 40)} {
		for _, value := range []string{"alice", "7", strings.Repeat("é", 1000)} {
			h := sha256.New()
			if hashKey != "" {
				h = hmac.New(sha256.New, []byte(hashKey))
			}
			h.Write([]byte(value))
			want := "id:" + hex.EncodeToString(h.Sum(nil)[:8])
			d := NewDefinitions([]Component{{Name: "id", Source: source(t, "header:x"), Secret: true}}, noHops, []byte(hashKey))
			if got := resolve(expr(t, d, "id"), header("x", value)); got != (resolved{want, "id", 0}) {
				t.Errorf("key %.10q, value %.10q: got %+v, want %q", hashKey, value, got, want)
			}
		}
	}
}

func TestLongValuesAreNoted(t *testing.T) {
	for n, want := range map[int]Noted{maxValue: 0, maxValue + 1: Oversized} {
		if got := resolve(single(t, "header:x"), header("x", strings.Repeat("a", n))).Noted; got != want {
			t.Errorf("%d bytes: noted %v, want %v", n, got, want)
		}
	}
}

// unescape is the way back, which shows that no two values have one text.
func unescape(t interface{ Fatalf(string, ...any) }, escaped string) string {
	var value []byte
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			value = append(value, escaped[i])
			continue
		}
		b, err := hex.DecodeString(escaped[i+1 : i+3])
		if err != nil {
			t.Fatalf("%q: %v", escaped, err)
		}
		value = append(value, b...)
		i += 2
	}
	return string(value)
}

func TestEscapedValueLeadsBackToItsValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := string(rapid.SliceOfN(rapid.Byte(), 0, 2*maxValue).Draw(t, "value"))
		escaped := string(AppendEscaped([]byte("x"), value))[1:]
		for i := range len(escaped) {
			if c := escaped[i]; !isAlphanumeric(c) && !strings.Contains("._~/@:=+,*-%#", string(c)) {
				t.Fatalf("%q holds %q", escaped, c)
			}
		}
		if inPlace := string(escape([]byte("x"+value), 1)); inPlace != "x"+escaped {
			t.Fatalf("in place %q, appended %q", inPlace, escaped)
		}
		if len(value) > maxValue {
			sum := sha256.Sum256([]byte(value))
			if want := "#" + hex.EncodeToString(sum[:16]); escaped != want {
				t.Fatalf("got %q, want %q", escaped, want)
			}
			return
		}
		if back := unescape(t, escaped); back != value {
			t.Fatalf("%q became %q, which is %q", value, escaped, back)
		}
	})
}

// hostile draws values that try to look like pieces of a key.
func hostile(t *rapid.T, name string) string {
	pieces := []string{"a", "B", "|", ":", "%", "%7C", "{", "}", "#", " ", "b:", "|b:", "ip:", "192.0.2.1", "+", "\t", "\x00", "\xff", "é", "unknown", "#unread"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, name), "")
}

// The key alone tells every value that went into it: so two requests have one
// key only if all their values agree.
func TestKeyLeadsBackToTheCaller(t *testing.T) {
	d := NewDefinitions([]Component{
		{Name: "a", Source: source(t, "header:a")},
		{Name: "b", Source: source(t, "query:b")},
		{Name: "c", Source: source(t, "cookie:c")},
		{Name: "d", Source: source(t, "body:d")},
	}, Client{TrustedHops: 1}, nil)
	exprs := []*Expr{
		expr(t, d, "a"), expr(t, d, "a+b"), expr(t, d, "b|a"), expr(t, d, "ip+a+b+c+d|ip+d|c|a+b"), expr(t, d, "d+all|c+ip"),
	}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(exprs).Draw(t, "expr")
		sent := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d"} {
			sent[name] = hostile(t, name)
		}
		address := rapid.SampledFrom([]string{"192.0.2.1", "2001:db8:1::1", "::ffff:192.0.2.1", "unknown"}).Draw(t, "hop")
		r := formBody("d=" + percentEncode(sent["d"]))
		r.headers = append(r.headers,
			[2]string{"a", sent["a"]},
			[2]string{":path", "/?b=" + percentEncode(sent["b"])},
			[2]string{"cookie", "c=" + percentEncode(sent["c"])},
			[2]string{xff, address})
		got := resolve(e, r)

		want := map[string]string{}
		for _, name := range strings.Split(got.Used, "+") {
			switch name {
			case "ip", "unknown":
				want["ip"] = shownAddress(address)
			case "all":
				want["all"] = ""
			case "a":
				want["a"] = trimBlanks(sent["a"])
			default:
				want[name] = sent[name]
			}
		}
		if diff := cmp.Diff(want, readKey(t, got.Key)); diff != "" {
			t.Fatalf("key %q (-want +got):\n%s", got.Key, diff)
		}
	})
}

func readKey(t *rapid.T, key string) map[string]string {
	parts := map[string]string{}
	for part := range strings.SplitSeq(key, "|") {
		name, value, _ := strings.Cut(part, ":")
		if _, twice := parts[name]; twice {
			t.Fatalf("%q has %q twice", key, name)
		}
		parts[name] = unescape(t, value)
	}
	return parts
}

func shownAddress(hop string) string {
	addr, err := netip.ParseAddr(hop)
	if err != nil {
		return "unknown"
	}
	return string(Client{}.appendAddress(nil, addr.Unmap()))
}

func percentEncode(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

func TestAppendAllocatesNothing(t *testing.T) {
	d := NewDefinitions([]Component{
		{Name: "api_key", Source: source(t, "header:x-api-key")},
		{Name: "secret", Source: source(t, "header:x-secret"), Secret: true},
		{Name: "sid", Source: source(t, "cookie:sid")},
		{Name: "q", Source: source(t, "query:q")},
		{Name: "sub", Source: source(t, "jwt_unverified:sub")},
		{Name: "claim", Source: source(t, "metadata:ns/sub")},
		{Name: "username", Source: source(t, "body:username"), Fold: true, Secret: true},
		{Name: "field", Source: source(t, "body:user.name")},
		{Name: "odd", Source: source(t, "header:x-odd")},
		{Name: "long", Source: source(t, "header:x-long")},
		{Name: "absent", Source: source(t, "header:x-absent")},
	}, Client{TrustedHops: 2}, []byte("hash key"))
	r := jsonBody(`{"u\u0073er":{"name":"bob"},"username":" Alice "}`)
	r.headers = append(r.headers, header(
		xff, "198.51.100.9, 203.0.113.7:4711, 198.51.100.1",
		"x-api-key", "k1", "x-secret", "s", "cookie", "a=1; sid=x%20y", ":path", "/?q=a+b",
		"authorization", "Bearer "+token(`{"sub":"u-1"}`), "x-odd", "a|b {c}", "x-long", strings.Repeat("x", 4000),
	).headers...)
	r.properties = [][2]string{{"metadata\x00filter_metadata\x00ns\x00sub", double(42)}}
	names := slices.DeleteFunc(d.names(), func(name string) bool { return name == "absent" })
	dst := make([]byte, 0, 16<<10)
	for _, text := range append(names, strings.Join(names, "+"), "absent+ip|absent|"+strings.Join(names, "+"), "absent") {
		e, q := expr(t, d, text), r.real()
		if got := testing.AllocsPerRun(50, func() {
			q.addressKnown = false
			e.Append(dst, q)
		}); got != 0 {
			t.Errorf("%s: %v allocations", text, got)
		}
	}
	ip, nobody := expr(t, d, "ip"), request{peer: "-"}.real()
	if got := testing.AllocsPerRun(50, func() {
		nobody.addressKnown = false
		ip.Append(dst, nobody)
	}); got != 0 {
		t.Errorf("nobody: %v allocations", got)
	}
}
