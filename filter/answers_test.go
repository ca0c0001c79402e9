//go:build !wasip1

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

// refusal is a policy whose only route refuses through a scripted Redis; the
// section goes in front.
func refusal(section string) string {
	return `{` + section + `"routes": {"* /a": {"limits": [
		{"name": "pair", "identity": "ip", "limit": 10, "window": "5m"},
		{"name": "day", "identity": "ip", "limit": 100, "window": "24h"}]}}, "default": null}`
}

// overBoth says: pair is over its limit for 12.3 s, day has 90 left.
func overBoth([][]byte) []byte {
	return packed(0, scriptedTimeMS, 0, 0, 12_300, 12_300, 1, 90, 3_600_000, 0)
}

// underBoth says: pair has 7 left, day 90.
func underBoth([][]byte) []byte {
	return packed(1, scriptedTimeMS, 1, 7, 12_300, 0, 1, 90, 3_600_000, 0)
}

func TestRefusalInEveryForm(t *testing.T) {
	triple := func(h hosttest.Headers) hosttest.Headers {
		return append(h, hosttest.Headers{{"x-ratelimit-limit", "10"}, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "13"}}...)
	}
	plain := triple(hosttest.Headers{{":status", "429"}, {"cache-control", "no-store"}, {"retry-after", "13"}})
	for name, c := range map[string]struct {
		section, method string
		lines           []string
		headers         hosttest.Headers
		body            string
	}{
		"JSON": {"", "GET", nil, append(plain[:6:6], [2]string{"content-type", jsonType}), `{"error":"rate_limited","retryAfterSec":13}`},
		"problem+json": {`"response": {"format": "problem"},`, "GET", nil, append(plain[:6:6], [2]string{"content-type", "application/problem+json"}),
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"pair: 10 per 300 s. Retry in 13 s.","violated-policies":["pair"]}`},
		"status, body and headers of one's own": {`"response": {"status": 503, "body": "later", "headers": {"x-limited-by": "edge"}},`, "GET", nil,
			append(triple(hosttest.Headers{{":status", "503"}, {"cache-control", "no-store"}, {"retry-after", "13"}}), hosttest.Headers{{"content-type", "text/plain; charset=utf-8"}, {"x-limited-by", "edge"}}...), "later"},
		"HEAD": {"", "HEAD", nil, plain, ""}, // Envoy takes the content type away with the body
		"no quota headers": {`"headers": "none",`, "GET", nil, hosttest.Headers{{":status", "429"}, {"cache-control", "no-store"}, {"retry-after", "13"}, {"content-type", jsonType}},
			`{"error":"rate_limited","retryAfterSec":13}`},
		"draft-12": {`"headers": "draft-12",`, "GET", nil, hosttest.Headers{{":status", "429"}, {"cache-control", "no-store"}, {"retry-after", "13"},
			{"ratelimit", `"pair";a=0;w=13, "day";a=90;w=3600`}, {"ratelimit-policy", `"pair";q=10;w=300, "day";q=100;w=86400`}, {"content-type", jsonType}},
			`{"error":"rate_limited","retryAfterSec":13}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, overBoth, refusal(c.section))
			s := r.do(c.method, "/a", "", c.lines...)
			if !s.Finished() || s.Upstream().Started {
				t.Fatal(fate(s))
			}
			got := s.Client()
			headers := hosttest.Headers{}
			for _, line := range got.Headers {
				if line[0] != "content-length" {
					headers = append(headers, line)
				}
			}
			if diff := cmp.Diff(c.headers, headers); diff != "" {
				t.Errorf("headers: %s", diff)
			}
			if string(got.Body) != c.body {
				t.Errorf("body %s\nwant %s", got.Body, c.body)
			}
			if s.Details() != "routelimit_refused{pair}" {
				t.Errorf("details %s", s.Details())
			}
			want := map[string]string{"wasm.routelimit.outcome": "refused", "wasm.routelimit.limit": "pair"}
			if diff := cmp.Diff(want, s.FilterState()); diff != "" {
				t.Errorf("filter state: %s", diff)
			}
		})
	}
}

