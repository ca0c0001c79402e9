package explain

import (
	"fmt"
	"strconv"
	"strings"

	"routelimit/limit"
	"routelimit/limit/lease"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// addLimits adds every limit of the route, and the keys that they come to. It
// returns the limit that is 0 for this caller, if there is one.
func (report *Report) addLimits(route *policy.Route, r *identity.Request) (blocked *policy.Limit) {
	plan := new(policy.Plan)
	request := *r
	route.Plan(&request, plan)
	described := map[*policy.Limit]Limit{}
	for i := range plan.Groups {
		g := &plan.Groups[i]
		key := Key{Key: string(g.Key), Slot: slot(g.Key), group: g}
		for j, l := range g.Limits {
			described[l] = describeLimit(l, &g.Charges[j], r, key.Key)
			key.Limits = append(key.Limits, l.Name)
		}
		report.Keys = append(report.Keys, key)
	}
	for _, l := range route.Limits {
		report.Limits = append(report.Limits, described[l])
	}
	return plan.Blocked
}

// refuseDear settles the outcome where the request costs more than a limit ever
// lets pass, whatever Redis says of what is left.
func (report *Report) refuseDear() {
	for _, key := range report.Keys {
		for j := range key.group.Charges {
			own, price := key.group.Charges[j].Limit, limit.Price(key.group.Charges, j)
			if report.Outcome == Asks && own.Refuses() && price > own.Capacity() {
				report.Outcome = Refused
				report.Why = fmt.Sprintf("the request costs %d, and limit %q never lets more than %d pass", price, key.Limits[j], own.Capacity())
			}
		}
	}
}

// describeLimit describes a limit and what it charges a request.
func describeLimit(l *policy.Limit, c *limit.Charge, r *identity.Request, key string) Limit {
	trace := l.Identity.Trace(r)
	described := Limit{
		Name: l.Name, Terms: terms(c.Limit), Identity: l.Identity.String(),
		Cost: c.Cost, CostFrom: l.CostFrom.String(), CostUnread: costUnread(l, *r, c.Cost),
		Shadow: l.Shadow, EnforcePercent: l.EnforcePercent, Enforced: c.Limit.Refuses(),
		Count: append([]int{}, l.Count...), Used: trace.Used, Key: key,
	}
	switch l.Route.Lease {
	case 0:
	case lease.Auto:
		described.Lease = "auto"
	default:
		described.Lease = strconv.FormatInt(l.Route.Lease, 10)
	}
	if l.Plans != nil {
		described.PlanBy, described.Plan = l.Plans.By.String(), planOf(l, *r)
	}
	for _, tried := range trace.Tried {
		a := Alternative{Text: tried.Text, Present: tried.Present}
		for _, part := range tried.Parts {
			a.Components = append(a.Components, Component(part))
		}
		described.Tried = append(described.Tried, a)
	}
	return described
}

// costUnread reports whether the header that gives the cost cannot be read. A
// cost of 1 is what it says, too.
func costUnread(l *policy.Limit, r identity.Request, cost int64) bool {
	if l.CostFrom.Kind() == "" || cost != 1 {
		return false
	}
	value, ok := l.CostFrom.Append(nil, &r)
	return !ok || strings.TrimLeft(string(value), "0") != "1"
}

// planOf is the caller's plan, if it is listed. A value that is not stays unseen.
func planOf(l *policy.Limit, r identity.Request) string {
	value, ok := l.Plans.By.Append(nil, &r)
	for _, plan := range l.Plans.Values {
		if ok && plan.Name == string(value) {
			return plan.Name
		}
	}
	return ""
}

// terms are a limit in words: "10 in 5m by sliding_log".
func terms(l *limit.Limit) string {
	text := fmt.Sprintf("%d in %s by %s", l.Limit, strictjson.FormatDuration(l.Window), l.Algorithm)
	if l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	return text
}
