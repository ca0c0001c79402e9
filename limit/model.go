package limit

import "slices"

// Model is what the scripts do, in Go: the same verdicts for the same calls, field by field, also where the clock goes
// back. It serves tests and simulations. The zero value is an empty Redis; a Model is not for concurrent use.
type Model struct{ keys map[string]*Hash }

// Hash is one key of a Model, for who keeps keys himself. The zero value is a key that does not exist.
type Hash struct {
	fields fields
	forget int64 // when no field can change a verdict any more, in ms
}

// fields are a hash's, few enough to be looked through.
type fields []stored

type stored struct {
	field field
	state state
}

func (f fields) get(name field) state {
	for i := range f {
		if f[i].field == name {
			return f[i].state
		}
	}
	return nil
}

func (f *fields) set(name field, s state) {
	for i := range *f {
		if (*f)[i].field == name {
			(*f)[i].state = s
			return
		}
	}
	*f = append(*f, stored{name, s})
}

// state is what one field holds: windowState, logState or bucketState.
type state any

// outcome is what one limit answers, and what it would write.
type outcome struct {
	verdict Verdict
	next    state // nil if nothing is charged
	at      int64 // the time that the limit went by
	forget  int64 // when the field cannot change a verdict any more
}

// question is one limit's part of a call.
type question struct {
	limit  *Limit
	cost   int64
	refill int64
	nowMS  int64
	charge bool // write what it would cost, if it passes
}

// Decide is AppendDecide, the script and ReadDecision in one. nowMS is in ms since the epoch.
func (m *Model) Decide(key string, nowMS int64, charges []Charge) Decision {
	h := m.keys[key]
	if h == nil {
		h = &Hash{}
	}
	decision := h.Decide(nowMS, charges)
	m.keep(key, h)
	return decision
}

func (m *Model) keep(key string, h *Hash) {
	if len(h.fields) == 0 {
		return
	}
	if m.keys == nil {
		m.keys = map[string]*Hash{}
	}
	m.keys[key] = h
}

// Decide is Model.Decide for this key.
func (h *Hash) Decide(nowMS int64, charges []Charge) Decision {
	var few [4]outcome
	decision, outcomes := h.evaluate(nowMS, charges, 1, true, few[:0])
	if !decision.Allowed {
		decision, _ = h.evaluate(nowMS, charges, 1, false, few[:0])
		return decision
	}
	h.write(charges, outcomes)
	return decision
}

// Lease is AppendLease, the script and ReadLease in one.
func (m *Model) Lease(key string, nowMS, most int64, charges []Charge) (decision Decision, taken int64) {
	h := m.keys[key]
	if h == nil {
		h = &Hash{}
	}
	decision, taken = h.Lease(nowMS, most, charges)
	m.keep(key, h)
	return decision, taken
}

// Lease is Model.Lease for this key.
func (h *Hash) Lease(nowMS, most int64, charges []Charge) (decision Decision, taken int64) {
	var few [4]outcome
	decision, _ = h.evaluate(nowMS, charges, 1, false, few[:0])
	if !decision.Allowed {
		return decision, 0
	}
	taken = most
	for i, v := range decision.Verdicts {
		if cost, _ := shared(charges, i); v.Pass && cost > 0 {
			taken = min(taken, v.Remaining/cost)
		}
	}
	decision, outcomes := h.evaluate(nowMS, charges, taken, true, few[:0])
	h.write(charges, outcomes)
	return decision, taken
}

func (h *Hash) write(charges []Charge, outcomes []outcome) {
	for i, o := range outcomes {
		if o.next != nil {
			h.fields.set(charges[i].Limit.field(), o.next)
		}
		h.forget = max(h.forget, o.forget)
	}
}

// evaluate works out every limit's answer about so many requests against the state as it is, and changes nothing.
func (h *Hash) evaluate(nowMS int64, charges []Charge, times int64, charge bool, outcomes []outcome) (Decision, []outcome) {
	decision := Decision{Allowed: true, Verdicts: make([]Verdict, len(charges))}
	for i, c := range charges {
		cost, refill := shared(charges, i)
		o := answer(h.fields.get(c.Limit.field()), question{c.Limit, manyTimes(times, cost), refill, nowMS, charge})
		if !o.verdict.Pass && c.Limit.Refuses() {
			decision.Allowed = false
		}
		if i == 0 {
			decision.AtMS = o.at
		} else if decision.AtMS != o.at {
			decision.AtMS = 0
		}
		decision.Verdicts[i] = o.verdict
		outcomes = append(outcomes, o)
	}
	return decision, outcomes
}

// manyTimes is what so many requests of a cost cost. Under a limit that lets not even one of them pass it may be more
// than any limit.
func manyTimes(n, cost int64) int64 {
	if cost > 0 && n > maxCost/cost {
		return maxCost
	}
	return n * cost
}

func answer(s state, q question) outcome {
	switch q.limit.Algorithm {
	case SlidingLog:
		log, _ := s.(logState)
		return log.answer(q)
	case TokenBucket:
		bucket, _ := s.(bucketState)
		return bucket.answer(q)
	default:
		window, _ := s.(windowState)
		return window.answer(q)
	}
}

// Refund is AppendRefund and the script in one.
func (m *Model) Refund(key string, chargedAtMS, nowMS int64, charges []Charge) {
	if h := m.keys[key]; h != nil {
		h.Refund(chargedAtMS, nowMS, charges)
	}
}

// Refund is Model.Refund for this key.
func (h *Hash) Refund(chargedAtMS, nowMS int64, charges []Charge) {
	if chargedAtMS <= 0 {
		return
	}
	for i, c := range charges {
		if repeated(charges, i) {
			continue
		}
		cost, refill := shared(charges, i)
		q := question{limit: c.Limit, cost: cost, refill: refill, nowMS: nowMS}
		f := c.Limit.field()
		switch s := h.fields.get(f).(type) {
		case windowState:
			h.fields.set(f, s.refund(chargedAtMS, q))
		case logState:
			if s = s.refund(chargedAtMS, q); len(s) > 0 {
				h.fields.set(f, s)
			} else {
				h.fields = slices.DeleteFunc(h.fields, func(s stored) bool { return s.field == f })
			}
		case bucketState:
			h.fields.set(f, s.refund(chargedAtMS, q))
		}
	}
}

// Spent says that the key can no longer change a verdict: it is as good as one that does not exist.
func (h *Hash) Spent(nowMS int64) bool { return h.forget <= nowMS }

// Forget drops the keys that can no longer change a verdict, as Redis' expiry does, and says how many are left.
func (m *Model) Forget(nowMS int64) int {
	for key, h := range m.keys {
		if h.Spent(nowMS) {
			delete(m.keys, key)
		}
	}
	return len(m.keys)
}
