package replay

import (
	"testing"

	"routelimit/accesslog"
	"routelimit/policy"
)

func TestOutcomesAreThoseOfTheFilter(t *testing.T) {
	const routes = `"routes": {
		"GET /limited": {"identity": "ip", "limit": 1, "window": "1m"},
		"GET /open": {"limits": []},
		"GET /shut": {"identity": "ip", "limit": 0, "window": "1m"},
		"GET /shadow": {"identity": "ip", "limit": 1, "window": "1m", "shadow": true},
		"GET /ours": {"identity": "ip", "limit": 1, "window": "1m", "exempt": ["203.0.113.0/24"]},
		"* /any": {"identity": "ip", "limit": 1, "window": "1m"}}`
	for name, c := range map[string]struct {
		policy, method, path string
		want                 [2]Outcome // of two requests
	}{
		"a limit":            {routes + `,"default": null`, "GET", "/limited", [2]Outcome{Passed, Refused}},
		"no limit":           {routes + `,"default": null`, "GET", "/open", [2]Outcome{Unlimited, Unlimited}},
		"a limit of 0":       {routes + `,"default": null`, "GET", "/shut", [2]Outcome{Refused, Refused}},
		"a shadow":           {routes + `,"default": null`, "GET", "/shadow", [2]Outcome{Passed, Passed}},
		"exempt":             {routes + `,"default": null`, "GET", "/ours", [2]Outcome{Exempt, Exempt}},
		"no route":           {routes + `,"default": null`, "GET", "/other", [2]Outcome{Unlimited, Unlimited}},
		"the default":        {routes + `,"default": {"identity": "ip", "limit": 1, "window": "1m"}`, "GET", "/other", [2]Outcome{Passed, Refused}},
		"undeclared":         {routes + `,"undeclared": "refuse"`, "GET", "/other", [2]Outcome{Undeclared, Undeclared}},
		"shadow mode":        {routes + `,"default": null,"mode": "shadow"`, "GET", "/limited", [2]Outcome{Passed, Passed}},
		"shadow mode, shut":  {routes + `,"default": null,"mode": "shadow"`, "GET", "/shut", [2]Outcome{Passed, Passed}},
		"off":                {routes + `,"default": null,"mode": "off"`, "GET", "/limited", [2]Outcome{Unlimited, Unlimited}},
		"a preflight":        {routes + `,"default": null`, "OPTIONS", "/any", [2]Outcome{Preflight, Preflight}},
		"preflights counted": {routes + `,"default": null,"count_preflights": true`, "OPTIONS", "/any", [2]Outcome{Passed, Refused}},
		"another spelling":   {routes + `,"default": null`, "GET", "/x/..//limited/?a", [2]Outcome{Passed, Refused}},
	} {
		player := New(parse(t, "{"+c.policy+"}"), Settings{Uses: true})
		for i, want := range c.want {
			if got := player.Play(entry(full(), int64(i), c.method, c.path)).Outcome; got != want {
				t.Errorf("%s, request %d: %v, want %v", name, i+1, got, want)
			}
		}
	}
}

func TestOptionsThatTellAreNoPreflightsByTheirMethodAlone(t *testing.T) {
	p := parse(t, `{"default": {"identity": "ip", "limit": 5, "window": "1m"}}`)
	layout := full("header:origin", "header:access-control-request-method")
	player := New(p, Settings{})
	if got := player.Play(entry(layout, 0, "OPTIONS", "/", "https://a", "PUT")).Outcome; got != Preflight {
		t.Error(got)
	}
	if got := player.Play(entry(layout, 0, "OPTIONS", "/", "https://a", "")).Outcome; got != Passed {
		t.Error(got)
	}
}

// A refusal by one identity gives back what another was charged.
func TestG21_ARefusalChargesNobody(t *testing.T) {
	p := parse(t, `{"identities": {"user": {"from": "header:user"}}, "routes": {"* /": {"limits": [
		{"name": "user", "identity": "user", "limit": 1, "window": "1m"}, {"name": "all", "identity": "all", "limit": 2, "window": "1m"}]}}, "default": null}`)
	layout := full("header:user")
	player := New(p, Settings{})
	for i, c := range []struct {
		user string
		want Outcome
	}{{"a", Passed}, {"a", Refused}, {"a", Refused}, {"b", Passed}, {"c", Refused}} {
		if got := player.Play(entry(layout, int64(i), "GET", "/", c.user)).Outcome; got != c.want {
			t.Errorf("request %d: %v, want %v", i+1, got, c.want)
		}
	}
}

