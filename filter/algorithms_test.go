//go:build !wasip1

package main_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	hosttest "routelimit/host-test"
	"routelimit/limit"
)

const ms = time.Millisecond

// oneLimit is a policy with one limit on GET /a, and nothing else limited.
func oneLimit(fields string) string {
	return fmt.Sprintf(`{"routes": {"GET /a": {"identity": "ip", %s}}, "default": null}`, fields)
}

var algorithms = map[string]string{
	"fixed_window":   oneLimit(`"limit": 10, "window": "1m", "algorithm": "fixed_window"`),
	"sliding_window": oneLimit(`"limit": 10, "window": "1m"`),
	"sliding_log":    oneLimit(`"limit": 10, "window": "1m", "algorithm": "sliding_log"`),
	"token_bucket":   oneLimit(`"limit": 10, "window": "1m", "algorithm": "token_bucket"`),
}

// waitUntil moves the clock to a time after its start, where windows begin.
func (r *rig) waitUntil(at time.Duration) {
	r.t.Helper()
	r.advance(hosttest.NewClock().Now().Add(at).Sub(r.clock.Now()))
}

// passes sends requests one after the other and returns how many passed.
func (r *rig) passes(n int) int {
	passed := 0
	for range n {
		if fate(r.get("/a")) == "passed" {
			passed++
		}
	}
	return passed
}

func TestG15_G18_G19_AlgorithmsAtABoundaryAndAtTheMidpointOfTheNextWindow(t *testing.T) {
	type moment struct {
		at          time.Duration
		tries, pass int
	}
	for name, moments := range map[string][]moment{
		"fixed_window": {{59_999 * ms, 13, 10}, {60_000 * ms, 13, 10}, {90_000 * ms, 3, 0}, {120_000 * ms, 1, 1}},
		// 10 in the previous window weigh 10 at its end and 5 in the middle; the 5 of this one and
		// ceil(10/60000) of the previous stand 1 ms before it ends.
		"sliding_window": {{59_999 * ms, 13, 10}, {60_000 * ms, 3, 0}, {90_000 * ms, 8, 5}, {119_999 * ms, 6, 4}, {120_000 * ms, 2, 1}},
		"sliding_log":    {{59_999 * ms, 13, 10}, {60_000 * ms, 3, 0}, {90_000 * ms, 3, 0}, {119_998 * ms, 3, 0}, {119_999 * ms, 13, 10}},
		// A token comes back every 6 s: at 90 s five have, of which one was taken at 65.999 s.
		"token_bucket": {{59_999 * ms, 13, 10}, {60_000 * ms, 3, 0}, {65_998 * ms, 3, 0}, {65_999 * ms, 3, 1}, {90_000 * ms, 8, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, algorithms[name])
			for _, m := range moments {
				r.waitUntil(m.at)
				if got := r.passes(m.tries); got != m.pass {
					t.Errorf("at %s %d of %d passed, want %d", m.at, got, m.tries, m.pass)
				}
			}
		})
	}
}

func TestG17_ExactlyNOfManyAtOncePass(t *testing.T) {
	for name, policy := range algorithms {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, policy)
			r.clock.Advance(1234 * ms)
			var all []*hosttest.Stream
			for range 200 {
				all = append(all, r.send("GET", "/a", ""))
			}
			r.advance(10 * ms) // more than 64 answers take more than one callback
			for i, s := range all {
				if want := i < 10; (fate(s) == "passed") != want {
					t.Fatalf("request %d: %s; the first 10 shall pass", i, fate(s))
				}
			}
			if name == "fixed_window" || name == "sliding_window" {
				if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w60"); got != 10 {
					t.Errorf("the stored count is %d, want 10", got)
				}
			}
		})
	}
}

