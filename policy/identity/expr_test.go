package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testDefinitions(t testing.TB) *Definitions {
	t.Helper()
	return NewDefinitions([]Component{
		{Name: "api_key", Source: source(t, "header:x-api-key"), Secret: true},
		{Name: "user_id", Source: source(t, "metadata:envoy.filters.http.jwt_authn/payload/sub")},
		{Name: "username", Source: source(t, "body:username"), Fold: true, Secret: true},
	}, noHops, nil)
}

func TestParseExprRefusesWhatCannotCount(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `identity "": "" is no name; write names with "+" or "|" between them, such as "user_id|ip"`},
		{"ip|", `identity "ip|": "" is no name; write names with "+" or "|" between them, such as "user_id|ip"`},
		{"ip + api_key", `identity "ip + api_key": "ip " is no name; write names with "+" or "|" between them, such as "user_id|ip"`},
		{"IP", `identity "IP": "IP" is no name; write names with "+" or "|" between them, such as "user_id|ip"`},
		{"ip+usrname", `identity "ip+usrname": no identity is called "usrname"; did you mean "username"?`},
		{"tenant", `identity "tenant": no identity is called "tenant"; write one of all, api_key, ip, user_id, username, or declare it under identities`},
		{"ip+ip", `identity "ip+ip": "ip" occurs twice in "ip+ip"; write it once`},
		{"ip|ip", `identity "ip|ip": "ip" can never count, since "ip" comes before it; take one of them out`},
		{"all|ip", `identity "all|ip": "ip" can never count, since "all" comes before it; take one of them out`},
		{"user_id|ip+user_id", `identity "user_id|ip+user_id": "ip+user_id" can never count, since "user_id" comes before it; take one of them out`},
		{"ip+user_id|user_id+ip", `identity "ip+user_id|user_id+ip": "user_id+ip" can never count, since "ip+user_id" comes before it; take one of them out`},
	} {
		e, err := testDefinitions(t).ParseExpr(tt.text)
		if err == nil {
			t.Errorf("ParseExpr(%q) gave %v, want an error", tt.text, e)
		} else if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("ParseExpr(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestExprKnowsWhetherItNeedsTheBody(t *testing.T) {
	for text, want := range map[string]bool{
		"ip": false, "all": false, "user_id|ip": false, "api_key+ip": false,
		"username": true, "ip+username": true, "user_id|username": true,
	} {
		e := expr(t, testDefinitions(t), text)
		if got := e.NeedsBody(); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
		if e.String() != text {
			t.Errorf("String() is %q, want %q", e.String(), text)
		}
	}
}

func TestFirstPresentAlternativeCounts(t *testing.T) {
	const subject = "metadata\x00filter_metadata\x00envoy.filters.http.jwt_authn\x00payload\x00sub"
	login := jsonBody(`{"username":" Alice "}`)
	user := request{properties: [][2]string{{subject, "u-1"}}}
	for _, tt := range []struct {
		expr string
		r    request
		want resolved
	}{
		{"ip", request{}, resolved{"ip:192.0.2.1", "ip", 0}},
		{"all", request{}, resolved{"all", "all", 0}},
		{"all", request{peer: "-"}, resolved{"all", "all", 0}},
		{"ip+all", request{}, resolved{"ip:192.0.2.1|all", "ip+all", 0}},
		{"ip+username", login, resolved{"ip:192.0.2.1|username:2bd806c97f0e00af", "ip+username", 0}},
		{"username+ip", login, resolved{"username:2bd806c97f0e00af|ip:192.0.2.1", "username+ip", 0}},
		{"user_id|ip", user, resolved{"user_id:u-1", "user_id", 0}},
		{"user_id|ip", request{}, resolved{"ip:192.0.2.1", "ip", 0}},
		{"user_id|api_key|all", request{}, resolved{"all", "all", 0}},
		{"user_id+api_key|ip+user_id|ip", user, resolved{"ip:192.0.2.1|user_id:u-1", "ip+user_id", 0}},
		// Nothing that is listed: the address, and that is noted.
		{"user_id", request{}, resolved{"ip:192.0.2.1", "ip", NoIdentity}},
		{"ip+username", request{}, resolved{"ip:192.0.2.1", "ip", NoIdentity}},
		{"user_id", request{peer: "-"}, resolved{"ip:unknown", "unknown", NoIdentity}},
		{"user_id+ip", request{properties: user.properties, peer: "-"}, resolved{"ip:unknown", "unknown", NoIdentity}},
	} {
		got := resolve(expr(t, testDefinitions(t), tt.expr), tt.r)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.expr, diff)
		}
	}
}

func TestAppendKeepsWhatIsBefore(t *testing.T) {
	e := expr(t, testDefinitions(t), "api_key+user_id|username|ip")
	key, _ := e.Append([]byte("rl:{GET:/|"), header("x-api-key", "k").real())
	if got, want := string(key), "rl:{GET:/|ip:192.0.2.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestG05_CallersWithoutAnAddressShareOneNotedBucket(t *testing.T) {
	d := NewDefinitions([]Component{{Name: "user", Source: source(t, "header:x-user")}}, noHops, nil)
	for name, peer := range map[string]string{
		"no property":       "-",
		"unix socket":       "/run/envoy.sock",
		"abstract socket":   "@envoy",
		"internal listener": "envoy://inner/1",
		"blank":             " ",
	} {
		for _, headers := range []request{{}, header("x-user", ""), header("x-user", " \t")} {
			r := headers
			r.peer = peer
			for _, e := range []string{"ip", "user", "user|ip", "user+ip"} {
				got := resolve(expr(t, d, e), r)
				if want := (resolved{"ip:unknown", "unknown", NoIdentity}); got != want {
					t.Errorf("%s, %s: got %+v, want %+v", name, e, got, want)
				}
			}
		}
		r := header("x-user", "default")
		r.peer = peer
		if got, want := resolve(expr(t, d, "user|ip"), r), (resolved{"user:default", "user", 0}); got != want {
			t.Errorf("%s with a user: got %+v, want %+v", name, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "user_id", "k9_", strings.Repeat("a", maxName)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "ip", "all", "_a", "9a", "A", "a-b", "a b", "é", "a|b", strings.Repeat("a", maxName+1)} {
		if CheckName(name) == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
