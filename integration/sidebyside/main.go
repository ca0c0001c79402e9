// Sidebyside sends the same requests to two real Envoys: one asks
// envoyproxy/ratelimit, given by RATELIMIT_BIN, under limits.yaml and the
// rate_limits of envoy.yaml, the other has the policy that import makes of both. It
// prints how their decisions compare, and exits with 1 where routelimit refuses what
// the service passes, or they differ where they must not.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"routelimit/imported"
)

const (
	folder   = "integration/sidebyside"
	requests = 3000
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	binary := os.Getenv("RATELIMIT_BIN")
	if binary == "" {
		return errors.New("RATELIMIT_BIN is not set; give the path of an envoyproxy/ratelimit")
	}
	policy, err := convert()
	if err != nil {
		return err
	}
	s, err := start(ctx, binary, policy)
	if err != nil {
		return err
	}
	defer s.stop()
	var t tally
	random := rand.New(rand.NewPCG(1, uint64(time.Now().Unix())))
	for range requests {
		q := draw(random)
		theirs, err := q.ask(ctx, s.service)
		if err != nil {
			return err
		}
		ours, err := q.ask(ctx, s.routelimit)
		if err != nil {
			return err
		}
		t.add(q, theirs, ours)
	}
	return t.report(os.Stdout)
}

// convert is what routelimit import does. Nothing may be lost but what the
// requests below never do.
func convert() ([]byte, error) {
	var in imported.Input
	for name, files := range map[string]*[]imported.File{"limits.yaml": &in.Service, "envoy.yaml": &in.Envoy} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("%w; start this in the project's folder", err)
		}
		*files = append(*files, imported.File{Name: name, Text: text})
	}
	result, err := imported.Convert(in)
	if err != nil {
		return nil, err
	}
	for _, f := range result.Findings {
		fmt.Printf("%s: %s\n", f.Place, f.Text)
	}
	return result.Policy, nil
}

// request is one that both get. Every one has the headers that the limits look at.
type request struct {
	method, path, plan, user string
	from                     string // of 127.0.0.0/8
	single                   bool   // at most one limit holds for it
}

func draw(r *rand.Rand) request {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	q := request{
		method: pick("GET", "HEAD", "POST", "PUT"), path: pick("/login", "/login/x", "/api", "/api/a", "/api/a/b", "/users/7/posts", "/other", "/"),
		plan: pick("gold", "silver", "free"), user: pick("u1", "u2", "u3", "u4"), from: pick("127.0.9.1", "127.0.9.1", "127.0.9.1", "127.0.9.1", "127.0.9.1", "127.0.9.1", "127.0.9.2", "127.0.9.3"), // the first asks most
	}
	q.single = q.path != "/login"
	return q
}

// ask reports whether the request passed.
func (q request) ask(ctx context.Context, address string) (bool, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(q.from)}}
	client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	r, err := http.NewRequestWithContext(ctx, q.method, "http://"+address+q.path, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("x-plan", q.plan)
	r.Header.Set("x-user", q.user)
	answer, err := client.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	switch answer.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusTooManyRequests:
		return false, nil
	}
	return false, fmt.Errorf("%+v got %s", q, answer.Status)
}
