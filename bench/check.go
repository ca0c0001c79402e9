package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"routelimit/bench/stand"
	"routelimit/servers"
)

// checkLimits asks for more than the probe's limit. A column that limits must pass what is allowed and then refuse;
// another one must pass everything.
func checkLimits(ctx context.Context, c *column, r *servers.Redis) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Columns share the probe's key.
	if err := r.Client().FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("redis cannot be emptied: %w; see its log %s", err, r.LogFile())
	}
	before, err := stand.ReadCalls(ctx, r)
	if err != nil {
		return err
	}
	// A window of an hour may end on the way, so one limit's worth more is asked.
	const asked = 2*probeLimit + 1
	var statuses []int
	for range asked {
		status, err := ask(ctx, c, probePath, probeCaller)
		if err != nil {
			return err
		}
		statuses = append(statuses, status)
	}
	after, err := stand.ReadCalls(ctx, r)
	if err != nil {
		return err
	}
	if err := judgeProbes(c.limits, statuses); err != nil {
		return fmt.Errorf("%w; see Envoy's log:\n%s", err, c.envoy.Log())
	}
	// The first call of a script that Redis does not know yet is sent twice.
	return judgeDecisions(c.asks, asked, 1, after.Decisions-before.Decisions)
}

func judgeProbes(limits bool, statuses []int) error {
	refused := 0
	for i, status := range statuses {
		switch {
		case status == http.StatusOK:
		case status == http.StatusTooManyRequests && limits && i >= probeLimit:
			refused++
		default:
			return fmt.Errorf("request %d of a caller with a limit of %d was answered %d (all: %v)", i+1, probeLimit, status, statuses)
		}
	}
	if limits && refused == 0 {
		return fmt.Errorf("%d requests of a caller with a limit of %d all passed: nothing is limited", len(statuses), probeLimit)
	}
	return nil
}

// ask sends one request and returns its status.
func ask(ctx context.Context, c *column, path, caller string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.addr+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set(callerHeader, caller)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("envoy does not answer a first request: %w; see its log %s", err, c.envoy.LogFile())
	}
	return resp.StatusCode, resp.Body.Close()
}

// judgeDecisions compares what Redis was asked with what the column should have asked. more is allowed for.
func judgeDecisions(asks asking, requests, more, decided int64) error {
	switch {
	case asks == never && decided != 0:
		return fmt.Errorf("redis was asked %d times by a column that asks nothing; see what else uses it", decided)
	case asks == always && decided < requests:
		return fmt.Errorf("redis was asked %d times for %d requests: not every request is counted; see INFO commandstats", decided, requests)
	case asks == leased && decided <= 2*requests+more:
	case decided > requests+more:
		return fmt.Errorf("redis was asked %d times for %d requests: too often; see INFO commandstats", decided, requests)
	}
	return nil
}

// responses are how many of each class of status a column's Envoy has given.
func responses(ctx context.Context, c *column) (map[string]int64, error) {
	return c.envoy.Stats(ctx, `^http\.`+stand.PublicStats+`\.downstream_rq_[12345]xx$`)
}

// judgeResponses fails if Envoy gave another number of answers of the wanted class of status than the load saw, or any of
// another class.
func judgeResponses(before, after map[string]int64, status int, requests int64) error {
	wanted := fmt.Sprintf("http.%s.downstream_rq_%dxx", stand.PublicStats, status/100)
	for name, n := range after {
		n -= before[name]
		if name == wanted && n != requests {
			return fmt.Errorf("envoy counted %d in %s and the load %d; see who else uses this Envoy", n, name, requests)
		}
		if name != wanted && n != 0 {
			return fmt.Errorf("envoy counted %d in %s: these requests failed; look into the limiter", n, name)
		}
	}
	if _, ok := after[wanted]; !ok {
		return fmt.Errorf("envoy has no counter %s; restore the stat_prefix in envoy.yaml", wanted)
	}
	return nil
}
