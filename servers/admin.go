package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Get asks the admin page. The error holds what the page said if that was not 200.
func (e *Envoy) Get(ctx context.Context, path string) ([]byte, error) {
	return e.ask(ctx, http.MethodGet, path)
}

// Post does something through the admin page, for example "/drain_listeners?graceful" or "/logging?wasm=debug".
func (e *Envoy) Post(ctx context.Context, path string) ([]byte, error) {
	return e.ask(ctx, http.MethodPost, path)
}

func (e *Envoy) ask(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.admin+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%q is no path of the admin page: %w; write one such as /stats", path, err)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("envoy's admin page does not answer: %w; see its log %s", err, e.log)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("envoy's admin page broke off: %w; see its log %s", err, e.log)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("envoy's admin page answers %s with %d: %s; see its log %s", path, resp.StatusCode,
			strings.TrimSpace(string(body)), e.log)
	}
	return body, nil
}

// Stats are the counters and gauges whose name matches a regular expression; "": all. Histograms are left out.
func (e *Envoy) Stats(ctx context.Context, filter string) (map[string]int64, error) {
	body, err := e.Get(ctx, "/stats?filter="+url.QueryEscape(filter))
	if err != nil {
		return nil, err
	}
	stats := map[string]int64{}
	for line := range strings.Lines(string(body)) {
		// A name may hold ": " (a route's key), a number does not.
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(line[at+2:]), 10, 64); err == nil {
			stats[line[:at]] = n
		}
	}
	return stats, nil
}

// Prometheus is the text of /stats/prometheus.
func (e *Envoy) Prometheus(ctx context.Context) (string, error) {
	body, err := e.Get(ctx, "/stats/prometheus")
	return string(body), err
}

// ConfigDump is the configuration that is in force, as JSON.
func (e *Envoy) ConfigDump(ctx context.Context) ([]byte, error) { return e.Get(ctx, "/config_dump") }
