package counting

import (
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
)

// sums are what became of requests: how many of those admitted were over the limit, and how many Redis does not know of.
type sums struct{ admitted, refused, undecided, over, lost int }

// checkCounts compares what was let through with the limits and with what Redis has stored. mayLack is nil, or says how many
// of a subject's admissions may be missing in Redis, and so may have been admitted once more.
func checkCounts(t *testing.T, s *store, records map[subject]*record, mayLack func(subject, *record) int) sums {
	t.Helper()
	var all sums
	for who, r := range records {
		lack := 0
		if mayLack != nil {
			lack = mayLack(who, r)
		}
		one := sums{len(r.admitted), r.refused, r.undecided, audit.Over(shortLimits(who.algorithm), r.admitted), 0}
		if who.counted() {
			total := s.total(t, who.key())
			one.lost = max(0, one.admitted-total)
			if total > one.admitted+one.undecided {
				t.Errorf("%s: Redis has counted %d: %+v", who.key(), total, one)
			}
		}
		if one.over > lack || one.lost > lack {
			t.Errorf("%s: %+v, want at most %d over or lost", who.key(), one, lack)
		}
		all = all.plus(one)
	}
	if all.admitted < len(records) || all.refused < len(records) {
		t.Errorf("%+v of %d subjects: too little was tested", all, len(records))
	}
	checkExpiries(t, s)
	return all
}

func (a sums) plus(b sums) sums {
	return sums{a.admitted + b.admitted, a.refused + b.refused, a.undecided + b.undecided, a.over + b.over, a.lost + b.lost}
}

// longest is for how long a key may live from now on: as long as its fields can change a verdict, and a second. A window's
// count matters until the next one has ended.
func longest(key string) time.Duration {
	route, _, _ := strings.Cut(strings.TrimPrefix(key, "rl:{GET:"), "|")
	switch {
	case strings.HasPrefix(route, "/counted/"):
		return 2*24*time.Hour + time.Second
	case strings.HasSuffix(route, limit.SlidingLog.String()), strings.HasSuffix(route, limit.TokenBucket.String()):
		return time.Second + time.Second
	}
	return 2*time.Second + time.Second
}

// checkExpiries finds an expiry on every key, and none later than the key is of use.
func checkExpiries(t *testing.T, s *store) {
	t.Helper()
	for _, server := range s.primaries(t) {
		for _, key := range keys(t, server) {
			ttl, err := server.Client().PTTL(t.Context(), key).Result()
			if err != nil {
				t.Fatal(err)
			}
			// -2: it has gone meanwhile.
			if ttl == -1 || ttl > longest(key) {
				t.Errorf("G16: %s lives for %v, want at most %v", key, ttl, longest(key))
			}
		}
	}
}
