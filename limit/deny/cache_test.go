package deny

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/limit"
)

const sec = time.Second

var (
	key     = []byte("rl:{GET:/a|ip:203.0.113.7}")
	perTen  = &limit.Limit{Limit: 3, Window: 10 * sec, Algorithm: limit.FixedWindow}
	charges = []limit.Charge{limit.NewCharge(perTen, 1)}
)

// refusal is what Redis says of perTen with so long to go.
func refusal(left time.Duration) *limit.Decision {
	return &limit.Decision{AtMS: 1_000_000, Verdicts: []limit.Verdict{{Reset: left, Wait: left}}}
}

func TestG38_ARefusalIsRepeatedUntilRedisWouldAllow(t *testing.T) {
	c := New(10, 30*sec)
	var d limit.Decision
	if c.InUse() || c.Recall(key, charges, 100*sec, &d) {
		t.Fatal("an empty cache knows a refusal")
	}
	c.Keep(key, charges, refusal(8*sec), 100*sec)
	for _, tt := range []struct {
		at   time.Duration
		wait time.Duration // 0: not refused
	}{
		{100 * sec, 8 * sec}, {103 * sec, 5 * sec}, {107*sec + 998*time.Millisecond, 2 * time.Millisecond},
		{107*sec + 999*time.Millisecond, 0}, {108 * sec, 0}, {200 * sec, 0},
	} {
		if got := c.Recall(key, charges, tt.at, &d); got != (tt.wait > 0) {
			t.Fatalf("at %v: refused %v", tt.at, got)
		}
		if tt.wait == 0 {
			continue
		}
		want := limit.Decision{AtMS: 1_000_000 + (tt.at - 100*sec).Milliseconds(), Verdicts: []limit.Verdict{{Reset: tt.wait, Wait: tt.wait}}}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", tt.at, diff)
		}
	}
	if c.InUse() {
		t.Error("in use when all is over")
	}
}

func TestG38_ARefusalIsRepeatedForNoLongerThanTold(t *testing.T) {
	var d limit.Decision
	c := New(10, 30*sec)
	c.Keep(key, charges, refusal(time.Hour), 100*sec)
	if !c.Recall(key, charges, 130*sec-1, &d) || c.Recall(key, charges, 130*sec, &d) {
		t.Error("want it repeated for 30 s")
	}
	never := &limit.Decision{Verdicts: []limit.Verdict{{Wait: limit.Never}}}
	c.Keep(key, []limit.Charge{limit.NewCharge(&limit.Limit{Limit: 3, Window: sec}, 5)}, never, 200*sec)
	if c.Recall(key, charges, 230*sec, &d) {
		t.Error("a request that never passes is repeated for more than 30 s")
	}
	for name, c := range map[string]*Cache{"none": nil, "no time": New(10, 0)} {
		if c.Keep(key, charges, refusal(sec), 100*sec); c.Recall(key, charges, 100*sec, &d) {
			t.Errorf("%s: remembered", name)
		}
	}
}

func TestARefusalIsBoundToItsQuestion(t *testing.T) {
	c := New(10, 30*sec)
	c.Keep(key, charges, refusal(8*sec), 100*sec)
	again := *perTen
	var d limit.Decision
	for name, other := range map[string][]limit.Charge{
		"another cost":         {limit.NewCharge(perTen, 2)},
		"an equal new limit":   {limit.NewCharge(&again, 1)},
		"one limit more":       {charges[0], limit.NewCharge(&limit.Limit{Limit: 5, Window: sec}, 1)},
		"none":                 {},
		"the same, other cost": {{Limit: perTen, Cost: 0}},
	} {
		if c.Recall(key, other, 101*sec, &d) {
			t.Errorf("%s: refused by another's refusal", name)
		}
	}
	if c.Recall([]byte("rl:{GET:/a|ip:203.0.113.8}"), charges, 101*sec, &d) {
		t.Error("another key is refused")
	}
	c.GivenBack(key, 101*sec)
	c.Keep(key, charges, refusal(8*sec), 101*sec) // asked before that
	if c.Recall(key, charges, 101*sec, &d) {
		t.Error("refused after something was given back")
	}
	c.Keep(key, charges, refusal(8*sec), 101*sec+1)
	if !c.Recall(key, charges, 102*sec, &d) {
		t.Error("asked after it was given back, and not remembered")
	}
}

