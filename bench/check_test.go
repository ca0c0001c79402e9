package main

import "testing"

func TestJudgeProbesFindsALimiterThatDoesNotLimit(t *testing.T) {
	for _, c := range []struct {
		name     string
		counts   bool
		statuses []int
		good     bool
	}{
		{"a limiter refuses over its limit", true, []int{200, 200, 429, 429, 429}, true},
		{"a limiter whose window ended on the way", true, []int{200, 200, 200, 200, 429}, true},
		{"a limiter that limits nothing", true, []int{200, 200, 200, 200, 200}, false},
		{"a limiter that refuses too early", true, []int{200, 429, 429, 429, 429}, false},
		{"a limiter that closed for lack of an answer", true, []int{503, 503, 503, 503, 503}, false},
		{"a limiter that fails later", true, []int{200, 200, 429, 500, 429}, false},
		{"no limiter passes all", false, []int{200, 200, 200, 200, 200}, true},
		{"no limiter refuses", false, []int{200, 200, 429, 200, 200}, false},
		{"no upstream", false, []int{503, 503, 503, 503, 503}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := judgeProbes(c.counts, c.statuses); (err == nil) != c.good {
				t.Errorf("judgeProbes = %v, want good: %v", err, c.good)
			}
		})
	}
}

func TestJudgeDecisionsFindsRequestsThatWereNotCountedOnce(t *testing.T) {
	for _, c := range []struct {
		name                    string
		asks                    asking
		requests, more, decided int64
		good                    bool
	}{
		{"one each", always, 1000, 0, 1000, true},
		{"and what is allowed for", always, 1000, 8, 1008, true},
		{"more than that", always, 1000, 8, 1009, false},
		{"one was not asked", always, 1000, 8, 999, false},
		{"none was asked", always, 1000, 8, 0, false},
		{"each was asked twice", always, 1000, 8, 2000, false},
		{"nothing to ask", never, 1000, 8, 0, true},
		{"nothing to ask, but asked", never, 1000, 8, 1, false},
		{"now and then", seldom, 1000, 0, 3, true},
		{"not once", seldom, 1000, 0, 0, true},
		{"leases for callers that come once", leased, 1000, 0, 2000, true},
		{"oftener than that", leased, 1000, 0, 2001, false},
		{"oftener than there were requests", seldom, 1000, 0, 1001, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := judgeDecisions(c.asks, c.requests, c.more, c.decided); (err == nil) != c.good {
				t.Errorf("judgeDecisions = %v, want good: %v", err, c.good)
			}
		})
	}
}

func TestJudgeResponsesFindsRequestsThatWereNotAnsweredAsWanted(t *testing.T) {
	counts := func(good, refused, failed int64) map[string]int64 {
		return map[string]int64{
			"http.public.downstream_rq_2xx": good, "http.public.downstream_rq_4xx": refused, "http.public.downstream_rq_5xx": failed,
		}
	}
	for _, c := range []struct {
		name          string
		before, after map[string]int64
		status        int
		good          bool
	}{
		{"one each", counts(5, 3, 0), counts(105, 3, 0), 200, true},
		{"the first ever", nil, counts(100, 0, 0), 200, true},
		{"more than were seen", counts(5, 3, 0), counts(106, 3, 0), 200, false},
		{"less than were seen", counts(5, 3, 0), counts(104, 3, 0), 200, false},
		{"a refusal", counts(5, 3, 0), counts(105, 4, 0), 200, false},
		{"a failure", counts(5, 3, 0), counts(105, 3, 1), 200, false},
		{"refusals that are wanted", counts(5, 3, 0), counts(5, 103, 0), 429, true},
		{"one that passed", counts(5, 3, 0), counts(6, 103, 0), 429, false},
		{"no counters", nil, nil, 200, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := judgeResponses(c.before, c.after, c.status, 100); (err == nil) != c.good {
				t.Errorf("judgeResponses = %v, want good: %v", err, c.good)
			}
		})
	}
}
