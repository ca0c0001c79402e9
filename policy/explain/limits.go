package explain

import (
	"fmt"

	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// addLimits adds every limit of the route, and the keys that they come to.
func (report *Report) addLimits(route *policy.Route, r *identity.Request) {
	plan := new(policy.Plan)
	request := *r
	route.Plan(&request, plan)
	keys := map[*policy.Limit]string{}
	for i := range plan.Groups {
		g := &plan.Groups[i]
		key := Key{Key: string(g.Key), Slot: slot(g.Key), group: g}
		for _, l := range g.Limits {
			keys[l] = key.Key
			key.Limits = append(key.Limits, l.Name)
		}
		report.Keys = append(report.Keys, key)
	}
	for _, l := range route.Limits {
		report.Limits = append(report.Limits, describeLimit(l, r, keys[l]))
	}
}

func describeLimit(l *policy.Limit, r *identity.Request, key string) Limit {
	trace := l.Identity.Trace(r)
	described := Limit{
		Name: l.Name, Terms: terms(l), Identity: l.Identity.String(), Cost: l.Cost, Shadow: l.Shadow,
		Count: append([]int{}, l.Count...), Used: trace.Used, Key: key,
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

// terms are a limit in words: "10 in 5m by sliding_log".
func terms(l *policy.Limit) string {
	text := fmt.Sprintf("%d in %s by %s", l.Limit.Limit, strictjson.FormatDuration(l.Window), l.Algorithm)
	if l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	return text
}
