package policy

import (
	"routelimit/limit"
	"routelimit/policy/identity"
)

// Plans give callers limits of their own by a value of the request. A count does
// not depend on the plan, so it stays when a caller changes it.
type Plans struct {
	By     identity.Source
	Values []PlanValue // in the order of the configuration
}

// PlanValue is the limit of one plan.
type PlanValue struct {
	Name  string
	Limit int64
}

// variable is what of a limit's charge depends on the request.
type variable struct {
	plans   map[string]terms // nil: none
	others  terms            // where no plan holds
	priced  bool             // a header gives the cost
	percent uint64           // of callers for whom the limit refuses
}

// terms are the numbers of one plan.
type terms struct{ enforced, unenforced limit.Charge }

// newVariable prepares what a request chooses from, or nil if nothing depends on
// it. A shadow limit refuses nobody, at whatever percentage.
func (l *Limit) newVariable() *variable {
	priced, percent := l.CostFrom.Kind() != "", everybody
	if !l.Shadow {
		percent = l.EnforcePercent
	}
	if l.Plans == nil && !priced && percent == everybody {
		return nil
	}
	v := &variable{priced: priced, percent: uint64(percent), others: l.newTerms(l.Limit.Limit)}
	if l.Plans != nil {
		v.plans = make(map[string]terms, len(l.Plans.Values))
		for _, plan := range l.Plans.Values {
			v.plans[plan.Name] = l.newTerms(plan.Limit)
		}
	}
	return v
}

func (l *Limit) newTerms(quota int64) terms {
	enforced, unenforced := l.Limit, l.Limit
	enforced.Limit, unenforced.Limit = quota, quota
	unenforced.Unenforced = true
	return terms{limit.NewCharge(&enforced, l.Cost), limit.NewCharge(&unenforced, l.Cost)}
}

// vary puts the charge that holds for this request in the place of the one that
// was appended last to a group.
func (p *Plan) vary(l *Limit, group int, req *identity.Request) {
	g := &p.Groups[group]
	v := l.varies
	chosen := v.others
	if l.Plans != nil {
		chosen = p.planOf(l, req)
	}
	charge := chosen.enforced
	if v.percent < everybody && cohort(g.Identity()) >= v.percent {
		charge = chosen.unenforced
	}
	if v.priced {
		if cost := p.costOf(l, req); cost != charge.Cost {
			charge = limit.Charge{Limit: charge.Limit, Cost: cost}
		}
	}
	g.Charges[len(g.Charges)-1] = charge
	if charge.Limit.Limit == 0 && charge.Limit.Refuses() && p.Blocked == nil {
		p.Blocked, p.BlockedIn = l, group
	}
}

// planOf is what the caller's plan gives. Who has none, or one that nobody knows,
// gets the default.
func (p *Plan) planOf(l *Limit, req *identity.Request) terms {
	value, ok := l.Plans.By.Append(p.scratch[:0], req)
	p.scratch = value
	if !ok || len(value) == 0 {
		return l.varies.others
	}
	chosen, known := l.varies.plans[string(value)]
	if !known {
		req.Noted |= identity.PlanUnknown
		return l.varies.others
	}
	return chosen
}

// costOf is what a header says that the request costs. What it does not say
// clearly counts 1, and is noted.
func (p *Plan) costOf(l *Limit, req *identity.Request) int64 {
	value, ok := l.CostFrom.Append(p.scratch[:0], req)
	p.scratch = value
	cost := int64(0)
	if ok {
		cost = positive(value)
	}
	if cost == 0 {
		req.Noted |= identity.CostUnread
		return 1
	}
	return cost
}

// positive reads decimal digits, 0 if there is anything else. What is above every
// limit stays so, however long it is.
func positive(digits []byte) (n int64) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = min(10*n+int64(c-'0'), mostLimit)
	}
	return n
}

// everybody is all cohorts.
const everybody = 100

// cohort divides callers into a hundred cohorts by a hash of their identity
// (FNV-1a, 64 bits), the same on every route, worker and host. A limit that is
// enforced for N percent is so for the first N, so a higher percentage adds
// callers and takes none away.
func cohort(caller []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for _, c := range caller {
		hash = (hash ^ uint64(c)) * prime
	}
	return (hash ^ hash>>32) % everybody
}
