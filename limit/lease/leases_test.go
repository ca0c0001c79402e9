package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/limit"
)

const sec = time.Second

// caller is one caller in front of one worker and a Redis that answers at once.
type caller struct {
	t       *testing.T
	leases  *Leases
	redis   limit.Model
	charges []limit.Charge
	most    int64
	asked   int // questions, of both kinds
}

func newCaller(t *testing.T, most int64, limits ...*limit.Limit) *caller {
	c := &caller{t: t, leases: New(8), most: most}
	for _, l := range limits {
		c.charges = append(c.charges, limit.NewCharge(l, 1))
	}
	return c
}

// send is a request at a time, which is true and the worker's; it says whether it
// was admitted, and how many requests the lease that it asked for brought.
func (c *caller) send(at time.Duration) (admitted bool, taken int64) {
	now, ms := at+time.Hour, base+at.Milliseconds()
	var d limit.Decision
	var q Question
	var ok bool
	if l := c.leases.Spend(key, c.charges, now, &d); l != nil {
		q, ok = c.leases.Low(l, c.most, now)
	} else {
		c.asked++
		if d = c.redis.Decide(string(key), ms, c.charges); !d.Allowed {
			return false, 0
		}
		q, ok = c.leases.Decided(key, c.charges, c.most, &d, now, now)
	}
	if ok {
		c.asked++
		d, taken = c.redis.Lease(string(key), ms, q.Most, c.charges)
		c.leases.Taken(&q, taken, &d)
	}
	return true, taken
}

func (c *caller) held() int64 {
	if l := c.leases.table.Find(key); l != nil {
		return l.left
	}
	return 0
}

func fixed(n int64, window time.Duration) *limit.Limit {
	return &limit.Limit{Algorithm: limit.FixedWindow, Limit: n, Window: window}
}

func TestWhoComesOnceTakesNoLease(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute))
	for _, step := range []struct {
		at    time.Duration
		taken int64
	}{
		{0, 0},
		{Idle, 0}, // after so long it is the first again
		{Idle + 9*sec, 10},
		{Idle + 9*sec, 0}, // spends
	} {
		if _, taken := c.send(step.at); taken != step.taken {
			t.Errorf("at %v: a lease of %d, want %d", step.at, taken, step.taken)
		}
	}
}

// More is asked for while a quarter is left, so that nobody waits, and never so much
// that the worker holds more than its lease.
func TestMoreIsAskedForBeforeALeaseIsSpent(t *testing.T) {
	c := newCaller(t, 100, fixed(100000, time.Minute))
	for n := range 1000 {
		if ok, _ := c.send(time.Duration(n) * time.Millisecond); !ok {
			t.Fatal("refused within the limit")
		}
		if held := c.held(); held > 100 {
			t.Fatalf("request %d: holds %d", n, held)
		}
	}
	if c.asked != 2+1000/75+1 {
		t.Errorf("%d questions for 1000 requests, want two, and one for each 75", c.asked)
	}
}