func TestWhatTheStatusDoesNotCountIsGivenBack(t *testing.T) {
	p := parse(t, `{"routes": {"* /": {"limits": [
		{"name": "failed", "identity": "ip", "limit": 1, "window": "1m", "count": [401, 403]}]}}, "default": null}`)
	for name, c := range map[string]struct {
		status   []int
		want     []Outcome
		returned []bool
	}{
		"passed logins":      {[]int{200, 200, 200}, []Outcome{Passed, Passed, Passed}, []bool{true, true, true}},
		"failed logins":      {[]int{200, 401, 200}, []Outcome{Passed, Passed, Refused}, []bool{true, false, false}},
		"a client that left": {[]int{499, 200}, []Outcome{Passed, Refused}, []bool{false, false}},
		"no status":          {[]int{0, 200}, []Outcome{Passed, Refused}, []bool{false, false}},
		"limited by others":  {[]int{429, 200}, []Outcome{Passed, Passed}, []bool{true, true}},
	} {
		player := New(p, Settings{Uses: true})
		for i, status := range c.status {
			e := entry(full(), int64(i), "POST", "/")
			e.Status = status
			played := player.Play(e)
			asked := played.Groups[0].Limits[0]
			if played.Outcome != c.want[i] || asked.Returned != c.returned[i] {
				t.Errorf("%s, request %d: %v, returned %v", name, i+1, played.Outcome, asked.Returned)
			}
			// With none refused, one more than those that count were in use.
			if want := int64(1 + min(i, countOf(c.status[:i], 401, 0, 499))); asked.Use != want {
				t.Errorf("%s, request %d: use %d, want %d", name, i+1, asked.Use, want)
			}
		}
	}
}

func countOf(list []int, values ...int) (n int) {
	for _, have := range list {
		for _, v := range values {
			if have == v {
				n++
			}
		}
	}
	return n
}

func TestRoutesThatEnvoyCarriesGoFirst(t *testing.T) {
	p := parse(t, `{"default": {"identity": "ip", "limit": 5, "window": "1m", "per": "envoy_route"}}`)
	carried, err := p.ParseMetadata([]byte(`{"route": "GET /special/:id", "identity": "ip", "limit": 1, "window": "1m"}`))
	if err != nil {
		t.Fatal(err)
	}
	layout := full("property:xds.route_name")
	player := New(p, Settings{Carried: map[string]*policy.Route{"special": carried}})
	for _, c := range []struct {
		name string
		want Outcome
		key  string
	}{
		{"special", Passed, "rl:{GET:/special/:id|ip:203.0.113.7}"}, {"special", Refused, "rl:{GET:/special/:id|ip:203.0.113.7}"},
		{"other", Passed, "rl:{default/other|ip:203.0.113.7}"},
	} {
		played := player.Play(entry(layout, 0, "GET", "/special/7", c.name))
		if played.Outcome != c.want || played.Groups[0].Key != c.key {
			t.Errorf("%s: %v, %+v", c.name, played.Outcome, played.Groups)
		}
	}
}

func TestEachLayoutIsReadByItself(t *testing.T) {
	p := parse(t, `{"identities": {"key": {"from": "header:key"}}, "default": {"identity": "key", "limit": 5, "window": "1m"}}`)
	player := New(p, Settings{})
	for _, c := range []struct {
		layout *accesslog.Layout
		want   Outcome
	}{{full("header:key"), Passed}, {full("header:other"), LeftOut}, {full("header:other", "header:key"), Passed}} {
		if got := player.Play(entry(c.layout, 0, "GET", "/", "k", "k")).Outcome; got != c.want {
			t.Errorf("%v: %v", c.layout.Sources, got)
		}
	}
}
