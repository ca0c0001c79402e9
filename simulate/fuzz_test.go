package simulate

import (
	"encoding/json"
	"strings"
	"testing"

	"routelimit/accesslog"
	"routelimit/replay"
)

// Whatever a log holds, the report adds up and can be written.
func FuzzRun(f *testing.F) {
	f.Add(line(1, "GET", "/a", "203.0.113.7:1", 200)+line(2, "POST", "/login", "203.0.113.7:1", 401)+line(90_000, "OPTIONS", "*", "", 0), "x")
	f.Add(`{"time":1796130000,"method":"GET","path":"/%zz/../\u0000?k=1&k=2","client_ip":"[::1%x]:99999","x_forwarded_for":",,a, ::ffff:1.2.3.4","user":"\ud800`+"\"}\n", "\x00\xff")
	f.Add(`203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"`+"\n", "")
	p := parse(f, `{"client": {"trusted_hops": 1}, "identities": {"user": {"from": "body:user", "fold": true, "secret": true}, "k": {"from": "query:k"}, "c": {"from": "jwt_unverified:a.b"}},
		"routes": {"* /a": {"limits": [{"identity": "ip+user", "limit": 1, "window": "1s", "algorithm": "sliding_log"}, {"identity": "k|c|ip", "limit": 2, "window": "1m", "algorithm": "token_bucket"}]}},
		"default": {"identity": "user|ip", "limit": 1, "window": "1m", "count": [200]}}`)
	f.Fuzz(func(t *testing.T, text, user string) {
		o := Options{Read: options(t, "body:user=.user", "jwt_unverified:a.b=.user"), Replay: replay.Settings{Fallback: true}, Top: 5}
		if !strings.HasPrefix(text, "{") {
			o.Read = options(t, "header:x=="+user)
		}
		report, err := Run(t.Context(), p, []accesslog.Input{{Name: user, Reader: strings.NewReader(text)}}, o)
		if err != nil {
			t.Fatal(err)
		}
		n := report.Outcomes
		if sum := n.Passed + n.Refused + n.Undeclared + n.Exempt + n.Unlimited + n.Preflight + n.LeftOut; sum != report.Requests {
			t.Errorf("%d requests, outcomes %+v", report.Requests, n)
		}
		for _, r := range report.Routes {
			for _, l := range r.Limits {
				if l.Asked != l.Passed+l.Refused+l.Withheld || l.Identities > l.Asked || l.IdentitiesRefused > l.Identities || l.Asked+l.LeftOut > r.Requests {
					t.Errorf("%s: %+v", r.Key, l)
				}
			}
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	})
}
