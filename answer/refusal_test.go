package answer

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func value(headers [][2]string, name string) (string, int) {
	found, times := "", 0
	for _, h := range headers {
		if h[0] == name {
			found, times = h[1], times+1
		}
	}
	return found, times
}

func TestG28_RetryAfterIsWholeSecondsRoundedUp(t *testing.T) {
	for name, tt := range map[string]struct {
		waits []time.Duration
		want  string
	}{
		"bucket, 90 ms left":       {[]time.Duration{90 * time.Millisecond}, "1"},
		"fixed, 40 s left":         {[]time.Duration{40 * sec}, "40"},
		"log, 2 s left":            {[]time.Duration{2 * sec}, "2"},
		"no time left":             {[]time.Duration{0}, "1"},
		"a nanosecond more":        {[]time.Duration{2*sec + 1}, "3"},
		"just below":               {[]time.Duration{2*sec - 1}, "2"},
		"a millisecond":            {[]time.Duration{time.Millisecond}, "1"},
		"the longest of several":   {[]time.Duration{3 * sec, 7001 * time.Millisecond, 5 * sec}, "8"},
		"a year":                   {[]time.Duration{365 * 24 * time.Hour}, "31536000"},
		"never":                    {[]time.Duration{-1}, ""},
		"one of several is never":  {[]time.Duration{3 * sec, -1}, ""},
		"never comes before a few": {[]time.Duration{-1, 3 * sec}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			quotas := []Quota{perIP(5, time.Hour)} // one that passed does not count
			for _, w := range tt.waits {
				quotas = append(quotas, refused(login(0, w), w))
			}
			r := new(Style).Refusal(quotas, RequestKind{}, 0)
			if got, _ := value(r.Headers, "retry-after"); got != tt.want {
				t.Errorf("retry-after: got %q, want %q", got, tt.want)
			}
			want := `{"error":"rate_limited","retryAfterSec":` + tt.want + `}`
			if tt.want == "" {
				want = `{"error":"rate_limited"}`
			}
			if string(r.Body) != want {
				t.Errorf("body: got %s, want %s", r.Body, want)
			}
		})
	}
}

func TestG28_NobodyIsToldToComeTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(0, int64(400*24*time.Hour)).Draw(t, "wait"))
		r := new(Style).Refusal([]Quota{refused(login(0, wait), wait)}, RequestKind{}, 0)
		text, _ := value(r.Headers, "retry-after")
		told, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		after := time.Duration(told) * sec
		if after < wait || after < sec || after >= wait+sec && told != 1 {
			t.Fatalf("a wait of %v was told as %v", wait, after)
		}
		if reset, _ := value(r.Headers, "x-ratelimit-reset"); reset != text {
			t.Fatalf("x-ratelimit-reset is %s, retry-after %s", reset, text)
		}
	})
}