// What is spent says what Redis had left, and what is left here.
func TestASpentRequestSaysWhatIsLeft(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute), &limit.Limit{Limit: 500, Window: time.Hour})
	c.send(0)
	c.send(0)
	var d limit.Decision
	if c.leases.Spend(key, c.charges, time.Hour+2*sec, &d) == nil {
		t.Fatal("nothing to spend")
	}
	want := limit.Decision{Allowed: true, AtMS: base + 2000, Verdicts: []limit.Verdict{
		{Pass: true, Remaining: 997, Reset: 58 * sec},
		// The first of twelve that were charged leaves the sliding window in its next turn.
		{Pass: true, Remaining: 497, Reset: time.Hour + 5*time.Minute - 2*sec},
	}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a lease brings for the window that follows does not let the rest of this one
// be spent there.
func TestTheRestOfAWindowIsNotSpentInTheNext(t *testing.T) {
	c := newCaller(t, 4, fixed(1000, time.Hour), fixed(100, time.Minute))
	c.send(59 * sec)
	c.send(59 * sec)
	now := time.Hour + 59*sec
	l := c.leases.table.Find(key)
	var d limit.Decision
	for range 3 {
		if c.leases.Spend(key, c.charges, now, &d) != l {
			t.Fatal("nothing to spend")
		}
	}
	q, ok := c.leases.Low(l, 4, now)
	if !ok || q.Most != 3 {
		t.Fatalf("asks for %d, want 3", q.Most)
	}
	d, taken := c.redis.Lease(string(key), base+60_000, q.Most, c.charges) // it takes a second to get there
	c.leases.Taken(&q, taken, &d)
	if c.held() != 3 {
		t.Errorf("%d to spend in the next window, want the 3 that were charged there", c.held())
	}
	if got := c.leases.Counts(); got != (Counts{Spent: 3}) {
		t.Errorf("%+v", got)
	}
	var u Unspent
	if !c.leases.Past(key, now+sec, &u) || u.AtMS != base+59_000 || u.Charges[0].Cost != 1 {
		t.Errorf("gives back %+v, want the rest, which the hour counts", u)
	}
	if c.leases.Past(key, now+3*time.Hour, &u) {
		t.Error("the rest of a window that has ended is given back to nobody")
	}
	if got := c.leases.Counts(); got != (Counts{Returned: 1, Expired: 3}) {
		t.Errorf("%+v, want one given back and three expired", got)
	}
}

// The lease follows the rate, as far as its share of the limit and what is left
// allow, and then every request is asked about.
func TestAnAutomaticLeaseFollowsTheRate(t *testing.T) {
	const most = 3200
	c := newCaller(t, Auto, fixed(most, time.Minute))
	var sizes []int64
	admitted := 0
	send := func(at time.Duration) {
		ok, taken := c.send(at)
		if ok {
			admitted++
		}
		if taken > 0 {
			sizes = append(sizes, taken+c.held()-taken)
		}
	}
	for n := range 300 { // a thousand a second
		send(time.Duration(n) * time.Millisecond)
	}
	if diff := cmp.Diff([]int64{16, 32, 64, 128, 200}, sizes[:5]); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	sizes = nil
	for n := range 70 { // two a second
		send(sec + time.Duration(n)*500*time.Millisecond)
	}
	if len(sizes) > 0 {
		t.Errorf("a slow caller's leases: %v", sizes)
	}
	sizes = nil
	for n := range 10 * most { // ten thousand a second
		send(40*sec + time.Duration(n)*100*time.Microsecond)
	}
	if admitted != most {
		t.Errorf("%d admitted, want %d", admitted, most)
	}
	for _, size := range sizes {
		if size > most/autoShare {
			t.Errorf("a lease of %d", size)
		}
	}
	if last := sizes[len(sizes)-1]; last != leastAuto {
		t.Errorf("the last lease was of %d, want %d", last, leastAuto)
	}
}

// A question without an answer is not asked again before Redis has decided about a
// request of that caller: an outage costs him one lease in each worker.
func TestAfterAFailedQuestionNoOtherIsAskedBeforeRedisDecides(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute))
	var d limit.Decision
	decide := func() (Question, bool) {
		d = c.redis.Decide(string(key), base, c.charges)
		return c.leases.Decided(key, c.charges, 10, &d, time.Hour, time.Hour)
	}
	decide()
	q, ok := decide()
	if !ok {
		t.Fatal("no question")
	}
	if _, again := decide(); again {
		t.Error("a second question while one is on its way")
	}
	c.leases.Failed(&q)
	if _, ok := c.leases.Low(c.leases.table.Find(key), 10, time.Hour); ok {
		t.Error("asks again at once")
	}
	if _, ok := decide(); !ok {
		t.Error("does not ask again after Redis has decided")
	}
	c.leases.Taken(&q, 10, &d) // the one that failed
	if c.held() != 0 {
		t.Error("an answer to another question is taken")
	}
}

// Limits that disagree about the time leave it open which windows were charged.
func TestALeaseWithoutATimeIsNotSpent(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute))
	d := c.redis.Decide(string(key), base, c.charges)
	c.leases.Decided(key, c.charges, 10, &d, 0, 0)
	q, _ := c.leases.Decided(key, c.charges, 10, &d, 0, 0)
	d.AtMS = 0
	c.leases.Taken(&q, 10, &d)
	if c.leases.Spend(key, c.charges, 0, &d) != nil || c.leases.Counts().Expired != 10 {
		t.Error("spent, or not counted as expired")
	}
}

// A lease is for one kind of requests: another plan's, or another route's of the
// same bucket, are asked about while it is in use, and have their own after that.
func TestALeaseIsSpentByRequestsThatAreChargedAlike(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute))
	c.send(0)
	c.send(0)
	own, other := c.charges, []limit.Charge{limit.NewCharge(fixed(30, time.Minute), 1)}
	c.charges = other
	for range 3 {
		if _, taken := c.send(sec); taken != 0 {
			t.Fatal("takes the place of a lease that is in use")
		}
	}
	c.charges = own
	var d limit.Decision
	if c.leases.Spend(key, own, time.Hour+sec, &d) == nil {
		t.Error("the lease is gone")
	}
	c.charges = other
	c.send(sec + Idle)
	if _, taken := c.send(sec + Idle); taken != 10 {
		t.Errorf("a lease of %d, want 10", taken)
	}
}

