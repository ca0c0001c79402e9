package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/figure"
	"routelimit/limit"
	"routelimit/limit/audit"
	"routelimit/policy"
)

func TestAttacksBeginWhereTheyMean(t *testing.T) {
	full := time.Unix(1_729_771_200, 0) // a full minute
	for _, c := range []struct {
		attack   int
		now, ask time.Duration
	}{
		{0, time.Second, time.Second},
		{0, 50 * time.Second, 50 * time.Second},
		{0, 50*time.Second + time.Millisecond, time.Minute + 300*time.Millisecond},
		{1, 100 * time.Millisecond, 700 * time.Millisecond},
		{1, 700 * time.Millisecond, 1700 * time.Millisecond},
		{2, 900 * time.Millisecond, 900 * time.Millisecond},
	} {
		if got := attacks(3)[c.attack].begin(full.Add(c.now)).Sub(full); got != c.ask {
			t.Errorf("attack %d, asked at %v: begins at %v, want %v", c.attack, c.now, got, c.ask)
		}
	}
}

func TestOvershootPolicyHasARouteForEachAlgorithmAndWindow(t *testing.T) {
	p, err := policy.Parse([]byte(overshootPolicy()), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for i, algorithm := range limit.AlgorithmNames() {
		for unit, window := range map[string]time.Duration{"minute": time.Minute, "second": time.Second} {
			var m policy.Matched
			route := p.Match("GET", "localhost", "/"+algorithm+"/"+unit, &m)
			if route == nil || len(route.Limits) != 1 {
				t.Fatalf("%s, %s: %+v", algorithm, unit, route)
			}
			want := limit.Limit{Algorithm: limit.Algorithm(i), Limit: overshootLimit, Window: window}
			if diff := cmp.Diff(want, route.Limits[0].Limit); diff != "" || route.OnError != policy.Closed {
				t.Errorf("%s, %s: on error %v\n%s", algorithm, unit, route.OnError, diff)
			}
		}
	}
}

// TestVolleyIsJudged sends a volley to limiters that count for themselves: one in a window, and one that lets three more
// pass.
func TestVolleyIsJudged(t *testing.T) {
	for _, more := range []int64{0, 3} {
		var count atomic.Int64
		limiter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("x-minute") != "caller" || r.URL.Path != "/fixed_window/minute" {
				t.Errorf("%s of %q", r.URL.Path, r.Header.Get("x-minute"))
			}
			if count.Add(1) > overshootLimit+more {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		defer limiter.Close()
		c := &contender{algorithm: limit.FixedWindow, urls: []string{limiter.URL, limiter.URL}}
		v, err := sendVolley(t.Context(), c, attack{window: time.Minute, length: 300 * time.Millisecond}, "caller")
		if err != nil {
			t.Fatal(err)
		}
		// In one window, whatever the clock says.
		for i := range v.admitted {
			v.admitted[i] = audit.Admission{Sent: time.Unix(60, 0), Answered: time.Unix(61, 0)}
		}
		judged := limit.Limit{Algorithm: limit.FixedWindow, Limit: overshootLimit, Window: time.Minute}
		if got := audit.Over(judged, v.admitted); int64(got) != more || v.refused == 0 {
			t.Errorf("%d over, %d refused; want %d over", got, v.refused, more)
		}
	}
}

func TestVolleyFailsWhereSomethingElseIsAnswered(t *testing.T) {
	limiter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer limiter.Close()
	c := &contender{urls: []string{limiter.URL}}
	_, err := sendVolley(t.Context(), c, attack{window: time.Second, length: time.Minute}, "caller")
	if err == nil || !strings.Contains(err.Error(), "answered 503") {
		t.Errorf("error = %v", err)
	}
}

func TestOvershootTableNamesEachAttackOnce(t *testing.T) {
	got := figure.Align(overshootRows([]outcome{
		{Attack: "at once", Contender: "a", Asked: 900, Admitted: figure.SpreadOf([]float64{100, 100}), MostInWindow: 100},
		{Attack: "at once", Contender: "b", Asked: 80, Admitted: figure.SpreadOf([]float64{101, 103}), Over: 4, MostInWindow: 103},
		{Attack: "later", Contender: "a", Asked: 9, Admitted: figure.SpreadOf([]float64{8}), MostInWindow: 5},
	}))
	want := "" +
		"     asked  admitted a round  over  most in a window's length\n" +
		"at once\n" +
		"  a    900               100     0                        100\n" +
		"  b     80         101 … 103     4                        103\n" +
		"later\n" +
		"  a      9                 8     0                          5\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
