package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/accesslog"
	"routelimit/replay"
)

// runAll plays several logs, "1", "2", ….
func runAll(t *testing.T, policy string, fields []string, texts ...string) *Report {
	t.Helper()
	var logs []accesslog.Input
	for i, text := range texts {
		logs = append(logs, accesslog.Input{Name: string(rune('1' + i)), Reader: strings.NewReader(text)})
	}
	report, err := Run(t.Context(), parse(t, policy), logs, Options{Read: options(t, fields...), Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const (
	byUser       = `{"identities": {"u": {"from": "body:username"}}, "default": {"name": "n", "identity": "u", "limit": 5, "window": "1m"}}`
	combinedLine = `203.0.113.7 - - [01/Dec/2026:00:00:02 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"` + "\n"
	userLine     = `{"time":"2026-12-01T00:00:00Z","method":"GET","path":"/","client_ip":"203.0.113.7","status":200,"user":"a"}` + "\n"
)

func TestFieldsThatDidNothingAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		fields []string
		texts  []string
		want   []string
	}{
		"two formats": {byUser, []string{"body:username=.user"}, []string{userLine, combinedLine}, []string{
			"2: --field body:username=.user was not used: that is a path, and the log is no JSON but combined; write the number of a word.",
			`default, limit "n" was not played for 1 request: the log has no place for body:username. Name it with --field body:username=PLACE, or play the limit as if nobody sent it with --missing fallback.`,
		}},
		"misspelt": {byUser, []string{"body:username=.usr"}, []string{userLine}, []string{
			"1: no line has a value at the place of --field body:username=.usr. Either no request had body:username, or the log writes the place otherwise.",
			`default, limit "n": 1 of 1 requests had nothing of u; the address stood in.`,
		}},
		"read by nothing": {byUser, []string{"body:username=.user", "header:x-key=.user"}, []string{userLine},
			[]string{"--field header:x-key=.user: no limit of the policy reads header:x-key."}},
		"read by something": {`{"identities": {"c": {"from": "cookie:sid"}, "q": {"from": "query:k"}, "j": {"from": "jwt_unverified:sub"}}, "routes": {
				"GET /": {"exempt": ["j:0123456789abcdef"], "limits": [{"name": "n", "identity": "c", "limit": {"by": "header:plan", "values": {"gold": 5}, "default": 1}, "window": "1m", "cost": "header:price"},
					{"name": "m", "identity": "q", "limit": 1, "window": "1m"}]}}, "default": null}`,
			[]string{"cookie:sid=.user", "query:k=.user", "header:authorization=.user", "header:plan=.user", "header:price=.user", "header:origin=.user", "property:source.address=.user"},
			[]string{userLine}, nil},
	} {
		report := runAll(t, c.policy, c.fields, c.texts...)
		var got []string
		for _, note := range report.Notes {
			if c.want != nil || strings.Contains(note, "--field") {
				got = append(got, note)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Two logs that lack the same have one note, and of a plan and a cost each has its own.
func TestANoteIsWrittenOnceAndSaysOnlyWhatApplies(t *testing.T) {
	one := line(1, "GET", "/", "203.0.113.7", 200)
	for name, c := range map[string]struct {
		limit string
		want  []string
	}{
		"a plan": {`"limit": {"by": "header:plan", "values": {"gold": 5}, "default": 3}`, []string{
			`default, limit "n" goes by header:plan, for which a log has no place: all callers have the default plan there. Name it with --field header:plan=PLACE.`}},
		"a cost": {`"limit": 5, "cost": "header:cost"`, []string{
			`default, limit "n" takes its cost from header:cost, for which a log has no place: a request costs 1 there. Name it with --field header:cost=PLACE.`}},
		"neither": {`"limit": 5`, []string{}},
	} {
		report := runAll(t, `{"default": {"name": "n", "identity": "ip", "window": "1m", `+c.limit+`}}`, nil, one, one)
		if diff := cmp.Diff(c.want, report.Notes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What another filter answered is no request here; what routelimit answered is.
func TestRequestsAnsweredBeforeTakeNoPart(t *testing.T) {
	var log strings.Builder
	for _, details := range []string{"jwt_authn_access_denied{Jwt_is_expired}", "jwt_authn_access_denied{Jwt_verification_fails}", "ext_authz_denied", "via_upstream", "routelimit_refused{n}"} {
		log.WriteString(strings.Replace(line(1, "GET", "/", "203.0.113.7", 401), "{", `{"response_code_details":"`+details+`",`, 1))
	}
	const policy = `{"default": {"name": "n", "identity": "ip", "limit": 1, "window": "1m"}}`
	report := runAll(t, policy, nil, log.String())
	if report.Requests != 2 || report.AnsweredBefore != 3 || report.Outcomes.Passed != 1 || report.Outcomes.Refused != 1 || report.Logs[0].Requests != 5 {
		t.Errorf("%+v", report)
	}
	want := "3 requests were answered before routelimit, as the response code details say (ext_authz_denied 1, jwt_authn_access_denied 2); they take no part."
	if len(report.Notes) != 1 || report.Notes[0] != want {
		t.Errorf("%q", report.Notes)
	}
	if all := runAll(t, policy, []string{"details=="}, log.String()); all.Requests != 5 || all.AnsweredBefore != 0 {
		t.Errorf("with no details: %+v", all)
	}
	c, err := Compare(t.Context(), parse(t, policy), parse(t, policy), []accesslog.Input{{Name: "1", Reader: strings.NewReader(log.String())}},
		replay.Settings{}, Options{Read: options(t), Top: 2})
	if err != nil || c.Requests != 2 || c.AnsweredBefore != 3 || c.Flow.Requests != 2 {
		t.Errorf("%v, %+v", err, c)
	}
}
