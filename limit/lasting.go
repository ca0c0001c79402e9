package limit

import (
	"math"
	"time"
)

// Lasts is for how long a refusal stays true to the last number, if nothing more is charged and nothing given back: until
// then Redis would say what Later says. 0: it cannot be told. Limits that refuse nobody take no part.
func (d *Decision) Lasts(charges []Charge) time.Duration {
	least := time.Duration(math.MaxInt64)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Restarted {
			return 0 // a refusal does not store what was begun anew
		}
		if charges[i].Limit.Refuses() {
			least = min(least, v.lasts(charges, i))
		}
	}
	return least
}

// lasts is until when verdict i of a call says the same, but for its times, which shrink.
func (v *Verdict) lasts(charges []Charge, i int) time.Duration {
	least := time.Duration(math.MaxInt64)
	if !v.Pass && v.Wait != Never {
		least = v.Wait
	}
	switch algorithm := charges[i].Limit.Algorithm; {
	case algorithm == TokenBucket:
		least = min(least, v.nextToken(charges, i))
	case algorithm == FixedWindow || v.Reset > 0:
		least = min(least, v.Reset)
	}
	return least
}

// nextToken is at least how long it takes until a bucket holds one token more. The reset, when it is full, was rounded up
// to whole ms.
func (v *Verdict) nextToken(charges []Charge, i int) time.Duration {
	l := charges[i].Limit
	_, refill := shared(charges, i)
	if v.Reset == 0 || refill == 0 {
		return math.MaxInt64
	}
	deficit := (v.Reset.Milliseconds() - 1) * refill
	after := (l.Capacity() - v.Remaining - 1) * l.windowMS() // what it lacks then
	return time.Duration(max(0, (deficit-after)/refill)) * time.Millisecond
}

// Later sets into to what the decision has become after a time, less than Lasts. Of limits that refuse nobody it says
// that they pass: what they would say is not known.
func (d *Decision) Later(by time.Duration, charges []Charge, into *Decision) {
	into.Allowed, into.AtMS = d.Allowed, d.AtMS
	if d.AtMS > 0 {
		into.AtMS += by.Milliseconds()
	}
	into.Verdicts = append(into.Verdicts[:0], d.Verdicts...)
	for i := range into.Verdicts {
		v := &into.Verdicts[i]
		if !charges[i].Limit.Refuses() {
			*v = Verdict{Pass: true}
			continue
		}
		v.Reset = max(0, v.Reset-by)
		if !v.Pass && v.Wait != Never {
			v.Wait = max(1, v.Wait-by)
		}
	}
}
