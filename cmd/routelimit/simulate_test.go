package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/simulate"
)

const (
	exampleLog    = "../../docs/examples/access.log"
	examplePolicy = "../../docs/examples/policy.json"
	exampleNext   = "../../docs/examples/policy.next.json"
	onePerMinute  = `{"default": {"identity": "ip", "limit": 1, "window": "1m"}}`
	twoRequests   = `{"time":"2026-11-30T00:00:00Z","method":"GET","path":"/","client_ip":"203.0.113.7","status":200}` + "\n" +
		`{"time":"2026-11-30T00:00:01Z","method":"GET","path":"/","client_ip":"203.0.113.7","status":200}` + "\n"
)

// simulated is the report of one call.
func simulated(t *testing.T, stdin string, args ...string) (int, *simulate.Report) {
	t.Helper()
	code, out, stderr := callWith(t.Context(), stdin, append([]string{"simulate", "--output", "json"}, args...)...)
	report := new(simulate.Report)
	if err := json.Unmarshal([]byte(out), report); err != nil {
		t.Fatalf("%v: %v\nstdout %q, stderr %q", args, err, out, stderr)
	}
	return code, report
}

func TestSimulateReadsFilesArgumentsAndStandardInput(t *testing.T) {
	policy := write(t, "policy.json", onePerMinute)
	plain := write(t, "access.log", twoRequests)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(twoRequests))
	w.Close()
	zipped := write(t, "access.log.gz", b.String())
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  int64
	}{
		"a file":         {"", []string{"--log", plain}, 1},
		"two":            {"", []string{"--log", plain, "--log", zipped}, 3},
		"arguments":      {"", []string{"--log", plain, zipped, plain}, 5},
		"standard input": {twoRequests, []string{"--log", "-"}, 1},
		"all together":   {twoRequests, []string{"-", zipped}, 3},
	} {
		code, report := simulated(t, c.stdin, append([]string{"--policy", policy}, c.args...)...)
		if code != exitOK || report.Outcomes.Refused != c.want {
			t.Errorf("%s: code %d, %+v", name, code, report.Outcomes)
		}
	}
}

// What Envoy makes of a request that arrives is taken from its configuration.
func TestSimulateTakesTheEnvoyThatThePolicyIsFor(t *testing.T) {
	edge, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	inner := shippedWith(t, "use_remote_address: true", "use_remote_address: false")
	log := `203.0.113.7 - - [30/Nov/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-" "198.51.100.9"` + "\n"
	for name, c := range map[string]struct{ config, want string }{
		"at the edge, the peer is the last entry": {string(edge), "ip:203.0.113.7"},
		"behind a proxy, nothing is appended":     {inner, "ip:198.51.100.9"},
	} {
		config := strings.Replace(c.config, `"default": { "identity": "user_id|ip", "limit": 120,`, `"default": { "identity": "user_id|ip", "limit": 1,`, 1)
		_, report := simulated(t, "", "--policy", write(t, "envoy.yaml", config), "--field", "forwarded_for=10", "--log", write(t, "a.log", log+log))
		if len(report.Routes) != 1 || report.Routes[0].Limits[0].Top[0].Identity != c.want {
			t.Errorf("%s: %+v", name, report.Routes)
		}
	}
}