func TestASuspectWaitsAsLongAsItWasTold(t *testing.T) {
	c := New(4, time.Minute)
	key := []byte("k")
	c.Suspect(key, 10*time.Second, time.Second)
	if got := c.Waits(key, 4*time.Second); got != 7*time.Second {
		t.Errorf("waits %v, want 7s", got)
	}
	if got := c.Waits(key, 12*time.Second); got != 0 {
		t.Errorf("waits %v when it is over", got)
	}
	c.Suspect(key, limit.Never, 20*time.Second)
	if got := c.Waits(key, 21*time.Second); got != limit.Never {
		t.Errorf("waits %v, want for ever", got)
	}
	if c.Passed(key, 22*time.Second); c.Waits(key, 22*time.Second) != 0 || c.Waits([]byte("another"), 0) != 0 {
		t.Error("who passed, or is not known, waits")
	}
}

func TestTheMostSuspectIsWhoIsRefusedAllTheTime(t *testing.T) {
	culprit, victim := []byte("culprit"), []byte("victim")
	c := New(10, 30*sec)
	for range 300 {
		c.Suspect(culprit, sec, 100*sec)
	}
	for range 10 { // held at its limit by the culprit, and passing in between
		c.Suspect(victim, sec, 100*sec)
		c.Passed(victim, 100*sec)
	}
	c.Passed(culprit, 100*sec) // a token has come
	if a, b := c.Score(culprit, 101*sec), c.Score(victim, 101*sec); a != 127 || b > 1 {
		t.Errorf("culprit %d, victim %d", a, b)
	}
	if c.Score([]byte("another"), 101*sec) != 0 {
		t.Error("somebody unknown is suspect")
	}
	if c.Score(culprit, 131*sec-1) == 0 || c.Score(culprit, 131*sec) != 0 {
		t.Error("want it suspect for 30 s longer than its wait")
	}
	if c.Suspect(culprit, limit.Never, 200*sec); c.Score(culprit, 201*sec) != 1 {
		t.Errorf("the score after long peace is %d, want 1", c.Score(culprit, 201*sec))
	}
	var none *Cache
	if none.Suspect(culprit, sec, 0); none.Score(culprit, 0) != 0 {
		t.Error("nothing remembers")
	}
}

func TestG38_AFloodOfIdentitiesDropsTheOldestAndAllocatesNothing(t *testing.T) {
	const keys = 256
	c := New(keys, 30*sec)
	d := refusal(8 * sec)
	n := 0
	name := make([]byte, 0, 64)
	keep := func() {
		n++
		name = fmt.Appendf(name[:0], "rl:{GET:/a|ip:%d}", n)
		c.Keep(name, charges, d, 100*sec)
	}
	for range 2 * keys {
		keep()
	}
	var into limit.Decision
	for i := 1; i <= n; i++ {
		if got := c.Recall(fmt.Appendf(nil, "rl:{GET:/a|ip:%d}", i), charges, 101*sec, &into); got != (i > n-keys) {
			t.Fatalf("key %d of %d: refused %v", i, n, got)
		}
	}
	if got := testing.AllocsPerRun(1000, keep); got > 1 { // one is of fmt.Appendf
		t.Errorf("%v allocations a refusal", got)
	}
	if got := testing.AllocsPerRun(1000, func() { c.Recall(name, charges, 101*sec, &into) }); got != 0 {
		t.Errorf("%v allocations a refusal from memory", got)
	}
}