func TestRefusalHoldsAllOfIt(t *testing.T) {
	quotas := []Quota{refused(login(0, 120*sec), 120*sec)}
	triple := [][2]string{{"x-ratelimit-limit", "10"}, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "120"}}
	headers := func(contentType string, more ...[2]string) [][2]string {
		h := append([][2]string{{"cache-control", "no-store"}, {"retry-after", "120"}}, triple...)
		if contentType != "" {
			h = append(h, [2]string{"content-type", contentType})
		}
		return append(h, more...)
	}
	const (
		jsonText = `{"error":"rate_limited","retryAfterSec":120}`
		problem  = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,` +
			`"detail":"POST:/login: 10 per 300 s. Retry in 120 s.","violated-policies":["POST:/login"]}`
		custom = "<p>Slow down.</p>\n"
	)
	for name, tt := range map[string]struct {
		style Style
		kind  RequestKind
		want  Response
	}{
		"default": {Style{}, RequestKind{},
			Response{429, headers("application/json"), []byte(jsonText), -1}},
		"problem": {Style{Format: Problem}, RequestKind{},
			Response{429, headers("application/problem+json"), []byte(problem), -1}},
		"problem with a status": {Style{Format: Problem, Status: 503}, RequestKind{},
			Response{503, headers("application/problem+json"), []byte(strings.Replace(problem, "429", "503", 1)), -1}},
		"custom": {Style{Format: Custom, Body: custom, ContentType: "text/html", Status: 420}, RequestKind{},
			Response{420, headers("text/html"), []byte(custom), -1}},
		"custom without a type": {Style{Format: Custom, Body: "slow down"}, RequestKind{},
			Response{429, headers("text/plain; charset=utf-8"), []byte("slow down"), -1}},
		"more headers": {Style{Headers: [][2]string{{"access-control-allow-origin", "*"}, {"cache-control", "no-cache"}}}, RequestKind{},
			Response{429, append([][2]string{{"cache-control", "no-cache"}}, headers("application/json", [2]string{"access-control-allow-origin", "*"})[1:]...), []byte(jsonText), -1}},
		"HEAD": {Style{}, RequestKind{HEAD: true},
			Response{429, headers("application/json"), nil, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.style.Refusal(quotas, tt.kind, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestG14_GRPCRefusalIsAStatusOfItsOwn(t *testing.T) {
	quotas := []Quota{refused(login(0, 120*sec), 120*sec)}
	for name, s := range map[string]Style{
		"default": {},
		"problem": {Format: Problem, Status: 503},
		"custom":  {Format: Custom, Body: "a\nb", Headers: [][2]string{{"content-type", "text/html"}, {"x-a", "b"}}},
	} {
		r := s.Refusal(quotas, RequestKind{GRPC: true}, 0)
		if r.GRPCStatus != 8 || string(r.Body) != "rate limited; retry after 120 s" {
			t.Errorf("%s: got grpc-status %d, message %q", name, r.GRPCStatus, r.Body)
		}
		if after, _ := value(r.Headers, "retry-after"); after != "120" {
			t.Errorf("%s: retry-after is %q", name, after)
		}
		if _, times := value(r.Headers, "content-type"); times != 0 {
			t.Errorf("%s: the answer has a content type, which Envoy sets", name)
		}
		never := s.Refusal([]Quota{refused(login(0, 0), -1)}, RequestKind{GRPC: true}, 0)
		if string(never.Body) != "rate limited" {
			t.Errorf("%s: a request that never passes is told %q", name, never.Body)
		}
	}
	if got := new(Style).Refusal(quotas, RequestKind{}, 0).GRPCStatus; got != -1 {
		t.Errorf("a request that is not gRPC got grpc-status %d", got)
	}
}

func TestUnavailable(t *testing.T) {
	headers := func(contentType string) [][2]string {
		return [][2]string{{"cache-control", "no-store"}, {"retry-after", "5"}, {"content-type", contentType}}
	}
	for name, tt := range map[string]struct {
		style Style
		kind  RequestKind
		want  Response
	}{
		"default": {Style{Status: 420, Dialect: Draft08}, RequestKind{},
			Response{503, headers("application/json"), []byte(`{"error":"rate_limiter_unavailable"}`), -1}},
		"custom": {Style{Format: Custom, Body: "slow down"}, RequestKind{},
			Response{503, headers("application/json"), []byte(`{"error":"rate_limiter_unavailable"}`), -1}},
		"problem": {Style{Format: Problem}, RequestKind{},
			Response{503, headers("application/problem+json"), []byte(`{"type":"about:blank","title":"Service Unavailable","status":503}`), -1}},
		"gRPC": {Style{}, RequestKind{GRPC: true},
			Response{503, headers("")[:2], []byte("rate limiter unavailable"), 14}},
		"HEAD": {Style{}, RequestKind{HEAD: true},
			Response{503, headers("application/json"), nil, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.style.Unavailable(tt.kind)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUndeclared(t *testing.T) {
	headers := func(contentType string, more ...[2]string) [][2]string {
		return append([][2]string{{"cache-control", "no-store"}, {"content-type", contentType}}, more...)
	}
	for name, tt := range map[string]struct {
		style Style
		kind  RequestKind
		want  Response
	}{
		"default": {Style{Status: 420}, RequestKind{},
			Response{404, headers("application/json"), []byte(`{"error":"undeclared_route"}`), -1}},
		"custom": {Style{Format: Custom, Body: "slow down"}, RequestKind{},
			Response{404, headers("application/json"), []byte(`{"error":"undeclared_route"}`), -1}},
		"problem with headers": {Style{Format: Problem, Headers: [][2]string{{"x-limited-by", "edge"}}}, RequestKind{},
			Response{404, headers("application/problem+json", [2]string{"x-limited-by", "edge"}),
				[]byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"The route is not declared."}`), -1}},
		"gRPC": {Style{Format: Problem, Headers: [][2]string{{"content-type", "text/html"}}}, RequestKind{GRPC: true},
			Response{404, headers("")[:1], []byte("route is not declared"), 12}},
		"HEAD": {Style{}, RequestKind{HEAD: true},
			Response{404, headers("application/json"), nil, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.style.Undeclared(tt.kind)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Every answer is one that Envoy and a JSON reader take, whatever the limits
// are called, and has each header once.
func TestG29_AnswersAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quotas := rapid.SliceOfN(rapid.Custom(drawQuota), 0, 4).Draw(t, "quotas")
		s := Style{
			Dialect: Dialect(rapid.IntRange(0, len(dialects)-1).Draw(t, "dialect")),
			Format:  Format(rapid.IntRange(0, int(Problem)).Draw(t, "format")),
			Headers: [][2]string{{"x-ratelimit-limit", "mine"}, {"content-type", "a/b"}, {"vary", "origin"}},
		}
		kind := RequestKind{GRPC: rapid.Bool().Draw(t, "grpc")}
		for _, r := range []Response{s.Refusal(quotas, kind, 1796104800), s.Unavailable(kind), s.Undeclared(kind)} {
			for _, h := range r.Headers {
				if _, times := value(r.Headers, h[0]); times != 1 {
					t.Fatalf("%s occurs %d times", h[0], times)
				}
				if lower, err := checkAny(h[0], h[1]); err != nil || lower != h[0] {
					t.Fatalf("%q: %q: %v", h[0], h[1], err)
				}
			}
			if kind.GRPC {
				if strings.ContainsAny(string(r.Body), "\r\n") {
					t.Fatalf("the message %q has more than a line", r.Body)
				}
			} else if !json.Valid(r.Body) {
				t.Fatalf("the body %q is no JSON", r.Body)
			}
		}
	})
}

