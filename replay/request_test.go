package replay

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/accesslog"
	"routelimit/bootstrap"
)

// What a log has in a field of its own is read as if the request had it.
func TestFieldsBecomeWhatTheyWereInTheRequest(t *testing.T) {
	for source, c := range map[string]struct {
		logged string // also where the log has it, if that is not the same
		value  string
		path   string
		want   string
	}{
		"header:X-Api-Key":        {"header:x-api-key", "k 1", "/", "id:k%201"},
		"header:x-api-key":        {"header:X-API-Key", "k", "/", "id:k"},
		"header:user-agent":       {"", "a/1", "/", "id:a/1"},
		"header:host":             {"header:x", "", "/", "id:h"},
		"cookie:sid":              {"", "a;b=%41", "/", "id:a%3Bb=%2541"},
		"cookie:SID":              {"header:cookie", "x=1; SID=s", "/", "id:s"},
		"query:key":               {"", "a&b+c", "/?x=1", "id:a%26b+c"},
		"query:q":                 {"header:x", "", "/?q=%31", "id:1"},
		"body:user.name":          {"", "äöü & co", "/", "id:%C3%A4%C3%B6%C3%BC%20%26%20co"},
		"body:name":               {"body:NAME", "n", "/", "id:n"},
		"metadata:a.b/c":          {"", "m", "/", "id:m"},
		"property:request.id":     {"", "p", "/", "id:p"},
		"property:source.address": {"header:x", "", "/", "id:203.0.113.7:5000"},
		"jwt_unverified:sub":      {"", `s"ub`, "/", "id:s%22ub"},
		"jwt_unverified:a.b\\.c":  {"", "deep", "/", "id:deep"},
		"jwt_unverified:a[0]":     {"", "list", "/", "id:list"},
		"jwt_unverified:iss":      {"header:authorization", "Bearer .eyJpc3MiOiJpIn0.", "/", "id:i"},
		"path:id":                 {"header:x", "", "/things/7", "id:7"},
	} {
		p := parse(t, `{"identities": {"id": {"from": "`+strings.ReplaceAll(source, `\`, `\\`)+`"}}, "routes": {"* /things/:id": {"identity": "id", "limit": 1, "window": "1m"}},
			"default": {"identity": "id", "limit": 1, "window": "1m"}}`)
		logged := c.logged
		if logged == "" {
			logged = source
		}
		player := New(p, Settings{Fallback: true})
		got := keysOf(player.Play(entry(full(logged), 0, "POST", c.path, c.value)))
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s from %s: %s", source, logged, diff)
		}
	}
}

func TestWhatALineLacksIsMissing(t *testing.T) {
	p := parse(t, `{"identities": {"name": {"from": "body:name"}}, "default": {"identity": "name", "limit": 1, "window": "1m"}}`)
	played := New(p, Settings{}).Play(entry(full("body:name"), 0, "POST", "/"))
	if played.Groups[0].Identity != "ip:203.0.113.7" || !played.Groups[0].Limits[0].FellBack() {
		t.Errorf("%+v", played.Groups)
	}
}

func TestCheckSourceKnowsWhatALogCanHold(t *testing.T) {
	for text, want := range map[string]string{"path:id": "leave the field out", "hdr:x": "unknown kind", "header:a b": "no header name", "header:x": "", "body:a.b": ""} {
		if err := CheckSource(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The address is the one that the filter would take, by what the log says of the peer
// and of X-Forwarded-For: complete as Envoy logs it, or as it was received.
func TestG03_TheClientIsFoundAsEnvoyWould(t *testing.T) {
	inner := &bootstrap.Front{}
	for name, c := range map[string]struct {
		client    string // of the policy
		received  bool
		front     *bootstrap.Front
		peer, xff string
		want      string
	}{
		"whom Envoy trusts":                        {"", false, nil, "203.0.113.7:0", "198.51.100.9", "ip:203.0.113.7"},
		"no address, the last entry":               {"", false, nil, "", "198.51.100.9, 198.51.100.8", "ip:198.51.100.8"},
		"neither":                                  {"", false, nil, "", "", "ip:unknown"},
		"one hop of a complete chain":              {`"client": {"trusted_hops": 1},`, false, nil, "203.0.113.7:0", "198.51.100.9,198.51.100.8", "ip:198.51.100.8"},
		"two hops":                                 {`"client": {"trusted_hops": 2},`, false, nil, "203.0.113.7:5", "198.51.100.9,198.51.100.8", "ip:198.51.100.9"},
		"too short a chain, the peer":              {`"client": {"trusted_hops": 2},`, false, nil, "203.0.113.7:5", "198.51.100.8", "ip:203.0.113.7"},
		"too short a chain, no port logged":        {`"client": {"trusted_hops": 2},`, false, nil, "203.0.113.7", "198.51.100.8", "ip:203.0.113.7"},
		"too short a chain, the peer hidden":       {`"client": {"trusted_hops": 2},`, false, nil, "203.0.113.7:0", "198.51.100.8", "ip:unknown"},
		"received, at the edge":                    {"", true, nil, "203.0.113.7", "198.51.100.9", "ip:203.0.113.7"},
		"received, the peer is appended":           {`"client": {"trusted_hops": 1},`, true, nil, "203.0.113.7", "198.51.100.9", "ip:203.0.113.7"},
		"received, one proxy in front":             {`"client": {"trusted_hops": 2},`, true, nil, "203.0.113.7", "198.51.100.9", "ip:198.51.100.9"},
		"received, none":                           {`"client": {"trusted_hops": 1},`, true, nil, "203.0.113.7", "", "ip:203.0.113.7"},
		"received, an Envoy behind a proxy":        {"", true, inner, "203.0.113.7", "198.51.100.9, 198.51.100.8", "ip:198.51.100.8"},
		"received, nothing appended":               {`"client": {"trusted_hops": 1},`, true, inner, "203.0.113.7", "198.51.100.9", "ip:198.51.100.9"},
		"received, IPv6":                           {"", true, nil, "2001:db8:1:2::7", "", "ip:2001:db8:1:2::/64"},
		"IPv6 with a port":                         {"", false, nil, "[2001:db8:1:2::7]:80", "", "ip:2001:db8:1:2::/64"},
		"received, a header that names the client": {"", true, &bootstrap.Front{ClientHeader: "x-real-ip"}, "203.0.113.7", "198.51.100.9", "ip:192.0.2.9"},
		"a name for an address":                    {"", true, nil, "host.example", "", "ip:unknown"},
	} {
		p := parse(t, `{`+c.client+`"default": {"identity": "ip", "limit": 1, "window": "1m"}}`)
		layout := full("header:x-real-ip")
		layout.Received = c.received
		e := entry(layout, 0, "GET", "/", "192.0.2.9")
		e.Client, e.ForwardedFor = c.peer, c.xff
		player := New(p, Settings{Front: c.front})
		if got := keysOf(player.Play(e)); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
		if unknown := int64(strings.Count(c.want, "unknown")); player.Unknown != unknown {
			t.Errorf("%s: %d unknown", name, player.Unknown)
		}
		if short := strings.HasPrefix(name, "too short") && c.want != "ip:unknown"; (player.Short == 1) != short {
			t.Errorf("%s: %d short", name, player.Short)
		}
	}
}

func TestALimitWhoseIdentityTheLogCannotHoldIsLeftOut(t *testing.T) {
	p := parse(t, `{
		"identities": {"key": {"from": "header:x-api-key"}, "user": {"from": "metadata:a/b"}, "name": {"from": "body:name"}, "sid": {"from": "cookie:sid"},
			"claim": {"from": "jwt_unverified:sub"}, "q": {"from": "query:q"}, "agent": {"from": "header:user-agent"}, "who": {"from": "header:host"}},
		"routes": {
			"* /a": {"limits": [{"identity": "key", "limit": 1, "window": "1m"}, {"identity": "ip", "limit": 1, "window": "1m"}]},
			"* /b": {"limits": [{"identity": "key", "limit": 1, "window": "1m"}, {"identity": "ip+name", "limit": 1, "window": "1m"}]},
			"* /c": {"identity": "user|ip", "limit": 1, "window": "1m"},
			"* /d": {"limits": [{"identity": "sid", "limit": 1, "window": "1m"}, {"identity": "claim", "limit": 1, "window": "2m"}, {"identity": "q", "limit": 1, "window": "3m"},
				{"identity": "agent", "limit": 1, "window": "4m"}, {"identity": "all", "limit": 1, "window": "5m"}, {"identity": "who", "limit": 1, "window": "6m"}]}},
		"default": null}`)
	bare := &accesslog.Layout{HasClient: true, Sources: []string{"header:user-agent"}}
	nobody := &accesslog.Layout{}
	for name, c := range map[string]struct {
		layout   *accesslog.Layout
		fallback bool
		path     string
		outcome  Outcome
		played   []string
		leftOut  int
	}{
		"one of two":       {bare, false, "/a", Passed, []string{"ip"}, 1},
		"both":             {bare, false, "/b", LeftOut, nil, 2},
		"an alternative":   {bare, false, "/c", Passed, []string{"user|ip"}, 0},
		"played all same":  {bare, true, "/b", Passed, []string{"key", "ip+name"}, 0},
		"logged":           {full("header:x-api-key", "body:name"), false, "/b", Passed, []string{"key", "ip+name"}, 0},
		"of every kind":    {bare, false, "/d", Passed, []string{"q", "agent", "all"}, 3},
		"all kinds logged": {full("cookie:sid", "jwt_unverified:sub"), false, "/d", Passed, []string{"sid", "claim", "q", "all", "who"}, 1},
		"in other headers": {full("header:Cookie", "header:authorization", "header:User-Agent"), false, "/d", Passed, []string{"sid", "claim", "q", "agent", "all", "who"}, 0},
		"no address":       {nobody, false, "/a", LeftOut, nil, 2},
	} {
		e := entry(c.layout, 0, "GET", c.path)
		if !c.layout.HasClient {
			e.Client = ""
		}
		played := New(p, Settings{Fallback: c.fallback}).Play(e)
		var names []string
		for _, l := range p.Match("GET", "", c.path, &New(p, Settings{}).matched).Limits {
			for _, g := range played.Groups {
				for _, a := range g.Limits {
					if a.Limit == l {
						names = append(names, l.Name)
					}
				}
			}
		}
		if diff := cmp.Diff(c.played, names); diff != "" || played.Outcome != c.outcome || len(played.LeftOut) != c.leftOut {
			t.Errorf("%s: %v, %d left out (-want +got):\n%s", name, played.Outcome, len(played.LeftOut), diff)
		}
	}
	if diff := cmp.Diff([]string{"header:x-api-key", "client"}, Lacks(nobody, slices.Concat(p.Routes[0].Limits[0].Identity.Alternatives()...))); diff == "" {
		t.Error("a limit by key lacks no address")
	}
	if diff := cmp.Diff([]string{"client", "body:name"}, Lacks(nobody, slices.Concat(p.Routes[1].Limits[1].Identity.Alternatives()...))); diff != "" {
		t.Error(diff)
	}
}
