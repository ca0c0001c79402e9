package simulate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/replay"
)

// present is later than all times of the tests.
var present = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run plays a log of one text.
func run(t testing.TB, p *policy.Policy, text string, settings replay.Settings, fields ...string) *Report {
	t.Helper()
	report, err := Run(t.Context(), p, []accesslog.Input{{Name: "log", Reader: strings.NewReader(text)}},
		Options{Read: options(t, fields...), Replay: settings, Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func options(t testing.TB, fields ...string) accesslog.Options {
	t.Helper()
	o := accesslog.Options{Now: present}
	for _, text := range fields {
		f, err := accesslog.ParseField(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Fields = append(o.Fields, f)
	}
	return o
}

// line is a request so many seconds after midnight.
func line(second float64, method, path, client string, status int) string {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(second * float64(time.Second)))
	return fmt.Sprintf(`{"time":%q,"method":%q,"path":%q,"client_ip":%q,"status":%d}`+"\n", at.Format(time.RFC3339Nano), method, path, client, status)
}

func at(second int) time.Time { return time.Date(2026, 12, 1, 0, 0, second, 0, time.UTC) }

// Three in a minute by fixed windows. Checked by hand:
//
//	0:01 0:02 0:03  A A A   pass
//	0:04 0:05       A A     refused, 4th and 5th of the minute: A's peak is 5
//	0:06            B       passes
//	1:00            A       passes, the second minute
//	1:01 .. 1:04    C x 4   the last is refused: C's peak is 4
//	1:05 .. 1:08    D x 4   the last is refused: D's peak is 4
//	1:09            A       404 counts as well: A has 2 in this minute
//
// Refusals by minute: two, then two: the first is the worst. Of A, B, C, D three are
// refused. Peaks in order: 1, 4, 4, 5; 0.1%, 1% and 5% of four are nobody: 5.
func TestReportOfASmallLogIsTheOneMadeByHand(t *testing.T) {
	var log strings.Builder
	for i, client := range strings.Split("A A A A A B", " ") {
		log.WriteString(line(float64(1+i), "GET", "/a", address(client), 200))
	}
	for i, client := range strings.Split("A C C C C D D D D A", " ") {
		log.WriteString(line(float64(60+i), "GET", "/a?x", address(client), []int{200, 404}[i/9]))
	}
	log.WriteString(line(100, "GET", "/free", address("A"), 429))
	log.WriteString("not a line\n")
	p := parse(t, `{"routes": {"GET /a": {"name": "n", "identity": "ip", "limit": 3, "window": "1m", "algorithm": "fixed_window"}, "GET /free": {"limits": []}, "GET /unused": {"limits": []}}, "default": null}`)
	got := run(t, p, log.String(), replay.Settings{})
	want := &Report{
		Logs: []Log{{Name: "log", Format: "json", Lines: 18, Requests: 17, Unreadable: 1, Faults: []Fault{{18, "it is not one JSON object", "not a line"}}}},
		From: at(1), To: at(100), Requests: 17, Unreadable: 1, Outcomes: Outcomes{Passed: 12, Refused: 4, Unlimited: 1}, AlreadyRefused: 1,
		Notes: []string{
			"log: 1 of 18 lines cannot be read; they take no part.",
			"1 request had the answer 429 already, from whoever limited then. They count as requests and were played; what they would have been answered otherwise is unknown.",
		},
		Routes: []Route{
			{Key: "GET:/a", Template: "GET /a", Requests: 16, Outcomes: Outcomes{Passed: 12, Refused: 4}, Limits: []Limit{{
				Name: "n", Terms: "3 in 1m by fixed_window", Identity: "ip", Number: 3, Unit: "limit", Lacks: []string{},
				Asked: 16, Passed: 12, Refused: 4, Used: []Used{{"ip", 16, false}},
				Identities: 4, IdentitiesRefused: 3, OneIn: 1,
				Suggestions:  []Suggestion{{0.1, 5, false}, {1, 5, false}, {5, 5, false}},
				Distribution: []Bin{{1, 1, 1}, {2, 2, 0}, {3, 4, 2}, {5, 6, 1}},
				WorstMinute:  &Minute{at(0), 6, 2, 0},
				Top: []Refusals{
					{"ip:192.0.2.65", 2, at(4), at(5), false}, {"ip:192.0.2.67", 1, at(64), at(64), false}, {"ip:192.0.2.68", 1, at(68), at(68), false},
				},
			}}},
			{Key: "GET:/free", Template: "GET /free", Requests: 1, Outcomes: Outcomes{Unlimited: 1}, Limits: []Limit{}},
		},
	}
	ignored := cmp.Options{cmpopts.IgnoreFields(Report{}, "Timeline"), cmpopts.IgnoreUnexported(Route{}, Limit{})}
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	timeline := got.Timeline
	if timeline.Seconds != 1 || !timeline.Start.Equal(at(1)) || len(timeline.Routes) != 2 || len(timeline.Routes[1].Requests) != 100 ||
		timeline.Routes[0].Refused[3] != 1 || timeline.Routes[1].Requests[99] != 1 || timeline.Routes[1].Requests[0] != 0 {
		t.Errorf("timeline %+v", timeline)
	}
}

// address is 192.0.2. and the letter's number, with the port of a real connection.
func address(letter string) string { return fmt.Sprintf("192.0.2.%d:4000", letter[0]) }

func TestSecretsAreInNoReportButHashed(t *testing.T) {
	p := parse(t, `{"identities": {"key": {"from": "header:x-api-key", "secret": true}}, "default": {"identity": "key", "limit": 1, "window": "1m"}}`)
	text := strings.Repeat(`{"time":"2026-12-01T00:00:00Z","method":"GET","path":"/","key":"S3cr3t"}`+"\n", 3)
	report := run(t, p, text, replay.Settings{}, "header:x-api-key=.key")
	top := report.Routes[0].Limits[0].Top
	if len(top) != 1 || top[0].Identity != "key:"+hashOfSecret || strings.Contains(fmt.Sprintf("%+v", report), "S3cr3t") {
		t.Errorf("%+v", report)
	}
}

// hashOfSecret is how SHA-256 of S3cr3t begins.
const hashOfSecret = "1b7d649c80b47a61"

func TestNotesSayWhatIsToBeKnown(t *testing.T) {
	one := `{"time":"2026-12-01T00:00:00Z","method":"GET","path":"/","client_ip":"203.0.113.7"}` + "\n"
	for name, c := range map[string]struct {
		policy string
		text   string
		all    bool // fallback
		fields []string
		want   string
	}{
		"left out":       {`"identities": {"k": {"from": "header:k"}}, "default": {"name": "n", "identity": "k", "limit": 1, "window": "1m"}`, one, false, nil, `default, limit "n" was not played for 1 request: the log has no place for header:k. Name it with --field header:k=PLACE`},
		"fallback":       {`"identities": {"k": {"from": "header:k"}}, "default": {"name": "n", "identity": "k", "limit": 1, "window": "1m"}`, one, true, nil, "1 of 1 requests had nothing of k; the address stood in."},
		"alternatives":   {`"identities": {"k": {"from": "header:k"}}, "default": {"name": "n", "identity": "k|ip", "limit": 1, "window": "1m"}`, one, false, nil, "no place for header:k, so nobody has it here: 1 request counted by ip"},
		"sometimes":      {`"identities": {"k": {"from": "header:k"}}, "default": {"name": "n", "identity": "k", "limit": 1, "window": "1m"}`, one, false, []string{"header:k=.k"}, "1 of 1 requests had nothing of k; the address stood in."},
		"no address":     {`"default": {"identity": "ip", "limit": 1, "window": "1m"}`, strings.Replace(one, "203.0.113.7", "-", 1), false, nil, "1 request without a client address"},
		"hops":           {`"client": {"trusted_hops": 2}, "default": {"identity": "ip", "limit": 1, "window": "1m"}`, one, false, nil, "1 request with fewer entries in X-Forwarded-For than client.trusted_hops (2)"},
		"the last entry": {`"default": {"identity": "ip", "limit": 1, "window": "1m"}`, strings.Replace(one, "client_ip", "x_forwarded_for", 1), false, nil, "the last entry of X-Forwarded-For stands in"},
		"options":        {`"default": {"identity": "ip", "limit": 1, "window": "1m"}`, strings.Replace(one, "GET", "OPTIONS", 1), false, nil, "1 request with the method OPTIONS"},
		"hosts":          {`"routes": {"GET h.example/": {"limits": []}}, "default": null`, one, false, nil, "--field host==api.example.com"},
		"no query":       {`"identities": {"k": {"from": "query:k"}}, "default": {"identity": "k", "limit": 1, "window": "1m"}`, one, false, nil, "no path in the log has one"},
		"per route":      {`"default": {"identity": "ip", "limit": 1, "window": "1m", "per": "envoy_route"}`, one, false, nil, "all share one count"},
		"status":         {`"default": {"name": "n", "identity": "ip", "limit": 1, "window": "1m", "count": [401]}`, one, false, nil, "counts by status, and a log has none"},
		"exempt":         {`"routes": {"GET /": {"identity": "all", "limit": 1, "window": "1m", "exempt": ["10.0.0.0/8"]}}, "default": null`, strings.Replace(one, "client_ip", "x", 1), false, nil, "nobody was exempt there"},
		"a plan":         {`"default": {"name": "n", "identity": "ip", "limit": {"by": "header:plan", "values": {"gold": 5}, "default": 1}, "window": "1m"}`, one, false, nil, `default, limit "n" goes by header:plan, for which a log has no place`},
		"a cost":         {`"default": {"name": "n", "identity": "ip", "limit": 5, "window": "1m", "cost": "header:cost"}`, one, false, nil, "--field header:cost=PLACE"},
		"exempt callers": {`"identities": {"k": {"from": "header:k"}}, "routes": {"GET /": {"identity": "ip", "limit": 1, "window": "1m", "exempt": ["k:0123456789abcdef"]}}, "default": null`, one, false, nil, "GET:/ exempts callers by header:k"},
		"off":            {`"mode": "off", "default": {"identity": "ip", "limit": 1, "window": "1m"}`, one, false, nil, `mode is "off"`},
		"shadow":         {`"mode": "shadow", "default": {"identity": "ip", "limit": 1, "window": "1m"}`, one, false, nil, `mode is "shadow"`},
		"late":           {`"default": {"identity": "ip", "limit": 1, "window": "1m"}`, line(900, "GET", "/", "203.0.113.7", 200) + line(980, "GET", "/", "203.0.113.7", 200) + line(0, "GET", "/", "203.0.113.7", 200), false, nil, "log: 1 of 3 requests stand behind later ones, by up to 15m0s"},
		"an own error":   {`"default": {"identity": "ip", "limit": 1, "window": "1m"}`, "nothing", false, nil, "log was not read to its end"},
	} {
		report := run(t, parse(t, "{"+c.policy+"}"), c.text, replay.Settings{Fallback: c.all}, c.fields...)
		if all := strings.Join(report.Notes, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
	full := `{"time":"2026-12-01T00:00:00Z","method":"GET","path":"/?k=1","host":"h","status":200,"client_ip":"203.0.113.7","route_name":"r"}` + "\n"
	quiet := run(t, parse(t, `{"identities": {"k": {"from": "query:k"}}, "routes": {"GET h/": {"limits": []}}, "default": {"identity": "k|ip", "limit": 1, "window": "1m", "count": [401], "per": "envoy_route"}}`),
		full, replay.Settings{})
	if len(quiet.Notes) > 0 {
		t.Errorf("a log that has all: %q", quiet.Notes)
	}
}

func TestShadowsAreCountedAndRefuseNobody(t *testing.T) {
	p := parse(t, `{"default": {"identity": "ip", "limit": 1, "window": "1m", "shadow": true}}`)
	report := run(t, p, strings.Repeat(line(1, "GET", "/", "203.0.113.7", 200), 3), replay.Settings{})
	l := report.Routes[0].Limits[0]
	if report.Outcomes.Passed != 3 || l.Refused != 2 || l.Passed != 1 || !l.Shadow || l.IdentitiesRefused != 1 || l.IdentitiesSpared != 1 || !l.Top[0].Spared {
		t.Errorf("%+v", report)
	}
}

func TestALimitOfZeroAndNoRouteAreCounted(t *testing.T) {
	p := parse(t, `{"undeclared": "refuse", "routes": {"GET /shut": {"name": "n", "identity": "ip", "limit": 0, "window": "1m"}}}`)
	report := run(t, p, line(1, "GET", "/shut", "203.0.113.7", 200)+line(2, "GET", "/other", "203.0.113.7", 200), replay.Settings{})
	if len(report.Routes) != 2 || report.Routes[0].Limits[0].Refused != 1 || report.Routes[1].Key != NoRoute || report.Routes[1].Outcomes.Undeclared != 1 {
		t.Errorf("%+v", report.Routes)
	}
}

func TestPlansAndCostsAreTheCallersOwn(t *testing.T) {
	p := parse(t, `{"default": {"name": "n", "identity": "ip", "limit": {"by": "header:plan", "values": {"gold": 5, "none": 0}, "default": 2}, "window": "1m", "cost": "header:cost"}}`)
	var log strings.Builder
	for _, c := range [][3]string{{"A", "gold", "2"}, {"A", "gold", "2"}, {"A", "gold", "2"}, {"B", "", ""}, {"B", "", ""}, {"B", "", ""}, {"C", "none", ""}} {
		log.WriteString(strings.Replace(line(1, "GET", "/", address(c[0]), 200), "{", fmt.Sprintf(`{"plan":%q,"cost":%q,`, c[1], c[2]), 1))
	}
	report := run(t, p, log.String(), replay.Settings{}, "header:plan=.plan", "header:cost=.cost")
	l := report.Routes[0].Limits[0]
	want := []Refusals{{"ip:192.0.2.65", 1, at(1), at(1), false}, {"ip:192.0.2.66", 1, at(1), at(1), false}, {"ip:192.0.2.67", 1, at(1), at(1), false}}
	if diff := cmp.Diff(want, l.Top); diff != "" || l.Passed != 4 || l.Refused != 3 || l.IdentitiesRefused != 3 || l.Suggestions[0].Number != 6 || l.Terms != "2 in 1m by sliding_window, by header:plan gold 5 none 0" {
		t.Errorf("%+v (-want +got):\n%s", l, diff)
	}
}

func TestALimitThatIsNotEnforcedForAllSparesSome(t *testing.T) {
	p := parse(t, `{"default": {"name": "n", "identity": "ip", "limit": 1, "window": "1m", "enforce_percent": 50}}`)
	var log strings.Builder
	for i := range 200 {
		who := fmt.Sprintf("192.0.2.%d:1", i/2)
		log.WriteString(line(1, "GET", "/", who, 200))
	}
	report := run(t, p, log.String(), replay.Settings{})
	l := report.Routes[0].Limits[0]
	if l.Refused != 100 || l.Spared < 30 || l.Spared > 70 || report.Outcomes.Refused != l.Refused-l.Spared || l.IdentitiesRefused != 100 || l.IdentitiesSpared != l.Spared || l.WorstMinute.Spared != l.Spared || !strings.HasSuffix(l.Terms, ", for 50% of callers") {
		t.Errorf("%+v, %+v", report.Outcomes, l)
	}
}