func TestG28_RetryAfterIsExact(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		before []time.Duration // requests that pass, after the clock's start
		at     time.Duration   // the one that is refused
		want   string
	}{
		"fixed window":                  {oneLimit(`"limit": 5, "window": "1m", "algorithm": "fixed_window"`), []time.Duration{0, 0, 0, 0, 0}, 20 * time.Second, "40"},
		"fixed window, a ms before":     {oneLimit(`"limit": 1, "window": "1m", "algorithm": "fixed_window"`), []time.Duration{0}, 59_999 * ms, "1"},
		"sliding window, next one":      {oneLimit(`"limit": 5, "window": "1m"`), []time.Duration{0, 0, 0, 0, 0}, 20 * time.Second, "52"},
		"sliding window, in this one":   {oneLimit(`"limit": 5, "window": "1m"`), []time.Duration{30 * time.Second, 31 * time.Second, 32 * time.Second, 33 * time.Second, 34 * time.Second}, 60_001 * ms, "12"},
		"sliding window, both to blame": {oneLimit(`"limit": 3, "window": "10s"`), []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second, 13_334 * ms}, 14 * time.Second, "3"},
		"sliding log":                   {oneLimit(`"limit": 2, "window": "10s", "algorithm": "sliding_log"`), []time.Duration{0, 7 * time.Second}, 8 * time.Second, "2"},
		"sliding log, a ms after":       {oneLimit(`"limit": 1, "window": "10s", "algorithm": "sliding_log"`), []time.Duration{0}, 1 * ms, "10"},
		"bucket, below a second":        {oneLimit(`"limit": 10, "window": "1s", "algorithm": "token_bucket", "burst": 1`), []time.Duration{0}, 10 * ms, "1"},
		"bucket, slow":                  {oneLimit(`"limit": 1, "window": "1h", "algorithm": "token_bucket"`), []time.Duration{0}, 1 * ms, "3600"},
		"bucket, cost 3 of burst 4":     {oneLimit(`"limit": 6, "window": "1m", "algorithm": "token_bucket", "burst": 4, "cost": 3`), []time.Duration{0}, 5 * time.Second, "15"},
		"window, cost 3":                {oneLimit(`"limit": 5, "window": "1m", "cost": 3`), []time.Duration{0}, 1 * ms, "80"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, c.policy)
			for _, at := range c.before {
				r.waitUntil(at)
				r.want("passed", r.get("/a"), "at", at)
			}
			r.waitUntil(c.at)
			refused := r.get("/a")
			r.want("429", refused)
			got := refused.Client().Headers.Get("retry-after")
			if got != c.want {
				t.Errorf("Retry-After: %q, want %q", got, c.want)
			}
			seconds, err := strconv.Atoi(got)
			if err != nil || seconds < 1 {
				t.Fatalf("Retry-After: %q", got)
			}
			r.advance(time.Duration(seconds-1) * time.Second)
			if seconds > 1 {
				r.want("429", r.get("/a"), "a second too early")
			}
			r.advance(time.Second)
			r.want("passed", r.get("/a"), "after exactly that long")
		})
	}
}

// A request that can never pass gets no Retry-After, and no other one pays for it.
func TestCostOverTheLimitNeverPasses(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 5, "window": "1m", "cost": 6`))
	s := r.get("/a")
	r.want("429", s)
	if got := s.Client().Headers.Values("retry-after"); got != nil {
		t.Errorf("Retry-After: %q, want none", got)
	}
	if got, want := string(s.Client().Body), `{"error":"rate_limited"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if keys := r.keys(); len(keys) != 0 {
		t.Errorf("a refusal left %v", keys)
	}
}

// The real filter, the real script and Redis against the model, at times drawn
// by chance.
func TestFilterAgreesWithTheModel(t *testing.T) {
	for name, fields := range map[string]struct {
		json string
		limit.Limit
	}{
		"fixed_window":   {`"algorithm": "fixed_window"`, limit.Limit{Algorithm: limit.FixedWindow}},
		"sliding_window": {`"algorithm": "sliding_window"`, limit.Limit{}},
		"sliding_log":    {`"algorithm": "sliding_log"`, limit.Limit{Algorithm: limit.SlidingLog}},
		"token_bucket":   {`"algorithm": "token_bucket", "burst": 3`, limit.Limit{Algorithm: limit.TokenBucket, Burst: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, oneLimit(fields.json+`, "limit": 7, "window": "10s"`))
			l := fields.Limit
			l.Limit, l.Window = 7, 10*time.Second
			charges := []limit.Charge{{Limit: &l, Cost: 1}}
			var model limit.Model
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 400 {
				r.clock.Advance(time.Duration(random.IntN(3000)) * ms / time.Duration(1+random.IntN(3)))
				now := r.clock.Now().UnixMilli()
				want := model.Decide("key", now, charges)
				s := r.get("/a")
				if got := fate(s) == "passed"; got != want.Allowed {
					t.Fatalf("request %d at %d: passed %v, the model says %v", i, now, got, want.Allowed)
				}
				if want.Allowed {
					respond(s, "200")
				}
				verdict := want.Verdicts[0]
				reset := verdict.Reset
				if !want.Allowed {
					reset = verdict.Wait
				}
				got := s.Client().Headers
				for header, n := range map[string]int64{
					"x-ratelimit-limit": 7, "x-ratelimit-remaining": verdict.Remaining,
					"x-ratelimit-reset": int64((reset + time.Second - 1) / time.Second),
				} {
					if got.Get(header) != strconv.FormatInt(n, 10) {
						t.Fatalf("request %d at %d: %s: %q, the model says %d", i, now, header, got.Get(header), n)
					}
				}
			}
		})
	}
}

// A clock that goes back refuses nobody for longer than a window, and one that
// jumped ahead by more is a fault: counted, and begun anew.
func TestClockOfRedisGoesBack(t *testing.T) {
	for name, policy := range algorithms {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, asking(policy))
			r.waitUntil(30 * time.Second)
			if got := r.passes(11); got != 10 {
				t.Fatalf("%d passed", got)
			}
			r.clock.Step(-20 * time.Second)
			s := r.get("/a")
			r.want("429", s, "20 s earlier")
			wait, err := strconv.Atoi(s.Client().Headers.Get("retry-after"))
			if err != nil {
				t.Fatal(err)
			}
			r.advance(time.Duration(wait) * time.Second)
			r.want("passed", r.get("/a"), "after Retry-After")
			r.clock.Step(-time.Hour)
			r.want("passed", r.get("/a"), "an hour earlier")
			r.wantCounter(1, r.counter("routelimit_state_restarted_total"), "restarted")
		})
	}
}