// checkAny is CheckHeader for headers of ours too.
func checkAny(name, value string) (string, error) {
	if name == "retry-after" {
		name = "x-after"
		_, err := CheckHeader(name, value)
		return "retry-after", err
	}
	return CheckHeader(name, value)
}

func TestProblemNamesTheLimitsThatRefused(t *testing.T) {
	quotas := []Quota{
		login(7, 120*sec),
		refused(perIP(0, 60*sec), 60*sec),
		refused(Quota{Name: "q\"\\\n\x01é\xff<&>", Limit: 5, Window: 60 * sec}, 90*sec),
	}
	var got struct {
		Type, Title, Detail string
		Status              int
		Violated            []string `json:"violated-policies"`
	}
	body := (&Style{Format: Problem}).Refusal(quotas, RequestKind{}, 0).Body
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	const odd = "q\"\\\n\x01é\ufffd<&>"
	if diff := cmp.Diff([]string{"per-ip", odd}, got.Violated); diff != "" {
		t.Errorf("violated-policies (-want +got):\n%s", diff)
	}
	if want := odd + ": 5 per 60 s. Retry in 90 s."; got.Detail != want {
		t.Errorf("detail: got %q, want %q", got.Detail, want)
	}
	quotas = append(quotas, refused(Quota{Name: "closed", Window: 60 * sec}, -1))
	body = (&Style{Format: Problem}).Refusal(quotas, RequestKind{}, 0).Body
	if want := `"detail":"closed: 0 per 60 s."`; !strings.Contains(string(body), want) {
		t.Errorf("%s lacks %s", body, want)
	}
}
