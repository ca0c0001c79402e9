package replay

import (
	"time"

	"routelimit/accesslog"
	"routelimit/policy"
)

// midnight is the start of a day, and so of windows, in ms.
var midnight = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// full is a layout that has all but values.
func full(sources ...string) *accesslog.Layout {
	return &accesslog.Layout{Format: "json", HasHost: true, HasClient: true, HasForwardedFor: true, HasStatus: true, Sources: sources}
}

// entry is a request so many ms after midnight.
func entry(layout *accesslog.Layout, ms int64, method, path string, values ...string) *accesslog.Entry {
	for len(values) < len(layout.Sources) {
		values = append(values, "")
	}
	return &accesslog.Entry{
		TimeMS: midnight + ms, Method: method, Path: path, Host: "h", Client: "203.0.113.7:5000", Status: 200, Layout: layout, Values: values,
	}
}

// keys are those of one request, without their route.
func keysOf(p *Played) []string {
	keys := []string{}
	for _, g := range p.Groups {
		keys = append(keys, g.Identity)
	}
	return keys
}
