package limit

import "slices"

// Model is what the scripts do, in Go: the same verdicts for the same calls, field by field, also where the clock goes
// back. It serves tests and simulations. The zero value is an empty Redis; a Model is not for concurrent use.
type Model struct {
	keys     map[string]*identity
	outcomes []outcome // of the call, in memory that is used again
}

// identity is one key's hash.
type identity struct {
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
	id := m.keys[key]
	if id == nil {
		id = &identity{}
	}
	decision := m.evaluate(id, nowMS, charges, true)
	if !decision.Allowed {
		return m.evaluate(id, nowMS, charges, false)
	}
	for i, o := range m.outcomes {
		if o.next == nil {
			continue
		}
		id.fields.set(charges[i].Limit.field(), o.next)
	}
	for _, o := range m.outcomes {
		id.forget = max(id.forget, o.forget)
	}
	if len(id.fields) > 0 {
		m.keep(key, id)
	}
	return decision
}

func (m *Model) keep(key string, id *identity) {
	if m.keys == nil {
		m.keys = map[string]*identity{}
	}
	m.keys[key] = id
}

// evaluate works out every limit's answer against the state as it is, and changes nothing.
func (m *Model) evaluate(id *identity, nowMS int64, charges []Charge, charge bool) Decision {
	decision := Decision{Allowed: true, Verdicts: make([]Verdict, len(charges))}
	m.outcomes = m.outcomes[:0]
	for i, c := range charges {
		cost, refill := shared(charges, i)
		o := answer(id.fields.get(c.Limit.field()), question{c.Limit, cost, refill, nowMS, charge})
		if !o.verdict.Pass && c.Limit.Refuses() {
			decision.Allowed = false
		}
		if i == 0 {
			decision.AtMS = o.at
		} else if decision.AtMS != o.at {
			decision.AtMS = 0
		}
		decision.Verdicts[i] = o.verdict
		m.outcomes = append(m.outcomes, o)
	}
	return decision
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
	id := m.keys[key]
	if id == nil || chargedAtMS <= 0 {
		return
	}
	for i, c := range charges {
		if repeated(charges, i) {
			continue
		}
		cost, refill := shared(charges, i)
		q := question{limit: c.Limit, cost: cost, refill: refill, nowMS: nowMS}
		f := c.Limit.field()
		switch s := id.fields.get(f).(type) {
		case windowState:
			id.fields.set(f, s.refund(chargedAtMS, q))
		case logState:
			if s = s.refund(chargedAtMS, q); len(s) > 0 {
				id.fields.set(f, s)
			} else {
				id.fields = slices.DeleteFunc(id.fields, func(s stored) bool { return s.field == f })
			}
		case bucketState:
			id.fields.set(f, s.refund(chargedAtMS, q))
		}
	}
}

// Forget drops the keys that can no longer change a verdict, as Redis' expiry does, and says how many are left.
func (m *Model) Forget(nowMS int64) int {
	for key, id := range m.keys {
		if id.forget <= nowMS {
			delete(m.keys, key)
		}
	}
	return len(m.keys)
}
