package counting

import (
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
)

// sums are what a run came to.
type sums struct{ admitted, refused, undecided, over, lost int }

// checkCounts compares what was let through with the limits and with what Redis has stored. lostSince is nil, or says how
// many of a subject's admissions may be missing in Redis, and so may have been admitted once more.
func checkCounts(t *testing.T, s *store, records map[subject]*record, mayLack func(subject, *record) int) sums {
	t.Helper()
	var all sums
	for who, r := range records {
		all.admitted += len(r.admitted)
		all.refused += r.refused
		all.undecided += r.undecided
		lack := 0
		if mayLack != nil {
			lack = mayLack(who, r)
		}
		over := audit.Over(shortLimits(who.algorithm), r.admitted)
		all.over += over
		if over > lack {
			t.Errorf("%s: %d of %d admitted over the limit, at most %d of them because a primary died", who.key(), over, len(r.admitted), lack)
		}
		if len(r.admitted) == 0 || r.refused == 0 {
			t.Errorf("%s: %d admitted and %d refused: nothing was tested", who.key(), len(r.admitted), r.refused)
		}
		if !who.counted() {
			continue
		}
		total := s.total(t, who.key())
		lost := max(0, len(r.admitted)-total)
		all.lost += lost
		if lost > lack || total > len(r.admitted)+r.undecided {
			t.Errorf("%s: Redis has counted %d, %d were admitted and %d undecided; at most %d may be lost",
				who.key(), total, len(r.admitted), r.undecided, lack)
		}
	}
	checkExpiries(t, s)
	return all
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
