package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"routelimit/servers"
)

// checkLimits asks for more than the probe's limit. A column that counts must pass what is allowed and then refuse;
// another one must pass everything.
func checkLimits(ctx context.Context, c *column, r *servers.Redis) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Columns share the probe's key.
	if err := r.Client().FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("redis cannot be emptied: %w; see its log %s", err, r.LogFile())
	}
	before, err := decisions(ctx, r)
	if err != nil {
		return err
	}
	// A window of an hour may end on the way, so one limit's worth more is asked.
	const asked = 2*probeLimit + 1
	var statuses []int
	for range asked {
		status, err := probe(ctx, c.url)
		if err != nil {
			return err
		}
		statuses = append(statuses, status)
	}
	after, err := decisions(ctx, r)
	if err != nil {
		return err
	}
	if err := judgeProbes(c.counts, statuses); err != nil {
		return fmt.Errorf("%w; see Envoy's log:\n%s", err, c.envoy.Log())
	}
	// The first call of a script that Redis does not know yet is sent twice.
	return judgeDecisions(c.counts, asked, 1, after-before)
}

func judgeProbes(counts bool, statuses []int) error {
	refused := 0
	for i, status := range statuses {
		switch {
		case status == http.StatusOK:
		case status == http.StatusTooManyRequests && counts && i >= probeLimit:
			refused++
		default:
			return fmt.Errorf("request %d of a caller with a limit of %d was answered %d (all: %v)", i+1, probeLimit, status, statuses)
		}
	}
	if counts && refused == 0 {
		return fmt.Errorf("%d requests of a caller with a limit of %d all passed: nothing is limited", len(statuses), probeLimit)
	}
	return nil
}

func probe(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+probePath, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set(callerHeader, probeCaller)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("envoy does not answer the probe: %w", err)
	}
	return resp.StatusCode, resp.Body.Close()
}

// judgeDecisions compares what Redis was asked with what the column should have asked: more is allowed for, since what
// was cut off may have been decided without having been answered.
func judgeDecisions(counts bool, requests, more, decided int64) error {
	if !counts {
		if decided != 0 {
			return fmt.Errorf("redis was asked %d times by a column that asks nothing; see what else uses it", decided)
		}
		return nil
	}
	if decided < requests || decided > requests+more {
		return fmt.Errorf("redis was asked %d times for %d requests (%d at most): not every request is counted once; see INFO commandstats",
			decided, requests, requests+more)
	}
	return nil
}

// decisions is how often Redis was asked: routelimit runs a script for each decision, envoyproxy/ratelimit sends INCRBY.
// Failed calls count too: a script that Redis never knows, so that its text is sent each time, must not go unseen.
func decisions(ctx context.Context, r *servers.Redis) (int64, error) {
	info, err := r.Client().Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("redis does not show its statistics: %w; see its log %s", err, r.LogFile())
	}
	calls := commandCalls(info)
	return calls["evalsha"] + calls["eval"] + calls["incrby"], nil
}

// settled is decisions once nothing that was cut off is on its way any more.
func settled(ctx context.Context, r *servers.Redis) (int64, error) {
	last := int64(-1)
	for range 50 {
		now, err := decisions(ctx, r)
		if err != nil || now == last {
			return now, err
		}
		last = now
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("redis is asked for decisions for a second after the load has ended; see who else uses %s", r.Addr())
}

// commandCalls reads the number of calls of each command from INFO commandstats:
//
//	cmdstat_evalsha:calls=12,usec=120,usec_per_call=10.00,rejected_calls=0,failed_calls=0
func commandCalls(info string) map[string]int64 {
	calls := map[string]int64{}
	for line := range strings.Lines(info) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		count, _, _ := strings.Cut(rest, ",")
		if n, err := strconv.ParseInt(count, 10, 64); ok && err == nil {
			calls[name] = n
		}
	}
	return calls
}

const responsesOf2xx = "http." + publicStats + ".downstream_rq_2xx"

// responses are how many of each class of status a column's Envoy has given.
func responses(ctx context.Context, c *column) (map[string]int64, error) {
	return c.envoy.Stats(ctx, `^http\.`+publicStats+`\.downstream_rq_[12345]xx$`)
}

// judgeResponses fails if Envoy answered anything with another status than 2xx, or if it answered more than wrk saw: wrk
// opens a connection that was closed on it again without a word. more is allowed for, since wrk cuts off at the end.
func judgeResponses(before, after map[string]int64, requests, more int64) error {
	for name, n := range after {
		n -= before[name]
		if name == responsesOf2xx && (n < requests || n > requests+more) {
			return fmt.Errorf("envoy counted %d in %s and wrk %d: responses were lost; look into the limiter", n, name, requests)
		}
		if name != responsesOf2xx && n != 0 {
			return fmt.Errorf("envoy counted %d in %s: these requests failed; look into the limiter", n, name)
		}
	}
	if _, ok := after[responsesOf2xx]; !ok {
		return fmt.Errorf("envoy has no counter %s; restore the stat_prefix in envoy.yaml", responsesOf2xx)
	}
	return nil
}
