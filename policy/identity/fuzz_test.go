package identity

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkBounds fails if a key grew beyond what its input can explain.
func checkBounds(t *testing.T, key []byte, input int) {
	t.Helper()
	if len(key) > 600 {
		t.Errorf("the key has %d bytes: %q", len(key), key)
	}
	// A buffer doubles as it grows, and the largest text in it is the input
	// (folding makes eleven bytes of one, but of a short name only).
	if cap(key) > 4*input+16*maxFold {
		t.Errorf("an input of %d bytes took a buffer of %d", input, cap(key))
	}
	if i := bytes.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' }); i >= 0 {
		t.Errorf("the key %q holds %q", key, key[i])
	}
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"username":"alice"}`, `{"username":"alice","Username":"bob"}`, `{"\u0075sername":7}`, "\ufeff{}", `[`, `{`, `"`, `{"a`,
		`{"username":"\u12`, `{"username":"\ud800\udc00\ud800"}`, `{"username":-}`, `{"username":1e}`, `{"username":01}`, `{"username":{"username":[`,
		"username=alice&b=%", "username=%zz+%4&username", "&&==", "\xff\xfe{\x00", `{"username":"ﷺ"}`, strings.Repeat("[", 20000),
	} {
		f.Add(body, "application/json", true)
		f.Add(body, "application/x-www-form-urlencoded", false)
	}
	d := NewDefinitions([]Component{
		{Name: "plain", Source: source(f, "body:username")},
		{Name: "folded", Source: source(f, "body:username"), Fold: true},
		{Name: "deep", Source: source(f, "body:a.b.c"), Secret: true},
	}, noHops, nil)
	exprs := []*Expr{expr(f, d, "plain"), expr(f, d, "folded"), expr(f, d, "deep")}
	f.Fuzz(func(t *testing.T, body, contentType string, complete bool) {
		for _, e := range exprs {
			r := withBody(contentType, body)
			r.body.Complete = complete
			key, used := e.Append(nil, r.real())
			checkBounds(t, key, len(body))
			if want := e.String() + ":#unread"; !complete && (string(key) != want || used != e.String()) {
				t.Errorf("an incomplete body gave %q, by %s, want %q", key, used, want)
			}
		}
	})
}

// FuzzJSON compares with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"username":"alice"}`, ` { "a" : [ 1 , -0.5e+7 , true , false , null , "" ] , "username" : 7 } `, `{"username":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d"}`,
		`[]`, `{}`, `"x"`, `1`, `-`, `01`, `1.`, `.1`, `1e`, `+1`, `tru`, `nul`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `{]`, `[}`,
		`{"a":1}}`, `{} x`, "", " ", "\x00", "\"\x01\"", `"\x"`, `"\u12g4"`, "\"\xff\"", `{"username":{"username":"x"}}`, `[{"a":{}},[1,[2,3]]]`,
	} {
		f.Add(text)
	}
	path := [][]byte{[]byte("username")}
	f.Fuzz(func(t *testing.T, text string) {
		value, result := lookupJSON([]byte(text), path)
		if valid := json.Valid([]byte(text)); valid != (result != jsonInvalid) {
			t.Fatalf("%q: valid is %t, result %d", text, valid, result)
		}
		if result != jsonFound || !utf8.ValidString(text) {
			return
		}
		var want struct {
			Username json.RawMessage `json:"username"`
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if string(want.Username) != string(value) {
			t.Fatalf("%q: got %q, want %q", text, value, want.Username)
		}
		var name string
		if value[0] == '"' && json.Unmarshal(value, &name) == nil {
			if got := string(appendUnescaped(nil, value[1:len(value)-1])); got != name {
				t.Fatalf("%q: got %q, want %q", value, got, name)
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, line := range []string{
		"sid=abc; b=2", `sid="`, `sid="";sid`, "=;=;", "sid=%41%4", "/a?q=1&q=2#", "?q=%", "/?%71=+", "#?", "Bearer a.b.c", "bearer  .e30=.", "Bearer ====.====.",
		"Bearer " + token(`{"sub":"u"}`), "Bearer " + token(`{"sub":"\u00e9","x":{}}`),
		"203.0.113.7:51234", "[2001:db8::7]:443, ,", "::ffff:1.2.3.4,", "fe80::1%eth0", "[", "]:", ",,,", "1.2.3.4:99999", "unknown",
	} {
		f.Add(line, line)
	}
	d := NewDefinitions([]Component{
		{Name: "sid", Source: source(f, "cookie:sid")},
		{Name: "q", Source: source(f, "query:q"), Fold: true},
		{Name: "sub", Source: source(f, "jwt_unverified:sub"), Secret: true},
		{Name: "key", Source: source(f, "header:x-key")},
	}, Client{TrustedHops: 2, IPv6Prefix: 56}, []byte("k"))
	var exprs []*Expr
	for _, text := range []string{"sid", "q", "sub", "key", "ip", "sid+q+sub+key+ip|ip+key"} {
		exprs = append(exprs, expr(f, d, text))
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		r := request{peer: second}
		for _, name := range []string{"cookie", xff, "x-key", ":path", "authorization"} {
			r.headers = append(r.headers, [2]string{name, first})
		}
		r.headers = append(r.headers, [2]string{"cookie", second}, [2]string{xff, second})
		for _, e := range exprs {
			key, _ := e.Append(nil, r.real())
			if len(key) > 3000 {
				t.Errorf("the key has %d bytes", len(key))
			}
			if !strings.Contains(e.String(), "+") {
				checkBounds(t, key, len(first)+len(second))
			}
		}
	})
}

// FuzzHop checks that an address without a port is read as netip reads it.
func FuzzHop(f *testing.F) {
	for _, hop := range []string{
		"203.0.113.7", "203.0.113.7:1", "[2001:db8::7]:443", "[2001:db8::7]", "2001:db8::7:443", "::", "[::]", "[::ffff:1.2.3.4]:1", "fe80::1%x", "1.2.3.4:", "[1.2.3.4]", "", ":", "[]", "a:1",
	} {
		f.Add(hop)
	}
	f.Fuzz(func(t *testing.T, hop string) {
		addr, _ := parseHop(hop)
		if addr.Zone() != "" || addr.Is4In6() {
			t.Errorf("%q gave %v", hop, addr)
		}
		if want, err := netip.ParseAddr(hop); err == nil && addr != want.Unmap().WithZone("") {
			t.Errorf("%q gave %v, want %v", hop, addr, want)
		}
		if want, err := netip.ParseAddrPort(hop); err == nil && addr != want.Addr().Unmap().WithZone("") {
			t.Errorf("%q gave %v, want %v", hop, addr, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"ip", "all|ip", "a+b|c", "+", "|", "header:x", "body:a.b", `metadata:a/b\/c`, `property:source.address\`, "jwt_unverified:.", "cookie:", ":"} {
		f.Add(text)
	}
	d := testDefinitions(f)
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := d.ParseExpr(text); err == nil {
			key, _ := e.Append(nil, request{}.real())
			checkBounds(t, key, len(text))
		}
		if s, err := ParseSource(text); err == nil {
			d := NewDefinitions([]Component{{Name: "id", Source: s}}, noHops, nil)
			key, _ := expr(t, d, "id").Append(nil, jsonBody(`{"a":"b"}`).real())
			checkBounds(t, key, len(text))
		}
	})
}