// However many callers there are, those with a lease keep it, and memory stays as it
// is.
func TestAFloodOfCallersTakesNobodysLease(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute))
	c.send(0)
	c.send(0)
	d := limit.Decision{Allowed: true, AtMS: base, Verdicts: []limit.Verdict{{Pass: true}}}
	for n := range 1000 {
		c.leases.Decided(fmt.Appendf(nil, "rl:{GET:/a|ip:10.0.%d.%d}", n/250, n%250), c.charges, 10, &d, time.Hour, time.Hour)
	}
	if c.held() != 10 || c.leases.table.Used() != 8 {
		t.Errorf("holds %d among %d callers", c.held(), c.leases.table.Used())
	}
	for n := range 20 { // and with leases of all of them
		caller := fmt.Appendf(nil, "k%d", n)
		c.leases.Decided(caller, c.charges, 10, &d, time.Hour, time.Hour)
		if q, ok := c.leases.Decided(caller, c.charges, 10, &d, time.Hour, time.Hour); ok {
			c.leases.Taken(&q, 10, &d)
		}
	}
	leased := 0
	for i := range c.leases.table.Used() {
		if _, l := c.leases.table.At(i); l.left > 0 {
			leased++
		}
	}
	if leased != 8 || c.leases.Counts() != (Counts{}) {
		t.Errorf("%d leases, want 8 that nobody pushes out", leased)
	}
}

func TestWhatAnIdleCallerHasLeftIsGivenBack(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, time.Minute), &limit.Limit{Limit: 500, Window: time.Hour})
	c.send(0)
	c.send(0)
	c.send(sec)
	var u Unspent
	if c.leases.Idle(time.Hour+sec+Idle-1, &u) {
		t.Fatal("too early")
	}
	if !c.leases.Idle(time.Hour+sec+Idle, &u) {
		t.Fatal("nothing is given back")
	}
	want := Unspent{Key: key, AtMS: base, Charges: []limit.Charge{
		{Limit: c.charges[0].Limit, Cost: 9}, {Limit: c.charges[1].Limit, Cost: 9}}}
	if string(u.Key) != string(want.Key) || u.AtMS != want.AtMS || len(u.Charges) != 2 ||
		u.Charges[0].Limit != want.Charges[0].Limit || u.Charges[0].Cost != 9 || u.Charges[1].Cost != 9 {
		t.Errorf("gives back %+v, want %+v", u, want)
	}
	if c.leases.Idle(time.Hour+sec+Idle, &u) {
		t.Error("once more")
	}
	if got := c.leases.Counts(); got != (Counts{Spent: 1, Returned: 9}) {
		t.Errorf("%+v", got)
	}
}

// A second's lease is given back to the hour when the second is over, and what both
// count is given back when the worker ends.
func TestWhatALongerWindowStillCountsIsGivenBack(t *testing.T) {
	c := newCaller(t, 10, fixed(1000, sec), fixed(1000, time.Hour))
	c.send(0)
	c.send(0)
	var u Unspent
	if c.leases.Past(key, time.Hour+900*time.Millisecond, &u) {
		t.Fatal("while it may be spent")
	}
	if !c.leases.Past(key, time.Hour+sec, &u) || u.AtMS != base || u.Charges[1].Cost != 10 {
		t.Fatalf("%+v", u)
	}
	c.send(2 * sec)
	var all []int64
	c.leases.All(time.Hour+2*sec, func(u *Unspent) { all = append(all, u.AtMS, u.Charges[0].Cost) })
	if diff := cmp.Diff([]int64{base + 2000, 10}, all); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func TestSpendingAllocatesNothing(t *testing.T) {
	c := newCaller(t, 1_000_000, fixed(100_000_000, time.Hour))
	c.send(0)
	c.send(0)
	var d limit.Decision
	c.leases.Spend(key, c.charges, time.Hour, &d)
	if n := testing.AllocsPerRun(1000, func() {
		if c.leases.Spend(key, c.charges, time.Hour, &d) == nil {
			t.Fatal("nothing to spend")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSpend(b *testing.B) {
	c := newCaller(nil, 1<<40, fixed(10_000_000_000_000, time.Hour))
	c.send(0)
	c.send(0)
	var d limit.Decision
	for b.Loop() {
		c.leases.Spend(key, c.charges, time.Hour, &d)
	}
}

// What an earlier window's end made worthless must not hide what is left of this one.
func TestAWorkerThatEndsGivesBackWhatIsLeftBesideWhatIsPast(t *testing.T) {
	c := newCaller(t, 5, &limit.Limit{Algorithm: limit.FixedWindow, Limit: 100, Window: 10 * sec})
	c.send(0)
	c.send(0)
	now := 5*sec + time.Hour
	l := c.leases.table.Find(key)
	l.past = unspent{requests: 3, at: l.at - 10_000, counts: now - 1}
	left := l.left
	var returned []int64
	c.leases.All(now, func(u *Unspent) { returned = append(returned, u.Charges[0].Cost) })
	if diff := cmp.Diff([]int64{left}, returned); left == 0 || diff != "" {
		t.Errorf("given back (-want +got): %s", diff)
	}
}
