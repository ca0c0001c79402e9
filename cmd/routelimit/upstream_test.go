package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestUpstreamServesTheDemoUntilItIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	var said bytes.Buffer
	ended := make(chan int)
	go func() {
		code := program(ctx, []string{"upstream", "--listen", "127.0.0.1:0"}, nil, in, &said)
		in.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	url := strings.TrimSpace(strings.TrimPrefix(line, "the demo upstream serves "))
	if err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("it says %q, %v: %s", line, err, said.String())
	}
	for body, want := range map[string]int{`{"password": "correct"}`: http.StatusOK, `{}`: http.StatusUnauthorized} {
		a, err := http.Post(url+"/login", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%s: status %d, want %d", body, a.StatusCode, want)
		}
	}
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("ended with %d: %s", code, said.String())
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it serves on after its end")
	}
}

func TestUpstreamThatCannotListenSaysWhy(t *testing.T) {
	for listen, want := range map[string]struct {
		code int
		text string
	}{
		"127.0.0.1:" + taken(t): {exitFindings, "in use"}, "127.0.0.1:x": {exitFindings, "choose another address"}, "nowhere": {exitUsage, "write host:port"},
	} {
		code, out, err := call(t, "upstream", "--listen", listen)
		if code != want.code || out != "" || !strings.Contains(err, want.text) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", listen, code, out, err)
		}
	}
}
