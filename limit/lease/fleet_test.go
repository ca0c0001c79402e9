package lease

import (
	"container/heap"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/limit"
)

const base = 1_729_728_000_000 // the beginning of a day, in ms

// fleet is some workers in front of one Redis, and what happens to one caller's
// requests: when they come, through which worker, how long each message takes and
// which replies are lost.
type fleet struct {
	t       *rapid.T
	now     time.Duration // true time since base, which Redis' clock shows
	events  events
	redis   limit.Model
	charges []limit.Charge
	most    int64
	workers []*worker
	delay   time.Duration // of a message at most
	losing  int           // in a hundred replies

	admitted []admission
	lost     int64 // requests that may have been charged by questions without an answer
}

// admission is a request that passed, at a moment of the true time in ms.
type admission struct{ at int64 }

type worker struct {
	leases   *Leases
	runs     float64       // how fast its clock is
	arrives  time.Duration // when its last message comes to Redis
	answered time.Duration // when the last reply comes back
}

func (f *fleet) clock(w *worker) time.Duration {
	return time.Hour + time.Duration(float64(f.now)*w.runs)
}

func (f *fleet) ms() int64 { return base + f.now.Milliseconds() }

var key = []byte("rl:{GET:/a|ip:203.0.113.7}")

// call sends a message: at comes to Redis, back with the reply, or lost instead.
func (f *fleet) call(w *worker, at, back, lost func()) {
	draw := func(label string) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(f.delay)).Draw(f.t, label))
	}
	w.arrives = max(w.arrives, f.now+draw("there"))
	w.answered = max(w.answered, w.arrives+draw("back"))
	isLost := rapid.IntRange(1, 100).Draw(f.t, "lost") <= f.losing
	f.events.add(w.arrives, at)
	if isLost {
		back = lost
	}
	f.events.add(w.answered, back)
}

func (f *fleet) request(w *worker) {
	var d limit.Decision
	if f.spend(w, &d) {
		return
	}
	var u Unspent
	for w.leases.Past(key, f.clock(w), &u) || w.leases.Idle(f.clock(w), &u) {
		f.refund(w, u.AtMS, slices.Clone(u.Charges))
	}
	asked := f.clock(w)
	f.call(w, func() {
		if d = f.redis.Decide(string(key), f.ms(), f.charges); d.Allowed {
			f.admit()
		}
	}, func() {
		if !d.Allowed {
			f.spend(w, &d)
			return
		}
		if q, ok := w.leases.Decided(key, f.charges, f.most, &d, asked, f.clock(w)); ok {
			f.lease(w, q)
		}
	}, func() {})
}

func (f *fleet) spend(w *worker, d *limit.Decision) bool {
	l := w.leases.Spend(key, f.charges, f.clock(w), d)
	if l == nil {
		return false
	}
	f.admit()
	if q, ok := w.leases.Low(l, f.most, f.clock(w)); ok {
		f.lease(w, q)
	}
	return true
}

func (f *fleet) lease(w *worker, q Question) {
	var taken int64
	var d limit.Decision
	f.call(w, func() {
		d, taken = f.redis.Lease(string(key), f.ms(), q.Most, f.charges)
	}, func() { w.leases.Taken(&q, taken, &d) }, func() {
		f.lost += taken
		w.leases.Failed(&q)
	})
}

func (f *fleet) refund(w *worker, at int64, charges []limit.Charge) {
	f.call(w, func() { f.redis.Refund(string(key), at, f.ms(), charges) }, func() {}, func() {})
}

func (f *fleet) admit() { f.admitted = append(f.admitted, admission{f.ms()}) }

// over is how many requests were admitted beyond the plain definition of a limit.
func (f *fleet) over(i int) (over int) {
	l, price := f.charges[i].Limit, limit.Price(f.charges, i)
	w := l.Window.Milliseconds()
	for n, a := range f.admitted {
		start := a.at / w * w
		var current, previous int64
		for _, b := range f.admitted[:n] {
			switch b.at / w * w {
			case start:
				current += price
			case start - w:
				previous += price
			}
		}
		sum := big.NewRat(current+price, 1)
		if l.Algorithm == limit.SlidingWindow {
			sum.Add(sum, big.NewRat(previous*(start+w-a.at), w))
		}
		if sum.Cmp(big.NewRat(l.Limit, 1)) > 0 {
			over++
		}
	}
	return over
}

