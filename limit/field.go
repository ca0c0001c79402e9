package limit

import (
	"strconv"
	"time"
)

// field is where in its identity's hash a limit keeps its state. Limits with the same field share it.
type field struct {
	family byte // 'w' window counts, fixed and sliding alike; 'l' a log; 'b' a bucket
	window time.Duration
	shadow bool
}

func (l *Limit) field() field {
	family := byte('w')
	switch l.Algorithm {
	case SlidingLog:
		family = 'l'
	case TokenBucket:
		family = 'b'
	}
	return field{family, l.Window, l.Shadow}
}

// SharesState says whether two limits of one identity keep one state, so that a charge of one is a charge of the other.
func (l *Limit) SharesState(other *Limit) bool { return l.field() == other.field() }

// append writes the field's name: "w300", "l5", "~b60".
func (f field) append(dst []byte) []byte {
	if f.shadow {
		dst = append(dst, '~')
	}
	dst = append(dst, f.family)
	return strconv.AppendInt(dst, int64(f.window/time.Second), 10)
}

// maxCost is more than any limit, and exact in the script.
const maxCost = maxExact

// shared is what charge i of a call costs and, in a bucket, refills. Limits that share a field share one charge, the
// largest, and buckets the slowest refill, so that none of them admits more than it may.
func shared(charges []Charge, i int) (cost, refill int64) {
	refill = charges[i].Limit.Limit
	own := charges[i].Limit.field()
	for _, c := range charges {
		if c.Limit.field() != own {
			continue
		}
		price := min(c.Cost, maxCost)
		if price < 0 {
			price = 1
		}
		cost = max(cost, price)
		if own.family == 'b' {
			refill = min(refill, c.Limit.Limit)
		}
	}
	return cost, refill
}

// Price is what charge i of a call costs: limits that share their state share one charge, the largest.
func Price(charges []Charge, i int) int64 {
	cost, _ := shared(charges, i)
	return cost
}

// sharing says that another charge has the same field as charge i.
func sharing(charges []Charge, i int) bool {
	if len(charges) == 1 {
		return false
	}
	own := charges[i].Limit.field()
	for j := range charges {
		if j != i && charges[j].Limit.field() == own {
			return true
		}
	}
	return false
}

// repeated says that an earlier charge has the same field as charge i.
func repeated(charges []Charge, i int) bool {
	own := charges[i].Limit.field()
	for _, c := range charges[:i] {
		if c.Limit.field() == own {
			return true
		}
	}
	return false
}
