package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// startReport is what a start took, over all rounds, in milliseconds.
type startReport struct {
	Subject string        `json:"subject"`
	Ready   figure.Spread `json:"ready_ms"`          // until Envoy says that it is ready
	First   figure.Spread `json:"first_decision_ms"` // until the first request was answered
	CPU     figure.Spread `json:"envoy_cpu_ms"`      // until then
	Request figure.Spread `json:"first_request_ms"`  // that request alone, with the opening of the link
}

// size is the module's, in bytes.
type size struct {
	Plain   int `json:"bytes"`
	Gzipped int `json:"gzipped"`
}

func moduleSize(file string) (size, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return size{}, fmt.Errorf("the module cannot be read: %w; run make wasm", err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return size{}, err
	}
	if _, err := w.Write(raw); err != nil {
		return size{}, err
	}
	if err := w.Close(); err != nil {
		return size{}, err
	}
	return size{len(raw), b.Len()}, nil
}

func (b *bench) measureStarts(ctx context.Context) (list []startReport, err error) {
	figures := map[string]map[string][]float64{}
	for round := range b.settings.Rounds {
		for _, s := range subjects() {
			fmt.Fprintf(b.progress, "start %d of %d: %s\n", round+1, b.settings.Rounds, s.title)
			one, err := b.start(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.title, err)
			}
			if figures[s.title] == nil {
				figures[s.title] = map[string][]float64{}
			}
			for name, d := range one {
				figures[s.title][name] = append(figures[s.title][name], float64(d.Microseconds())/1e3)
			}
		}
	}
	for _, s := range subjects() {
		f := figures[s.title]
		list = append(list, startReport{
			Subject: s.title, Ready: figure.SpreadOf(f["ready"]), First: figure.SpreadOf(f["first"]), CPU: figure.SpreadOf(f["cpu"]),
			Request: figure.SpreadOf(f["request"]),
		})
	}
	return list, nil
}

// start runs an Envoy and sends the first request.
func (b *bench) start(ctx context.Context, s subject) (map[string]time.Duration, error) {
	begin := time.Now()
	e, addr, err := b.project.StartEnvoy(ctx, b.redis.Addr(), 1, s.change(0))
	if err != nil {
		return nil, err
	}
	defer e.Stop()
	ready := time.Now()
	if err := b.first(ctx, s, addr); err != nil {
		return nil, err
	}
	first := time.Now()
	cpu, err := stand.CPUTime(e.PID())
	if err != nil {
		return nil, err
	}
	return map[string]time.Duration{"ready": ready.Sub(begin), "first": first.Sub(begin), "request": first.Sub(ready), "cpu": cpu}, nil
}

// first sends one request and sees that the limiter decided about it, if there is one.
func (b *bench) first(ctx context.Context, s subject, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+s.path(), nil)
	if err != nil {
		return err
	}
	req.Header.Set(stand.CallerHeader, "first")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the first request got no answer: %w; quiet the machine", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	want := strconv.Itoa(stand.NeverReached)
	if s.routes == 0 {
		want = ""
	}
	if got := resp.Header.Get("x-ratelimit-limit"); resp.StatusCode != http.StatusOK || got != want {
		return fmt.Errorf("a request was answered %d with the limit %q, not %q; look into the limiter", resp.StatusCode, got, want)
	}
	return nil
}
