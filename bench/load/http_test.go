package load

import (
	"strings"
	"testing"
)

func TestHTTPReadsAnAnswerCutAnywhere(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-ratelimit-limit: 9\r\nconnection: close\r\n\r\nok"
	h := HTTP{Status: 200}
	for cut := range len(answer) {
		if n, _, err := h.Read([]byte(answer[:cut])); n != 0 || err != nil {
			t.Fatalf("after %d bytes: %d, %v", cut, n, err)
		}
	}
	if n, last, err := h.Read([]byte(answer + "more")); n != len(answer) || !last || err != nil {
		t.Errorf("Read = %d, %v, %v; want %d, true", n, last, err, len(answer))
	}
}

func TestHTTPRefusesAnswersThatShouldNotBe(t *testing.T) {
	h := HTTP{Status: 200}
	for text, want := range map[string]string{
		"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n": "answered \"HTTP/1.1 429",
		"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n":                "answered \"HTTP/1.0",
		"\r\n\r\n": "answered \"\"",
		"HTTP/1.1 200 OK\r\nserver: envoy\r\n\r\n":          "no content-length",
		"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n":     "content-length \"-1\"",
		"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n": "content-length \"999999\"",
		strings.Repeat("x", maxAnswer+1):                    "longer than",
	} {
		if _, _, err := h.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%.40q) = %v; want an error with %s", text, err, want)
		}
	}
}

func TestHTTPAsksAsTheCaller(t *testing.T) {
	h := HTTP{Path: "/p", Header: "x-user", Caller: func() string { return "alice" }}
	want := "GET /p HTTP/1.1\r\nhost: bench\r\nx-user: alice\r\n\r\n"
	if got := string(h.Append(nil)); got != want {
		t.Errorf("request %q, want %q", got, want)
	}
}