// run lets requests come and all that follows happen.
func (f *fleet) run(requests int) {
	for range requests {
		w := rapid.SampledFrom(f.workers).Draw(f.t, "worker")
		upTo := func(most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(f.t, "step"))
		}
		step := time.Duration(0)
		switch rapid.IntRange(0, 9).Draw(f.t, "kind of step") {
		case 0, 1, 2:
			step = upTo(50 * time.Millisecond)
		case 3:
			step = upTo(3 * time.Second)
		case 4: // to a boundary
			window := rapid.SampledFrom(f.charges).Draw(f.t, "whose").Limit.Window
			step = window - f.now%window + upTo(6*time.Millisecond) - 3*time.Millisecond
		case 5:
			step = rapid.SampledFrom([]time.Duration{0, 0, Idle}).Draw(f.t, "idle")
		}
		f.until(f.now + max(0, step))
		f.request(w)
		f.bound(w)
	}
	f.until(f.now + time.Minute)
}

func (f *fleet) until(when time.Duration) {
	for len(f.events.list) > 0 && f.events.list[0].at <= when {
		e := heap.Pop(&f.events).(event)
		f.now = max(f.now, e.at)
		e.do()
	}
	f.now = max(f.now, when)
}

// bound holds that a worker never has more than its lease, here and on the way.
func (f *fleet) bound(w *worker) {
	l := w.leases.table.Find(key)
	if l == nil {
		return
	}
	most := f.most
	if most == Auto {
		most = f.charges[0].Limit.Limit / autoShare
	}
	if held := l.left; held > most || l.question != 0 && held > l.size {
		f.t.Fatalf("a worker holds %d requests of %d", held, most)
	}
}

func drawCharges(t *rapid.T) (charges []limit.Charge) {
	for range rapid.IntRange(1, 2).Draw(t, "limits") {
		charges = append(charges, limit.NewCharge(&limit.Limit{
			Algorithm: limit.Algorithm(rapid.IntRange(0, 1).Draw(t, "algorithm")),
			Limit:     rapid.OneOf(rapid.Int64Range(5, 60), rapid.Int64Range(40, 300)).Draw(t, "limit"),
			Window:    time.Duration(rapid.SampledFrom([]int{1, 2, 10, 60}).Draw(t, "window")) * time.Second,
		}, rapid.Int64Range(1, 3).Draw(t, "cost")))
	}
	return charges
}

func drawFleet(t *rapid.T, workers int) *fleet {
	f := &fleet{t: t, charges: drawCharges(t)}
	f.most = rapid.OneOf(rapid.Just(int64(Auto)), rapid.Int64Range(2, 12)).Draw(t, "most")
	f.now = time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "begin"))
	for range workers {
		f.workers = append(f.workers, &worker{leases: New(2), runs: rapid.Float64Range(0.9992, 1.0008).Draw(t, "runs")})
	}
	return f
}

// Whatever leases are taken, lost and given back, through however many workers, with
// clocks that neither agree nor run alike: no request is admitted that the plain
// definition of the algorithm would not admit at that moment, given those before it.
func TestLeasesNeverAdmitMoreThanTheDefinition(t *testing.T) {
	spent := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, rapid.IntRange(1, 4).Draw(t, "workers"))
		f.delay = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 2 * time.Second}).Draw(t, "delay")
		f.losing = rapid.SampledFrom([]int{0, 0, 10, 50}).Draw(t, "losing")
		f.run(rapid.IntRange(100, 400).Draw(t, "requests"))
		for i := range f.charges {
			if over := f.over(i); over > 0 {
				t.Fatalf("%d of %d admissions are over limit %d: %+v", over, len(f.admitted), i, *f.charges[i].Limit)
			}
		}
		for _, w := range f.workers {
			spent += w.leases.Counts().Spent
		}
	})
	if spent < 1000 {
		t.Errorf("%d requests were spent from leases, so little was tested", spent)
	}
}

// One worker that hears of every answer at once admits exactly those requests that
// it would admit without leases.
func TestOneWorkerAdmitsWithLeasesWhatItAdmitsWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, 1)
		var unleased limit.Model
		for n := range rapid.IntRange(1, 120).Draw(t, "requests") {
			step := rapid.OneOf(rapid.Int64Range(0, int64(100*time.Millisecond)), rapid.Int64Range(0, int64(3*time.Second)), rapid.Just(int64(Idle))).Draw(t, "step")
			f.until(f.now + time.Duration(step))
			before := len(f.admitted)
			f.request(f.workers[0])
			f.until(f.now)
			want := unleased.Decide(string(key), f.ms(), f.charges).Allowed
			if got := len(f.admitted) > before; got != want {
				t.Fatalf("request %d at %d: admitted %v, without leases %v", n, f.ms()-base, got, want)
			}
		}
	})
}

// events are what is to happen, by time, and by order where that is the same.
type events struct {
	list []event
	next int
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

func (e *events) add(at time.Duration, do func()) {
	e.next++
	heap.Push(e, event{at, e.next, do})
}

func (e *events) Len() int      { return len(e.list) }
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return last
}
func (e *events) Less(i, j int) bool {
	a, b := e.list[i], e.list[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
