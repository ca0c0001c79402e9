package answer

import (
	"strings"
	"testing"
)

func TestNamesAreInTheOrderOfTheirValues(t *testing.T) {
	for i, name := range DialectNames() {
		if got := Dialect(i).String(); got != name {
			t.Errorf("dialect %d is %q and %q", i, name, got)
		}
	}
	for i, name := range FormatNames() {
		if got := Format(i).String(); got != name {
			t.Errorf("format %d is %q and %q", i, name, got)
		}
	}
	if got := DialectNames()[Draft08]; got != "draft-08" {
		t.Errorf("got %q", got)
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
