package answer

import (
	"strings"
	"testing"
)

func TestParseNamesReadBack(t *testing.T) {
	for d := range dialects {
		if got, err := ParseDialect(Dialect(d).String()); err != nil || got != Dialect(d) {
			t.Errorf("%v: got %v, %v", Dialect(d), got, err)
		}
	}
	for f := range formats {
		if got, err := ParseFormat(Format(f).String()); err != nil || got != Format(f) {
			t.Errorf("%v: got %v, %v", Format(f), got, err)
		}
	}
}

func TestUnknownNamesAreAnsweredWithTheKnown(t *testing.T) {
	_, err := ParseDialect("draft-09")
	const want = `the dialect "draft-09" is not known; write one of x-ratelimit, x-ratelimit-epoch, draft-03, draft-06, draft-07, draft-08, draft-12, none`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = ParseFormat("JSON")
	if want := `the format "JSON" is not known; write one of json, problem, custom`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCheckStatus(t *testing.T) {
	for status, ok := range map[int64]bool{429: true, 400: true, 599: true, 503: true, 399: false, 600: false, 200: false, 0: false, -429: false, 1 << 40: false} {
		if err := CheckStatus(status); (err == nil) != ok {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestCheckHeader(t *testing.T) {
	for _, h := range [][2]string{{"X-Reason", "slow down"}, {"vary", ""}, {"Access-Control-Allow-Origin", "*"}, {"x", "a\tb é"}} {
		if lower, err := CheckHeader(h[0], h[1]); err != nil || lower != strings.ToLower(h[0]) {
			t.Errorf("%q: got %q, %v", h, lower, err)
		}
	}
	for _, h := range [][2]string{
		{"", "a"}, {":status", "200"}, {"a b", "c"}, {"a:b", "c"}, {"é", "c"}, {"a\n", "c"},
		{"x", "a\r\nset-cookie: b"}, {"x", "a\nb"}, {"x", "\x00"}, {"x", "\x7f"}, {"x", " a"}, {"x", "a\t"},
		{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}, {"connection", "close"}, {"Retry-After", "1"}, {"grpc-status", "0"},
	} {
		if lower, err := CheckHeader(h[0], h[1]); err == nil {
			t.Errorf("%q was taken as %q", h, lower)
		}
	}
}

func TestCheckBody(t *testing.T) {
	if err := CheckBody(strings.Repeat("a", maxBody), "text/html; charset=utf-8"); err != nil {
		t.Error(err)
	}
	if CheckBody(strings.Repeat("a", maxBody+1), "") == nil {
		t.Error("a body over the bound was taken")
	}
	if CheckBody("a", "text/html\r\nx: y") == nil {
		t.Error("a content type of two lines was taken")
	}
}
