package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
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

// Bucket counts the values of a histogram that are no larger than UpTo, those of smaller buckets included.
type Bucket struct {
	UpTo  float64
	Count uint64
}

// Histogram is a histogram since Envoy's start; nil if there is none of that name. Envoy brings it up to date every five
// seconds. There is no bucket for what is larger than the largest bound.
func (e *Envoy) Histogram(ctx context.Context, name string) ([]Bucket, error) {
	body, err := e.Get(ctx, "/stats?format=json&histogram_buckets=cumulative&filter="+url.QueryEscape("^"+regexp.QuoteMeta(name)+"$"))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Stats []struct {
			Histograms []struct {
				Name    string `json:"name"`
				Buckets []struct {
					UpTo  float64 `json:"upper_bound"`
					Count uint64  `json:"cumulative"`
				} `json:"buckets"`
			} `json:"histograms"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("envoy's histograms cannot be read: %w; check the Envoy's version", err)
	}
	var buckets []Bucket
	for _, s := range answer.Stats {
		for _, h := range s.Histograms {
			for _, b := range h.Buckets {
				buckets = append(buckets, Bucket(b))
			}
		}
	}
	return buckets, nil
}

// Prometheus is the text of /stats/prometheus.
func (e *Envoy) Prometheus(ctx context.Context) (string, error) {
	body, err := e.Get(ctx, "/stats/prometheus")
	return string(body), err
}

// ConfigDump is the configuration that is in force, as JSON.
func (e *Envoy) ConfigDump(ctx context.Context) ([]byte, error) { return e.Get(ctx, "/config_dump") }

// Address is the host:port where a listener of that name listens. 0.0.0.0 is given as 127.0.0.1.
func (e *Envoy) Address(ctx context.Context, listener string) (string, error) {
	body, err := e.Get(ctx, "/listeners?format=json")
	if err != nil {
		return "", err
	}
	var list struct {
		Statuses []struct {
			Name  string `json:"name"`
			Local struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", fmt.Errorf("envoy's list of listeners cannot be read: %w; check the Envoy's version", err)
	}
	for _, l := range list.Statuses {
		if l.Name == listener {
			host := l.Local.Socket.Address
			if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
				host = "127.0.0.1"
			}
			return net.JoinHostPort(host, strconv.Itoa(l.Local.Socket.Port)), nil
		}
	}
	return "", fmt.Errorf("envoy has no listener %q; choose a name from its configuration", listener)
}