func TestG14_GRPCRefusals(t *testing.T) {
	for _, contentType := range []string{"application/grpc", "application/grpc+proto"} {
		r := onScript(t, overBoth, refusal(`"response": {"format": "problem", "headers": {"content-type": "text/html"}},`))
		s := r.do("POST", "/a", "x", "content-type", contentType)
		got := s.Client()
		h := got.Headers
		if h.Get(":status") != "200" || h.Get("grpc-status") != "8" || h.Get("grpc-message") != "rate limited; retry after 13 s" || len(got.Body) != 0 {
			t.Errorf("%s: %v, body %q", contentType, h, got.Body)
		}
		if h.Get("retry-after") != "13" || h.Get("content-type") != "application/grpc" {
			t.Errorf("%s: %v", contentType, h)
		}
	}
	t.Run("fail closed", func(t *testing.T) {
		r := onScript(t, always("-OOM\r\n"), strings.Replace(refusal(""), `"limits"`, `"on_error": "closed", "limits"`, 1))
		h := r.do("POST", "/a", "x", "content-type", "application/grpc").Client().Headers
		if h.Get(":status") != "200" || h.Get("grpc-status") != "14" || h.Get("grpc-message") != "rate limiter unavailable" {
			t.Errorf("%v", h)
		}
	})
	for _, contentType := range []string{"application/grpc-web", "application/json", "application/grpcx", ""} {
		r := onScript(t, overBoth, refusal(""))
		s := r.do("POST", "/a", "x", "content-type", contentType)
		r.want("429", s, contentType)
		if h := s.Client().Headers; h.Get("grpc-status") != "" || h.Get(":status") != "429" {
			t.Errorf("%q is no gRPC: %v", contentType, h)
		}
	}
}

func TestG29_QuotaHeadersOfAPassedRequestReplaceTheUpstreams(t *testing.T) {
	upstream := []string{
		"x-ratelimit-limit", "1", "x-ratelimit-limit", "2", "X-RateLimit-Limit", "3", "x-ratelimit-remaining", "9", "x-ratelimit-reset", "1700000000",
		"ratelimit", `"theirs";r=1`, "ratelimit-policy", `"theirs";q=1`, "retry-after", "7", "x-other", "kept",
	}
	for name, c := range map[string]struct {
		section string
		want    map[string][]string
	}{
		"x-ratelimit": {"", map[string][]string{"x-ratelimit-limit": {"10"}, "x-ratelimit-remaining": {"7"}, "x-ratelimit-reset": {"13"}}},
		"epoch":       {`"headers": "x-ratelimit-epoch",`, map[string][]string{"x-ratelimit-limit": {"10"}, "x-ratelimit-remaining": {"7"}, "x-ratelimit-reset": {fmt.Sprint(scriptedTimeMS/1000 + 13)}}},
		"draft-08":    {`"headers": "draft-08",`, map[string][]string{"ratelimit": {`"pair";r=7;t=13, "day";r=90;t=3600`}, "ratelimit-policy": {`"pair";q=10;w=300, "day";q=100;w=86400`}}},
		"none":        {`"headers": "none",`, map[string][]string{"x-ratelimit-limit": {"1", "2", "3"}, "ratelimit": {`"theirs";r=1`}}},
	} {
		for _, status := range []string{"200", "404", "429", "503"} {
			t.Run(name+" "+status, func(t *testing.T) {
				r := onScript(t, underBoth, refusal(c.section))
				s := r.get("/a")
				r.want("passed", s)
				respond(s, status, upstream...)
				h := s.Client().Headers
				for header, want := range c.want {
					if diff := cmp.Diff(want, h.Values(header)); diff != "" {
						t.Errorf("%s: %s", header, diff)
					}
				}
				if h.Get("retry-after") != "7" || h.Get("x-other") != "kept" || h.Get(":status") != status {
					t.Errorf("what is not ours was changed: %v", h)
				}
			})
		}
	}
}

// Our own answer passes our own response callback: nothing may be added to it.
func TestG34_NothingIsAddedToOurOwnAnswer(t *testing.T) {
	r := onScript(t, overBoth, refusal(`"response": {"headers": {"x-ratelimit-limit": "hidden"}},`))
	s := r.get("/a")
	r.want("429", s)
	if got := s.Client().Headers.Values("x-ratelimit-limit"); len(got) != 1 || got[0] != "hidden" {
		t.Errorf("X-RateLimit-Limit %q", got)
	}
	if n := r.vm.Calls("proxy_replace_header_map_value"); n != 0 {
		t.Errorf("%d headers of our own answer were replaced", n)
	}
	r.wantCounter(1, r.requests("*:/a", "pair", "refused"), "refused")
}

