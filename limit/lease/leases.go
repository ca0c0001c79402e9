package lease

import (
	"time"

	"routelimit/limit"
	"routelimit/limit/recent"
)

// MaxLeases is how many callers one worker keeps leases for.
const MaxLeases = 4096

// Leases are those of one worker. Times are of a clock that only goes forward.
type Leases struct {
	table    *recent.Table[Lease]
	question uint32 // the last one
	hand     int    // of the table, which Idle looks at next
	counts   Counts
}

// Counts is what has become of leased requests.
type Counts struct {
	Spent    int64 // admitted
	Returned int64 // given back
	Expired  int64 // neither, when their window ended or another caller took the place
}

// New returns leases for so many callers. It takes no memory before the first is
// seen.
func New(callers int) *Leases { return &Leases{table: recent.New[Lease](callers)} }

// Counts returns what was counted since the last call.
func (s *Leases) Counts() Counts {
	counts := s.counts
	s.counts = Counts{}
	return counts
}

// Spend admits one request of a key, charged as charges say, by the lease that the
// worker has, and sets into to what Redis would say. It returns nil where Redis has
// to be asked.
func (s *Leases) Spend(key []byte, charges []limit.Charge, now time.Duration, into *limit.Decision) *Lease {
	l := s.table.Find(key)
	if l == nil || l.left == 0 || now >= l.until || !l.same(charges) {
		return nil
	}
	l.left--
	l.count++
	l.used = now
	s.counts.Spent++
	l.say(now, into)
	return l
}

// Question is a lease that is to be asked for: of so many requests at most.
type Question struct {
	Most  int64
	asked time.Duration
	lease *Lease
	id    uint32
}

// Low returns the question for more, if it is time to ask; most is the largest
// lease, or Auto.
func (s *Leases) Low(l *Lease, most int64, now time.Duration) (q Question, ok bool) {
	n := l.more(most, now)
	if n == 0 {
		return Question{}, false
	}
	s.question++
	if s.question == 0 {
		s.question++
	}
	l.question, l.size = s.question, l.left+n
	l.count, l.since = 0, now
	return Question{Most: n, asked: now, lease: l, id: l.question}, true
}

// Decided takes note of a request that Redis has admitted, asked at a time, and
// returns the question for a lease, if there should be one: not for who comes once.
func (s *Leases) Decided(key []byte, charges []limit.Charge, most int64, d *limit.Decision, asked, now time.Duration) (q Question, ok bool) {
	l := s.table.Find(key)
	if l == nil {
		if !s.makeRoom(now) {
			return Question{}, false
		}
		l, _ = s.table.Put(key)
		l.begin(charges, now)
	} else if !l.same(charges) {
		if l.busy(now) {
			return Question{}, false
		}
		s.counts.Expired += l.left + l.past.requests
		l.begin(charges, now)
	}
	if now >= l.used+Idle {
		l.count, l.since, l.size = 0, now, 0
	}
	l.count++
	l.used, l.barred = now, false
	s.expire(l, now)
	if l.left == 0 {
		l.note(d, asked)
	}
	if l.size == 0 && l.count < 2 {
		return Question{}, false
	}
	return s.Low(l, most, now)
}

// begin makes l that of another caller, in the same memory.
func (l *Lease) begin(charges []limit.Charge, now time.Duration) {
	*l = Lease{
		charges:  append(l.charges[:0], charges...),
		decision: limit.Decision{Verdicts: l.decision.Verdicts[:0]},
		used:     now, since: now,
	}
}

// tries is how many places a new caller looks at for one that is free.
const tries = 8

// makeRoom says whether a new caller gets a place: there is room, or the lease that
// was there longest is not in use. A caller without one is asked about.
func (s *Leases) makeRoom(now time.Duration) bool {
	for range tries {
		oldest := s.table.Oldest()
		if oldest == nil {
			return true
		}
		if !oldest.busy(now) {
			s.counts.Expired += oldest.left + oldest.past.requests
			oldest.left, oldest.past = 0, unspent{}
			return true
		}
		s.table.Skip()
	}
	return false
}

// Taken takes the reply to a question: so many requests are charged.
func (s *Leases) Taken(q *Question, requests int64, d *limit.Decision) {
	l := q.lease
	if l.question != q.id {
		s.counts.Expired += requests // another caller has the place
		return
	}
	l.question = 0
	if requests == 0 {
		l.barred = true
		return
	}
	if d.AtMS == 0 { // the limits disagree about the time, so their windows are not known
		l.barred = true
		s.counts.Expired += requests
		return
	}
	if l.left > 0 && !l.sameWindows(d.AtMS) {
		s.pass(l)
	}
	l.left += requests
	l.at = d.AtMS
	l.until = q.asked + l.lasts(d.AtMS)
	l.note(d, q.asked)
}

// Failed says that a question brought no answer. The next is asked when Redis has
// decided about a request of that caller.
func (s *Leases) Failed(q *Question) {
	if l := q.lease; l.question == q.id {
		l.question, l.barred = 0, true
	}
}

// expire ends a lease whose window has ended.
func (s *Leases) expire(l *Lease, now time.Duration) {
	if l.left > 0 && now >= l.until {
		s.pass(l)
	}
}

// pass makes what is left past: it may not be spent any more.
func (s *Leases) pass(l *Lease) {
	s.counts.Expired += l.past.requests
	l.past = unspent{l.left, l.at, l.asked + l.counted(l.at)}
	l.left = 0
}
