package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"routelimit/policy"
	"routelimit/servers"
)

const (
	passed  = "routelimit_requests_total.route=.POST:/login;.limit=.pair;.outcome=.passed;."
	refused = "routelimit_requests_total.route=.POST:/login;.limit=.pair;.outcome=.refused;."
	open    = "routelimit_requests_total.route=.POST:/login;.limit=.;.outcome=.open;."
	other   = "routelimit_requests_total.route=.POST:/login;.limit=.address;.outcome=.passed;."
	shadow  = "routelimit_requests_total.route=.POST:/login;.limit=.address;.outcome=.shadow_refused;."
)

func TestNamesOfMetricsAreTakenApart(t *testing.T) {
	for name, want := range map[string]labelled{
		passed:                        {"routelimit_requests_total", map[string]string{"route": "POST:/login", "limit": "pair", "outcome": "passed"}},
		strings.TrimSuffix(open, "."): {"routelimit_requests_total", map[string]string{"route": "POST:/login", "limit": "", "outcome": "open"}},
		"routelimit_routes":           {name: "routelimit_routes"},
		"routelimit_failures_total.kind=.a.b=.c;.": {"routelimit_failures_total", map[string]string{"kind": "a.b=.c"}},
		"=.": {name: "=."}, "": {}, ".=.;;.": {"", map[string]string{"": ""}},
	} {
		if diff := cmp.Diff(want, cut(name), cmp.AllowUnexported(labelled{})); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

// Every limit counts a request that passes, so that the most counted one tells how many there were.
func TestRequestsOfARouteAreAddedUp(t *testing.T) {
	free := strings.Replace(open, "outcome=.open", "outcome=.unlimited", 1)
	r := &Reading{Values: map[string]uint64{passed: 10, refused: 4, open: 2, other: 7, shadow: 3, free: 5, "routelimit_routes": 9}}
	got := byRoute(r)["POST:/login"]
	want := Outcomes{Passed: 10, Refused: 4, ShadowRefused: 3, Open: 2, Unlimited: 5}
	if diff := cmp.Diff(want, got.Outcomes); diff != "" || got.all() != 21 || got.turnedAway() != 4 {
		t.Errorf("%s, %d requests, %d turned away", diff, got.all(), got.turnedAway())
	}
	if diff := cmp.Diff(map[string]Outcomes{"pair": {Passed: 10, Refused: 4}, "address": {Passed: 7, ShadowRefused: 3}, "": {Open: 2, Unlimited: 5}}, got.limits); diff != "" {
		t.Error(diff)
	}
}

func TestQuantilesAreOfWhatCameSince(t *testing.T) {
	buckets := func(counts ...uint64) (list []servers.Bucket) {
		for i, n := range counts {
			list = append(list, servers.Bucket{UpTo: []float64{100, 1000, math.Inf(1)}[i], Count: n})
		}
		return list
	}
	for name, c := range map[string]struct {
		before, after []servers.Bucket
		p50, p99      float64
		n             uint64
	}{
		"nothing yet":       {nil, nil, 0, 0, 0},
		"since the start":   {nil, buckets(60, 100, 100), 100, 1000, 100},
		"since the last":    {buckets(60, 100, 100), buckets(60, 110, 110), 1000, 1000, 10},
		"nothing since":     {buckets(60, 100, 100), buckets(60, 100, 100), 0, 0, 0},
		"above all bounds":  {nil, buckets(0, 0, 5), 1000, 1000, 5},
		"Envoy began anew":  {buckets(60, 100, 100), buckets(1, 1, 1), 100, 100, 1},
		"other buckets now": {buckets(60, 100), buckets(1, 2, 2), 100, 1000, 2},
	} {
		if p50, p99, n := quantiles(c.before, c.after); p50 != c.p50 || p99 != c.p99 || n != c.n {
			t.Errorf("%s: %v, %v, %d", name, p50, p99, n)
		}
	}
}

// source gives readings one after the other.
type source struct {
	readings []*Reading
	at       int
}

func (s *source) Read(context.Context) (*Reading, error) {
	if s.at == len(s.readings) {
		return nil, errors.New("it is gone")
	}
	s.at++
	return s.readings[s.at-1], nil
}

func values(pairs ...any) *Reading {
	r := &Reading{Values: map[string]uint64{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Values[pairs[i].(string)] = uint64(pairs[i+1].(int))
	}
	return r
}

func TestSamplesAreWhatHappenedBetweenReadings(t *testing.T) {
	s := &sampler{source: &source{readings: []*Reading{values(passed, 100), values(passed, 103, refused, 2), values(passed, 103, refused, 2), values(passed, 1)}}}
	for range 5 {
		s.read(t.Context())
	}
	want := []map[string]point{{"POST:/login": {5, 2}}, {}, {"POST:/login": {1, 0}}}
	var got []map[string]point
	for _, one := range s.samples {
		got = append(got, one.routes)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(point{})); diff != "" || !strings.Contains(s.problem, "it is gone") {
		t.Errorf("%s, problem %q", diff, s.problem)
	}
	for range kept + 10 {
		s.keep(sample{})
	}
	if len(s.samples) != kept {
		t.Errorf("%d samples are kept", len(s.samples))
	}
}

// While requests go by on_error, or questions fail, the page says so; a little later it does not.
func TestThePageSaysThatRedisDoesNotDecide(t *testing.T) {
	const failure = "routelimit_failures_total.kind=.upstream_failure;."
	local := strings.Replace(open, "outcome=.open", "outcome=.local_refused", 1)
	strange := strings.NewReplacer("POST:/login", "unreadable", "outcome=.open", "outcome=.unavailable").Replace(open)
	for name, c := range map[string]struct {
		before, after *Reading
		want          string
	}{
		"all is decided":      {values(passed, 1, open, 5, failure, 7), values(passed, 9, refused, 2, open, 5, failure, 7), ""},
		"requests pass":       {values(open, 5), values(open, 8), "In the last 5s 3 requests did, and 0 questions"},
		"workers decide":      {values(), values(local, 2), "In the last 5s 2 requests did, and 0 questions"},
		"questions fail":      {values(passed, 1), values(passed, 2, failure, 4), "In the last 5s 0 requests did, and 4 questions"},
		"limits are unread":   {values(), values(strange, 4), ""},
		"counters begin anew": {values(open, 5, failure, 5), values(open, 1, failure, 1), "In the last 5s 1 requests did, and 1 questions"},
	} {
		readings := []*Reading{c.before, c.after}
		for range recent {
			readings = append(readings, c.after)
		}
		page := &Page{options: Options{Policy: &policy.Policy{}}, sampler: &sampler{source: &source{readings: readings}}, tail: &tail{}}
		for i := range readings {
			page.sampler.read(t.Context())
			got := page.state(time.Unix(0, 0)).Trouble
			if told := i >= 1 && i <= recent && c.want != ""; told != (got != "") || told && (!strings.HasPrefix(got, "Redis does not decide: routes go by their on_error.") || !strings.Contains(got, c.want)) {
				t.Errorf("%s, after reading %d: %q", name, i, got)
			}
		}
	}
}

func TestLeasesAreShownBesideWhatPassed(t *testing.T) {
	const taken, spent = "routelimit_leases_total.outcome=.taken;.", "routelimit_leased_requests_total.outcome=.spent;."
	second := strings.Replace(passed, "/login", "/other", 1)
	page := &Page{options: Options{Policy: &policy.Policy{}}, tail: &tail{}, sampler: &sampler{source: &source{readings: []*Reading{values(
		passed, 60, other, 60, refused, 9, second, 40, taken, 7, strings.Replace(taken, "taken", "refused", 1), 2, strings.Replace(taken, "taken", "failed", 1), 1,
		spent, 85, strings.Replace(spent, "spent", "taken", 1), 99,
	)}}}}
	page.sampler.read(t.Context())
	want := Leases{Taken: 7, Refused: 2, Failed: 1, Spent: 85, Passed: 100}
	if diff := cmp.Diff(want, page.state(time.Unix(0, 0)).Link.Leases); diff != "" {
		t.Error(diff)
	}
}

const refusalLine = `[2026-12-01 16:42:38.955][21748][info][wasm] [source/extensions/common/wasm/context.cc:1151] wasm log routelimit routelimit: {"event":"rate_limited","route":"POST:/login","limit":"pair","key":"ip+username","quota":10,"window":"5m","identity":"ip:192.0.2.2","left_out":3}`

func TestRefusalsAreReadFromTheLog(t *testing.T) {
	if got, ok := parseRefusal(refusalLine); !ok || got != (Refusal{Time: "16:42:38", Route: "POST:/login", Limit: "pair", Key: "ip+username", Quota: 10, Window: "5m", Identity: "ip:192.0.2.2", LeftOut: 3}) {
		t.Errorf("%v, %+v", ok, got)
	}
	standalone := `[2026-12-01 16:56:08.992][info][wasm] wasm log: {"event":"rate_limited","route":"` + strings.Repeat("é", 400) + `","shadow":true}`
	if got, ok := parseRefusal(standalone); !ok || !got.Shadow || got.Time != "16:56:08" || got.Route != strings.Repeat("é", mostText/2)+"…" {
		t.Errorf("%v, %+v", ok, got)
	}
	for _, line := range []string{
		"", "[", `{"event":"rate_limited","route":"forged"}`, // as an access log in a caller's words
		`[x][info][http] said: {"event":"rate_limited","route":"forged"}`,
		`203.0.113.7 [wasm] {"event":"rate_limited","route":"forged"}`,
		`[2026-12-01 16:42:38.955][1][info][wasm] wasm log: {"event":"rate_limited","quota":"many"}`,
		`[2026-12-01 16:42:38.955][1][info][wasm] wasm log: {"event":"rate_limited",`,
	} {
		if got, ok := parseRefusal(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestTheLogIsFollowedWithinBounds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	l := &tail{name: name}
	l.read() // there is none yet
	write := func(text string) {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		io.WriteString(file, text)
	}
	write(refusalLine[:50])
	l.read()
	write(refusalLine[50:] + "\nsomething else\n")
	l.read()
	l.read()
	if n := len(l.refusals()); n != 1 {
		t.Errorf("%d refusals of one", n)
	}
	for i := range 3000 {
		write(strings.Replace(refusalLine, `"quota":10`, fmt.Sprintf(`"quota":%d`, i), 1) + "\n")
	}
	l.read()
	if list := l.refusals(); len(list) != keptRefusals || list[0].Quota != 2999 || list[1].Quota != 2998 {
		t.Errorf("%d refusals, %+v", len(list), list[0])
	}
	// A line whose beginning was left out may be a caller's words.
	write(strings.Repeat("x", mostAtOnce-len(refusalLine)-5) + refusalLine + "\n" + strings.Repeat("y", 10))
	if l.read(); l.refusals()[0].Quota != 2999 {
		t.Errorf("%+v", l.refusals()[0])
	}
	os.Truncate(name, 0)
	write(refusalLine + "\n")
	if l.read(); l.refusals()[0].Quota != 10 {
		t.Errorf("after the log began anew: %+v", l.refusals()[0])
	}
}

// Lines that say the same are one, at the place of the newest, however often one caller is refused.
func TestEqualRefusalsAreShownOnceWithTheirNumber(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	later := strings.NewReplacer("16:42:38", "16:42:40", `"left_out":3`, `"left_out":4`).Replace(refusalLine)
	shadowed := strings.Replace(refusalLine, `"left_out"`, `"shadow":true,"lines":7,"left_out"`, 1)
	text := refusalLine + "\n" + shadowed + "\n" + strings.Replace(refusalLine, "192.0.2.2", "192.0.2.3", 1) + "\n" + strings.Repeat(later+"\n", 60)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &tail{name: name}
	l.read()
	var got []string
	for _, r := range l.refusals() {
		got = append(got, fmt.Sprintf("%s %s %v: %d, %d left out", r.Time, r.Identity, r.Shadow, r.Lines, r.LeftOut))
	}
	want := []string{"16:42:40 ip:192.0.2.2 false: 61, 243 left out", "16:42:38 ip:192.0.2.3 false: 1, 3 left out", "16:42:38 ip:192.0.2.2 true: 1, 3 left out"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add(refusalLine)
	f.Add(`[a][wasm]{"event":"rate_limited",}`)
	f.Fuzz(func(t *testing.T, line string) {
		if r, ok := parseRefusal(line); ok && len(r.Identity) > mostText+len("…") {
			t.Errorf("%d bytes", len(r.Identity))
		}
	})
}

func TestThePageAnswersThisMachineAlone(t *testing.T) {
	p, err := policy.Parse([]byte(`{"routes": {"GET /a": {"identity": "ip", "limit": 3, "window": "1m"}}, "default": null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := Start(t.Context(), Options{Source: &source{readings: []*Reading{values(passed, 1)}}, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Stop()
	if !strings.HasPrefix(page.URL(), "http://127.0.0.1:") {
		t.Errorf("it is at %s", page.URL())
	}
	ask := func(method, path, host string) (*http.Response, string) {
		request, err := http.NewRequest(method, strings.TrimSuffix(page.URL(), "/")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response, string(body)
	}
	for _, c := range []struct {
		method, path, host string
		status             int
		holds              string
	}{
		{"GET", "/", "localhost:1", 200, "<!doctype html>"}, {"GET", "/page.js", "127.0.0.1:1", 200, "'use strict'"},
		{"GET", "/page.css", "[::1]:1", 200, "prefers-color-scheme: dark"}, {"GET", "/state", "localhost", 200, `"GET:/a"`},
		{"GET", "/", "attacker.example", 403, "this machine alone"}, {"GET", "/state", "attacker.example:80", 403, "this machine alone"},
		{"GET", "/state", "localhost.attacker.example", 403, ""}, {"GET", "/state", "192.0.2.1", 403, ""},
		{"POST", "/state", "localhost", 405, "only be read"}, {"GET", "/page.go", "localhost", 404, ""}, {"GET", "/../page.go", "localhost", 404, ""},
	} {
		response, body := ask(c.method, c.path, c.host)
		if response.StatusCode != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s %s of %s: %d, %q", c.method, c.path, c.host, response.StatusCode, body)
		}
		for name, value := range map[string]string{
			"content-security-policy": "default-src 'none'; script-src 'self'", "x-content-type-options": "nosniff",
			"x-frame-options": "DENY", "cross-origin-resource-policy": "same-origin", "cache-control": "no-store",
		} {
			if !strings.HasPrefix(response.Header.Get(name), value) {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, response.Header.Get(name))
			}
		}
	}
	_, body := ask("GET", "/state", "localhost")
	var state State
	if err := json.Unmarshal([]byte(body), &state); err != nil || state.Warnings == nil || state.Facts == nil || state.Refusals == nil || state.Callers != nil {
		t.Errorf("%v: %s", err, body)
	}
	page.Stop()
	if _, err := http.Get(page.URL()); err == nil {
		t.Error("it answers after its end")
	}
}

func TestARouteThatIsBusyStandsFirstAndQuietOnesAreCounted(t *testing.T) {
	routes := []string{}
	for i := range maxShown + 20 {
		routes = append(routes, fmt.Sprintf(`"GET /r%d": {"identity": "ip", "limit": 3, "window": "1m"}`, i))
	}
	p, err := policy.Parse([]byte(`{"routes": {`+strings.Join(routes, ",")+`}, "default": null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	page := &Page{options: Options{Policy: p}, sampler: &sampler{source: &source{readings: []*Reading{
		values(), values("routelimit_requests_total.route=.GET:/r60;.limit=.ip;.outcome=.passed;.", 7, passed, 3),
	}}}, tail: &tail{}}
	page.sampler.read(t.Context())
	page.sampler.read(t.Context())
	s := page.state(time.Unix(0, 0))
	if len(s.Routes) != maxShown || s.LeftOut != 21 || s.Routes[0].Key != "GET:/r60" || s.Routes[0].Over[0] != 7 || s.Routes[1].Declared {
		t.Errorf("%d routes, %d left out, first %+v, then %+v", len(s.Routes), s.LeftOut, s.Routes[0], s.Routes[1])
	}
}

// Redis is asked only while somebody looks, and what goes wrong is shown.
func TestKeysAreReadWhileSomebodyLooks(t *testing.T) {
	p, err := policy.Parse([]byte(`{"default": {"identity": "ip", "limit": 9, "window": "1m"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 100)
	client := redis.NewClient(&redis.Options{MaxRetries: -1, DialerRetries: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		asked <- struct{}{}
		return nil, errors.New("no such <Redis>")
	}})
	defer client.Close()
	c := newCallers(client, p)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.run(ctx); close(ended) }()
	select {
	case <-asked:
		t.Error("Redis was asked for nobody")
	case <-time.After(50 * time.Millisecond):
	}
	if got := c.look(time.Now()); got != nil {
		t.Errorf("%+v before the first round", got)
	}
	<-asked
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got := c.look(time.Now()); got != nil {
			if !strings.Contains(got.Problem, "no such <Redis>") || got.Used == nil || got.Refused == nil {
				t.Errorf("%+v", got)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("no round ended")
		}
	}
	cancel()
	<-ended
}
