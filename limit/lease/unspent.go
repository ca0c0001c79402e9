package lease

import (
	"time"

	"routelimit/limit"
)

// Unspent is what was leased and is to be given back. It holds until the next call
// of the leases.
type Unspent struct {
	Key     []byte
	AtMS    int64 // when it was charged
	Charges []limit.Charge
}

// Past sets u to what a lease of a key did not spend before its window ended, if some
// window still counts it. It is given back before that key is asked about again; there
// may be more.
func (s *Leases) Past(key []byte, now time.Duration, u *Unspent) bool {
	l := s.table.Find(key)
	if l == nil {
		return false
	}
	if l.past.requests == 0 {
		s.expire(l, now)
	}
	return s.giveBack(key, l, now, u)
}

// looks is how many callers one question looks at for who is idle.
const looks = 4

// Idle sets u to what somebody has left who has not sent anything for the time Idle,
// if one of those that this call looks at is such. It looks at others each time.
func (s *Leases) Idle(now time.Duration, u *Unspent) bool {
	for range min(looks, s.table.Used()) {
		if s.hand >= s.table.Used() {
			s.hand = 0
		}
		key, l := s.table.At(s.hand)
		s.hand++
		if now >= l.used+Idle && s.giveBackAll(key, l, now, u) {
			return true
		}
	}
	return false
}

// All calls f with all that is left, for a worker that ends.
func (s *Leases) All(now time.Duration, f func(u *Unspent)) {
	var u Unspent
	for i := range s.table.Used() {
		key, l := s.table.At(i)
		for s.giveBackAll(key, l, now, &u) {
			f(&u)
		}
	}
}

// giveBackAll is giveBack for what may still be spent, too. What is past comes first.
func (s *Leases) giveBackAll(key []byte, l *Lease, now time.Duration, u *Unspent) bool {
	if s.giveBack(key, l, now, u) {
		return true
	}
	if l.left == 0 {
		return false
	}
	s.pass(l)
	return s.giveBack(key, l, now, u)
}

// giveBack takes what is past out of a lease.
func (s *Leases) giveBack(key []byte, l *Lease, now time.Duration, u *Unspent) bool {
	past := l.past
	l.past = unspent{}
	if past.requests == 0 {
		return false
	}
	if now >= past.counts {
		s.counts.Expired += past.requests
		return false
	}
	s.counts.Returned += past.requests
	u.Key, u.AtMS, u.Charges = key, past.at, u.Charges[:0]
	for i := range l.charges {
		u.Charges = append(u.Charges, limit.Charge{Limit: l.charges[i].Limit, Cost: past.requests * limit.Price(l.charges, i)})
	}
	return true
}
