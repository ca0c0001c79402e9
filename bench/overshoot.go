package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
	"routelimit/limit"
	"routelimit/limit/audit"
	"routelimit/servers"
)

// Overshoot is how many more requests are admitted than a limit allows. Four Envoys with one Redis behind them are sent many
// more than that at once, for one identity, in three ways (see attacks). Each limiter has its own turn, on Envoys of its
// own, in every round with an identity that nobody has counted yet.
//
// "Over" is by the limiter's own definition of its algorithm, as package limit/audit judges it from when each request was
// sent and answered: what no order of decisions explains. "In a window's length" is how many requests certainly passed
// within some span no longer than the window, wherever it begins; by their definition all algorithms but sliding_log admit
// more than the limit there.
const (
	overshootLimit       = 100
	overshootEnvoys      = 4
	overshootConnections = 16 // to each Envoy
)

// attack is a way to send too much.
type attack struct {
	title  string
	window time.Duration
	// begin is when to begin, if asked now.
	begin  func(now time.Time) time.Time
	length time.Duration
}

func attacks(seconds int) []attack {
	const before = 300 * time.Millisecond
	return []attack{
		{"100 a minute, all at once", time.Minute, func(now time.Time) time.Time {
			if end := next(now, time.Minute); end.Sub(now) < 10*time.Second {
				return end.Add(before)
			}
			return now
		}, time.Second},
		{"100 a second, 0.3 s either side of a boundary", time.Second, func(now time.Time) time.Time {
			return next(now.Add(before), time.Second).Add(-before)
		}, 2 * before},
		{fmt.Sprintf("100 a second, for %d s", seconds), time.Second, func(now time.Time) time.Time { return now },
			time.Duration(seconds) * time.Second},
	}
}

// next is the first boundary between two windows after t.
func next(t time.Time, window time.Duration) time.Time { return t.Truncate(window).Add(window) }

// contender is a limiter with one algorithm.
type contender struct {
	title     string
	algorithm limit.Algorithm
	urls      []string // of its Envoys
}

// outcome is what one contender admitted under one attack, over all rounds.
type outcome struct {
	Attack       string        `json:"attack"`
	Contender    string        `json:"contender"`
	Rounds       int           `json:"rounds"`
	Asked        int           `json:"asked"`
	Admitted     figure.Spread `json:"admitted"`
	Over         int           `json:"over"`
	MostInWindow int           `json:"most_in_a_windows_length"`
}

// overshoot measures and reports. Whatever it started has ended when it returns.
func overshoot(ctx context.Context, s settings, out, progress io.Writer) error {
	machine := stand.DescribeMachine()
	rig, err := startOvershootRig(ctx, s, progress)
	if err != nil {
		return err
	}
	defer rig.stop()
	var outcomes []outcome
	for _, a := range attacks(s.Seconds) {
		for _, c := range rig.contenders {
			fmt.Fprintf(progress, "%s: %s\n", a.title, c.title)
			o, err := measureOvershoot(ctx, s, rig.redis, a, c)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.title, a.title, err)
			}
			outcomes = append(outcomes, o)
		}
	}
	if _, err := io.WriteString(out, overshootText(machine, rig.versions, s, outcomes)); err != nil {
		return err
	}
	return figure.WriteJSON(s.JSON, outcomes)
}

func measureOvershoot(ctx context.Context, s settings, r *servers.Redis, a attack, c *contender) (outcome, error) {
	o := outcome{Attack: a.title, Contender: c.title, Rounds: s.Rounds}
	judged := limit.Limit{Algorithm: c.algorithm, Limit: overshootLimit, Window: a.window}
	var admitted []float64
	for round := range s.Rounds {
		if err := waitUntil(ctx, a.begin(time.Now())); err != nil {
			return o, err
		}
		v, err := sendVolley(ctx, c, a, fmt.Sprintf("caller-%d", round))
		if err != nil {
			return o, err
		}
		if v.refused == 0 {
			return o, fmt.Errorf("all of %d requests were admitted: nothing is limited, or too few were sent", len(v.admitted))
		}
		o.Asked += len(v.admitted) + v.refused
		o.Over += audit.Over(judged, v.admitted)
		o.MostInWindow = max(o.MostInWindow, audit.Densest(a.window, v.admitted))
		admitted = append(admitted, float64(len(v.admitted)))
	}
	o.Admitted = figure.SpreadOf(admitted)
	if err := r.Client().FlushAll(ctx).Err(); err != nil { // the next one's callers have the same names
		return o, err
	}
	return o, nil
}

func waitUntil(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(t)):
		return nil
	}
}
