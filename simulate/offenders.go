package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Refused identities are kept by name: maxOffenders in all, shared out among the
// limits, between fewest and most for each.
const (
	maxOffenders    = 200_000
	fewestOffenders = 1_000
	mostOffenders   = 20_000
)

// offenders are who was refused, in bounded memory: when there are too many, those
// with the fewest refusals are dropped, and floor is the most that one of them had.
type offenders struct {
	most  int
	floor int64
	known map[string]*refusals
}

type refusals struct {
	count, first, last int64
	spared             bool // let through all the same
}

func (o *offenders) refused(identity string, atMS int64, spared bool) {
	r := o.known[identity]
	if r == nil {
		if len(o.known) >= o.most {
			o.drop()
		}
		if o.known == nil {
			o.known = map[string]*refusals{}
		}
		r = &refusals{first: atMS}
		o.known[strings.Clone(identity)] = r
	}
	r.count++
	r.last, r.spared = atMS, r.spared || spared
}

// drop forgets the lower half.
func (o *offenders) drop() {
	counts := make([]int64, 0, len(o.known))
	for _, r := range o.known {
		counts = append(counts, r.count)
	}
	slices.Sort(counts)
	median := counts[len(counts)/2]
	o.floor += median
	for identity, r := range o.known {
		if r.count <= median {
			delete(o.known, identity)
		}
	}
}

// top lists those with the most refusals, of equal ones the first by name.
func (o *offenders) top(most int) []Refusals {
	list := []Refusals{}
	for identity, r := range o.known {
		list = append(list, Refusals{identity, r.count, timeOf(r.first), timeOf(r.last), r.spared})
	}
	slices.SortFunc(list, func(a, b Refusals) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), strings.Compare(a.Identity, b.Identity))
	})
	return list[:min(most, len(list))]
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