// A response that Envoy makes itself while the request is held, after a timeout
// of the client for example, is not ours to change.
func TestAResponseWhileTheRequestIsHeldIsLeftAlone(t *testing.T) {
	r := onScript(t, overBoth, refusal(""))
	s := r.send("GET", "/a", "")
	s.RespondHeaders(hosttest.Headers{{":status", "408"}}, true)
	if diff := cmp.Diff(hosttest.Headers{{":status", "408"}}, s.Client().Headers); diff != "" {
		t.Error(diff)
	}
	r.deliver()
	if s.LocalReply() != nil {
		t.Error("it was answered twice")
	}
}

// The limit with least left speaks, over all identities.
func TestTheTightestLimitSpeaks(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"identity": "ip", "limit": 10, "window": "1m", "algorithm": "fixed_window"},
		{"identity": "user", "limit": 4, "window": "10m", "algorithm": "fixed_window"}]}}, "default": null}`)
	got := map[string]string{}
	for i := range 4 {
		s := r.get("/a", "x-user", "u")
		respond(s, "200")
		h := s.Client().Headers
		got[fmt.Sprint(i)] = h.Get("x-ratelimit-limit") + " " + h.Get("x-ratelimit-remaining") + " " + h.Get("x-ratelimit-reset")
	}
	if diff := cmp.Diff(map[string]string{"0": "4 3 600", "1": "4 2 600", "2": "4 1 600", "3": "4 0 600"}, got); diff != "" {
		t.Error(diff)
	}
}

// Of several refusing limits the longest wait counts, in Retry-After and details.
func TestRetryAfterIsTheLongestWait(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "short", "identity": "ip", "limit": 1, "window": "1m", "algorithm": "fixed_window"},
		{"name": "long", "identity": "user", "limit": 1, "window": "1h", "algorithm": "fixed_window"}]}}, "default": null}`)
	r.waitUntil(10 * time.Second)
	r.want("passed", r.get("/a", "x-user", "u"))
	s := r.get("/a", "x-user", "u")
	r.want("429", s)
	if got := s.Client().Headers.Get("retry-after"); got != "3590" {
		t.Errorf("Retry-After %s, want 3590", got)
	}
	if s.Details() != "routelimit_refused{long}" {
		t.Errorf("details %s", s.Details())
	}
	for _, limit := range []string{"short", "long"} {
		r.wantCounter(1, r.requests("GET:/a", limit, "refused"), limit)
		r.wantCounter(1, r.requests("GET:/a", limit, "passed"), limit)
	}
}

// What was given back is not shown as spent, for a bucket up to its burst.
func TestARefundedLimitShowsWhatIsLeft(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte {
		if isRefund(c) {
			return []byte(":1\r\n")
		}
		if keyOf(c) == allKey {
			return packed(1, scriptedTimeMS, 1, 99, 1000, 0)
		}
		return packed(0, scriptedTimeMS, 0, 0, 1000, 1000)
	}, `{"headers": "draft-08", "identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "all", "identity": "all", "limit": 10, "window": "1m", "algorithm": "token_bucket", "burst": 100},
		{"name": "user", "identity": "user", "limit": 5, "window": "1m"}]}}, "default": null}`)
	s := r.get("/a", "x-user", "u")
	r.want("429", s)
	if got, want := s.Client().Headers.Get("ratelimit"), `"all";r=100;t=1, "user";r=0;t=1`; got != want {
		t.Errorf("RateLimit %s, want %s", got, want)
	}
}

func TestG36_NoIdentityInAnyMetricName(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"identity": "user", "limit": 2, "window": "1m"}]}}, "default": {"identity": "user|ip", "limit": 2, "window": "1m"}}`)
	for i := range 3 {
		r.get("/a", "x-user", fmt.Sprint("first-caller", i%2))
		r.get(fmt.Sprint("/caller/", i), "x-user", fmt.Sprint("first-caller", i%2))
	}
	before := r.host.Metrics()
	for i := range 500 {
		r.get("/a", "x-user", fmt.Sprint("caller", i%50))
		r.get(fmt.Sprint("/caller/", i), "x-user", fmt.Sprint("caller", i%50))
		r.from(fmt.Sprintf("198.51.100.%d:1", i%250), "/a")
	}
	after := r.host.Metrics()
	for _, name := range after {
		if strings.Contains(name, "caller") || strings.Contains(name, "198.51") {
			t.Errorf("metric %s", name)
		}
	}
	if len(after) > len(before)+2 { // a kind of refusal may come first later
		t.Errorf("%d metrics after %d", len(after), len(before))
	}
}