// The log is what an Envoy 1.40.0 with the shipped configuration wrote, its own log
// lines between: 14 logins, of which routelimit refused 4, 3 wrong tokens, a path with
// an encoded slash and 3 searches.
func TestSimulateReadsTheLogOfTheShippedEnvoy(t *testing.T) {
	log, err := os.ReadFile("../../accesslog/testdata/envoy-1.40.0-shipped.log")
	if err != nil {
		t.Fatal(err)
	}
	whole := string(log)
	var alone strings.Builder
	for line := range strings.Lines(whole) {
		if strings.HasPrefix(line, "{") {
			alone.WriteString(line)
		}
	}
	for name, c := range map[string]struct {
		log        string
		unreadable int64
	}{"the access log": {alone.String(), 0}, "and Envoy's lines": {whole, int64(strings.Count(whole, "\n")) - 21}} {
		code, report := simulated(t, c.log, "--policy", shipped, "--log", "-")
		if l := report.Logs[0]; code != exitOK || l.Format != "json" || l.Requests != 21 || l.Unreadable != c.unreadable {
			t.Errorf("%s: code %d, %+v", name, code, l)
		}
		if report.Requests != 17 || report.AnsweredBefore != 4 || report.AlreadyRefused != 4 || report.Partly != 17 || report.Outcomes.Passed != 17 {
			t.Errorf("%s: %+v", name, report)
		}
		if l := report.Routes[0].Limits[2]; l.Name != "address" || l.Identities != 1 || l.Asked != 14 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestSimulatePlaysTheRoutesThatEnvoyCarries(t *testing.T) {
	text := shippedWith(t, "                match: {prefix: /}\n                route: {cluster: upstream, timeout: 15s}",
		"                match: {prefix: /}\n                route: {cluster: upstream, timeout: 15s}\n"+
			"                metadata: {filter_metadata: {routelimit: {route: GET /special/:id, identity: ip, limit: 1, window: 1m}}}")
	policy := write(t, "envoy.yaml", text)
	log := strings.ReplaceAll(twoRequests, `"path":"/"`, `"path":"/special/1","route_name":"upstream"`)
	_, report := simulated(t, log, "--policy", policy, "--log", "-")
	if len(report.Routes) != 1 || report.Routes[0].Template != "GET /special/:id" || report.Outcomes.Refused != 1 {
		t.Errorf("%+v", report.Routes)
	}
	_, report = simulated(t, twoRequests, "--policy", policy, "--log", "-")
	if all := strings.Join(report.Notes, "\n"); !strings.Contains(all, "--field property:xds.route_name=PLACE") {
		t.Errorf("notes %q", all)
	}
}

func TestSimulateExitsOneWhereTheLogIsNotWhole(t *testing.T) {
	policy := write(t, "policy.json", onePerMinute)
	for name, c := range map[string]struct{ log, want string }{
		"no format":     {"hello\n", "--format"},
		"no request":    {`{"time":"x","method":"GET","path":"/"}` + "\n", "no request could be read"},
		"gzip, cut off": {"\x1f\x8b\x08", "unexpected EOF"},
		"an empty one":  {"", "it is empty"},
	} {
		code, out, stderr := callWith(t.Context(), c.log, "simulate", "--policy", policy, "--log", "-")
		if code != exitFindings || !strings.Contains(stderr, c.want) || !strings.Contains(out, "standard input") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
	code, _, stderr := callWith(t.Context(), twoRequests, "simulate", "--policy", write(t, "bad.json", `{"mod": 1}`), "--log", "-")
	if code != exitFindings || !strings.Contains(stderr, "routelimit lint") {
		t.Errorf("a wrong policy: code %d, stderr %q", code, stderr)
	}
}

func TestSimulateAndDiffThatCannotBeReadExitTwo(t *testing.T) {
	policy := write(t, "policy.json", onePerMinute)
	log := write(t, "access.log", twoRequests)
	for name, args := range map[string][]string{
		"no log":            {"simulate", "--policy", policy},
		"a log not there":   {"simulate", "--policy", policy, "--log", log + ".none"},
		"a folder":          {"simulate", "--policy", policy, "--log", filepath.Dir(log)},
		"no policy":         {"simulate", "--policy", policy + ".none", "--log", log},
		"twice from input":  {"simulate", "--policy", "-", "--log", "-"},
		"an output":         {"simulate", "--policy", policy, "--log", log, "--output", "xml"},
		"a format":          {"simulate", "--policy", policy, "--log", log, "--format", "iis"},
		"a field":           {"simulate", "--policy", policy, "--log", log, "--field", "methd=.m"},
		"a source":          {"simulate", "--policy", policy, "--log", log, "--field", "path:id=.m"},
		"a word of missing": {"simulate", "--policy", policy, "--log", log, "--missing", "maybe"},
		"a forwarded-for":   {"simulate", "--policy", policy, "--log", log, "--forwarded-for", "no"},
		"a number":          {"simulate", "--policy", policy, "--log", log, "--top", "-1"},
		"a page":            {"simulate", "--policy", policy, "--log", log, "--html", filepath.Dir(log)},
		"diff without old":  {"diff", "--new", policy, "--log", log},
		"diff to CSV":       {"diff", "--old", policy, "--new", policy, "--log", log, "--output", "csv"},
		"diff of no log":    {"diff", "--old", policy, "--new", policy},
		"diff of one input": {"diff", "--old", "-", "--new", "-", "--log", log},
		"diff, no new":      {"diff", "--old", policy, "--new", policy + ".none", "--log", log},
	} {
		code, out, stderr := call(t, args...)
		if code != exitUsage || out != "" || !strings.HasPrefix(stderr, "routelimit: ") || !strings.Contains(stderr, "; ") && !strings.Contains(stderr, "--help") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
}

func TestDiffExitsOneWhereSomethingIsLost(t *testing.T) {
	strict, lax := write(t, "strict.json", onePerMinute), write(t, "lax.json", `{"default": {"identity": "ip", "limit": 2, "window": "1m"}}`)
	for name, c := range map[string]struct {
		old, new string
		code     int
		want     string
	}{
		"stricter":  {lax, strict, exitFindings, "lose 1 identity"},
		"laxer":     {strict, lax, exitOK, "gain 1 identity"},
		"as strict": {strict, strict, exitOK, "nothing that decides who is refused"},
	} {
		code, out, stderr := callWith(t.Context(), twoRequests, "diff", "--old", c.old, "--new", c.new, "--log", "-")
		if code != c.code || !strings.Contains(out, c.want) || stderr != "" {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
	code, out, _ := call(t, "diff", "--old", examplePolicy, "--new", exampleNext, "--log", exampleLog, "--output", "json")
	c := new(simulate.Comparison)
	if err := json.Unmarshal([]byte(out), c); err != nil || code != exitFindings || c.Flow.Lost != 15 || c.Flow.Gained != 30 || len(c.Changes) != 3 {
		t.Errorf("code %d, %v, %+v", code, err, c)
	}
}

func TestDiffSaysEverybodyWhereNoIdentityIsKnown(t *testing.T) {
	open := write(t, "open.json", `{"default": null}`)
	shut := write(t, "shut.json", `{"undeclared": "refuse"}`)
	both := write(t, "both.json", `{"routes": {"GET /": {"identity": "ip", "limit": 1, "window": "1m"}}, "undeclared": "refuse"}`)
	other := strings.ReplaceAll(twoRequests, `"path":"/"`, `"path":"/other"`)
	for name, c := range map[string]struct{ new, log, want, row string }{
		"everybody":         {shut, twoRequests, "lose everybody, of whom 2 requests pass the old policy and not the new", "  everybody  no route  undeclared  2 requests"},
		"some and all":      {both, twoRequests + other, "lose 1 identity and everybody (2 requests), whose requests pass the old policy and not the new", "  everybody "},
		"only who is known": {both, twoRequests, "lose 1 identity, whose requests pass the old policy and not the new", "  ip:203.0.113.7 "},
	} {
		_, out, _ := callWith(t.Context(), c.log, "diff", "--old", open, "--new", c.new, "--log", "-")
		if !strings.Contains(out, c.want) || !strings.Contains(out, c.row) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// What is spared is not called refused, and text and JSON say how many were not
// asked about every limit.
func TestTextTellsApartWhatIsRefusedAndWhatWouldBe(t *testing.T) {
	const limit = `{"name": "n", "identity": "ip", "limit": 1, "window": "1m"`
	for name, c := range map[string]struct {
		limits string
		want   []string
	}{
		"not enforced": {limit + `, "enforce_percent": 0}`, []string{
			"of which 0 (0.0%) are refused at least once, and 1 (100.0%) would be if it were enforced for all",
			"1 of 2 requests refused (1 of them let through", "00:00:01, let through"}},
		"a shadow": {limit + `, "shadow": true}`, []string{
			"of which 1 (100.0%) would be refused at least once", "1 of 2 requests would be refused\n", "  would be refused most\n"}},
		"enforced": {limit + `}`, []string{"of which 1 (100.0%) are refused at least once\n", "1 of 2 requests refused\n", "  most refused\n", "00:00:01\n"}},
		"a part": {limit + `}, {"name": "k", "identity": "k", "limit": 1, "window": "1m"}`, []string{
			"not played  partly played\ndefault         2       1        1   50.0%            0           0              2\n", "not played, for 2 requests"}},
	} {
		policy := write(t, "policy.json", `{"identities": {"k": {"from": "header:k"}}, "default": {"limits": [`+c.limits+`]}}`)
		_, out, _ := callWith(t.Context(), twoRequests, "simulate", "--policy", policy, "--log", "-")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it lacks %q:\n%s", name, want, out)
			}
		}
	}
}

// The number of 5m windows, rows and columns agree, and no caller is in the table.
func TestCSVHasARowForEachRouteAndLimit(t *testing.T) {
	_, out, _ := call(t, "simulate", "--policy", examplePolicy, "--log", exampleLog, "--output", "csv", "--missing", "fallback")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1+6+6 || strings.Contains(out, "203.0.113") {
		t.Fatalf("%v, %d rows\n%s", err, len(rows), out)
	}
	_, report := simulated(t, "", "--policy", examplePolicy, "--log", exampleLog, "--missing", "fallback")
	want := []string{"POST:/login", "failed", "ip", "20 in 5m by sliding_window", "false", "170", "30", "0", "0", "140", "17", "0", "", "21", "0", "0", "20", "150", "150", "1", "", ""}
	if diff := cmp.Diff(want, rows[3]); diff != "" || report.Routes[0].Limits[1].Withheld != 140 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePageIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.html")
	if code, _, stderr := call(t, "simulate", "--policy", examplePolicy, "--log", exampleLog, "--html", name); code != exitOK {
		t.Fatal(stderr)
	}
	if text, err := os.ReadFile(name); err != nil || !strings.HasSuffix(string(text), "</html>\n") {
		t.Errorf("%v, %d bytes", err, len(text))
	}
}

func TestNothingInALogIsObeyedByTheTerminal(t *testing.T) {
	policy := write(t, "policy.json", `{"identities": {"k": {"from": "header:k"}}, "default": {"identity": "k", "limit": 1, "window": "1m"}}`)
	log := strings.ReplaceAll(twoRequests, `"status":200`, `"k":"\u001b[2J\u0007é<b>"`) + "\x1b[31m\n"
	_, out, _ := callWith(t.Context(), log, "simulate", "--policy", policy, "--log", "-", "--field", "header:k=.k")
	if strings.ContainsAny(out, "\x1b\x07") || !strings.Contains(out, "k:%1B%5B2J%07") || !strings.Contains(out, `\x1b[31m`) {
		t.Errorf("stdout %q", out)
	}
}

func TestColourIsForTerminalsAlone(t *testing.T) {
	if isTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(file) {
		t.Error("a file is no terminal")
	}
	device, err := os.OpenFile("/dev/null", os.O_WRONLY, 0) // a device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for _, c := range []struct {
		term, noColor string
		want          bool
	}{{"xterm", "", true}, {"xterm", "1", false}, {"dumb", "", false}} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		if got := paintFor(device); bool(got) != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	if got := paint(true).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := paint(false).red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestBarSaysHowFarReadingIs(t *testing.T) {
	for want, n := range map[string][2]int64{
		"reading [###############...............]  50%  12.0 of 24.0 MB": {12e6, 24e6},
		"reading [##############################] 100%  24.0 of 24.0 MB": {25e6, 24e6},
		"reading [..............................]   0%  0.0 of 24.0 MB":  {0, 24e6},
		"reading 12.5 MB": {12_500_000, 0},
	} {
		if got := bar(n[0], n[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBigNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
