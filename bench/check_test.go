package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		counts                  bool
		requests, more, decided int64
		good                    bool
	}{
		{"one each", true, 1000, 8, 1000, true},
		{"and those that were cut off", true, 1000, 8, 1008, true},
		{"more than that", true, 1000, 8, 1009, false},
		{"one was not asked", true, 1000, 8, 999, false},
		{"none was asked", true, 1000, 8, 0, false},
		{"each was asked twice", true, 1000, 8, 2000, false},
		{"nothing to ask", false, 1000, 8, 0, true},
		{"nothing to ask, but asked", false, 1000, 8, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := judgeDecisions(c.counts, c.requests, c.more, c.decided); (err == nil) != c.good {
				t.Errorf("judgeDecisions = %v, want good: %v", err, c.good)
			}
		})
	}
}

func TestJudgeResponsesFindsRequestsThatWereNotAnsweredWith200(t *testing.T) {
	counts := func(good, refused, failed int64) map[string]int64 {
		return map[string]int64{
			"http.public.downstream_rq_2xx": good, "http.public.downstream_rq_4xx": refused, "http.public.downstream_rq_5xx": failed,
		}
	}
	for _, c := range []struct {
		name          string
		before, after map[string]int64
		good          bool
	}{
		{"one each", counts(5, 3, 0), counts(105, 3, 0), true},
		{"the first ever", nil, counts(100, 0, 0), true},
		{"and those that were cut off", counts(5, 3, 0), counts(113, 3, 0), true},
		{"more than that", counts(5, 3, 0), counts(114, 3, 0), false},
		{"less than were seen", counts(5, 3, 0), counts(104, 3, 0), false},
		{"a refusal", counts(5, 3, 0), counts(105, 4, 0), false},
		{"a failure", counts(5, 3, 0), counts(105, 3, 1), false},
		{"no counters", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := judgeResponses(c.before, c.after, 100, 8); (err == nil) != c.good {
				t.Errorf("judgeResponses = %v, want good: %v", err, c.good)
			}
		})
	}
}

func TestCommandCallsReadsCommandstats(t *testing.T) {
	got := commandCalls("# Commandstats\r\n" +
		"cmdstat_eval:calls=5,usec=669,usec_per_call=133.80,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_config|get:calls=2,usec=66,usec_per_call=33.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_evalsha:calls=12,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=5\r\n" +
		"cmdstat_odd:calls=many,usec=1\r\n" +
		"cmdstat_odd:usec=1\r\n")
	want := map[string]int64{"eval": 5, "config|get": 2, "evalsha": 12}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
