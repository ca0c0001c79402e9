package simulate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"routelimit/accesslog"
	"routelimit/policy"
)

// benchPolicy is one with three limits on its busiest route.
const benchPolicy = `{
	"client": {"trusted_hops": 1},
	"identities": {"agent": {"from": "header:user-agent", "secret": true}},
	"routes": {
		"POST /login": {"limits": [
			{"name": "pair",    "identity": "ip+agent", "limit": 10, "window": "5m", "algorithm": "sliding_log"},
			{"name": "failed",  "identity": "ip",       "limit": 50, "window": "1h", "count": [401, 403]},
			{"name": "address", "identity": "ip",       "limit": 100, "window": "5m"}]},
		"GET /api/search": {"identity": "ip", "limit": 60, "window": "1m"},
		"GET /items/:id":  {"identity": "ip", "limit": 30, "window": "1m", "algorithm": "token_bucket", "burst": 60},
		"GET /healthz":    {"limits": []}
	},
	"default": {"identity": "ip", "limit": 120, "window": "1m"}
}`

// benchLog writes so many lines in Envoy's default format, of a thousand requests
// a second from 200,000 addresses, some of which come far more often than others.
func benchLog(lines int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	busy := rand.NewZipf(r, 1.1, 20, 200_000)
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	requests := [...]string{"POST /login", "GET /api/search?q=shoes&page=2", "GET /items/%d", "GET /healthz", "GET /orders/%d/lines"}
	var b bytes.Buffer
	for i := range lines {
		at := start.Add(time.Duration(i)*time.Millisecond - time.Duration(r.IntN(300))*time.Millisecond)
		n := busy.Uint64()
		request := requests[r.IntN(len(requests))]
		if bytes.Contains([]byte(request), []byte("%d")) {
			request = fmt.Sprintf(request, r.IntN(100_000))
		}
		status := []int{200, 200, 200, 401, 404}[r.IntN(5)]
		fmt.Fprintf(&b, "[%s] \"%s HTTP/1.1\" %d - 113 1480 %d %d \"10.%d.%d.%d\" \"Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101\" \"7f3c8a52-63f5-4c3c-9c9d-%012x\" \"shop.example.com\" \"10.0.0.7:8080\"\n",
			at.Format("2006-01-02T15:04:05.000Z"), request, status, r.IntN(300), r.IntN(200), n>>16&255, n>>8&255, n&255, n%40, i)
	}
	return b.Bytes()
}

// BenchmarkRun reports lines a second, from text to report.
func BenchmarkRun(b *testing.B) {
	const lines = 300_000
	log := benchLog(lines)
	p, err := policy.Parse([]byte(benchPolicy), func(string) (string, bool) { return "", false })
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		report, err := Run(b.Context(), p, []accesslog.Input{{Name: "bench", Reader: bytes.NewReader(log)}}, Options{Top: 10})
		if err != nil || report.Requests != lines {
			b.Fatal(err, report)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
