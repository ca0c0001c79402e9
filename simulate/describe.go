package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// describe makes the report of one limit.
func describe(l *policy.Limit, t *limitTally, top int) Limit {
	d := Limit{
		Name: l.Name, Terms: Terms(l), Identity: l.Identity.String(), Shadow: l.Shadow, Count: l.Count,
		Number: l.Capacity(), Unit: "limit", LeftOut: t.leftOut, Lacks: []string{},
		Asked: t.asked, Passed: t.passed, Refused: t.refused, Withheld: t.withheld, Spared: t.spared, Returned: t.returned,
		Used: []Used{}, Suggestions: []Suggestion{}, Distribution: []Bin{},
		Top: t.offenders.top(top), TopFloor: t.offenders.floor, limit: l,
	}
	if l.Algorithm == limit.TokenBucket {
		d.Unit = "burst"
	}
	for _, used := range t.used {
		d.Used = append(d.Used, *used)
	}
	slices.SortFunc(d.Used, func(a, b Used) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Alternative, b.Alternative))
	})
	d.addPopulation(l, &t.population)
	t.minutes.close()
	if worst := t.minutes.worst; worst.refused > 0 {
		d.WorstMinute = &Minute{timeOf(worst.at * 60_000), worst.requests, worst.refused, worst.spared}
	}
	return d
}

func (d *Limit) addPopulation(l *policy.Limit, p *population) {
	peaks, refused, spared := p.peaks()
	oneIn := int64(p.oneIn)
	d.Identities, d.OneIn = int64(len(peaks))*oneIn, oneIn
	d.IdentitiesRefused, d.IdentitiesSpared = refused*oneIn, spared*oneIn
	if len(peaks) == 0 || l.Limit.Limit == 0 {
		return
	}
	most := l.Widest()
	for _, share := range perMille {
		number := suggest(peaks, share)
		d.Suggestions = append(d.Suggestions, Suggestion{float64(share) / 10, number, number > most.Capacity()})
	}
	d.Distribution = distribute(peaks)
	for i := range d.Distribution {
		d.Distribution[i].Identities *= oneIn
	}
}

// Terms are a limit in words: "10 in 5m by sliding_log".
func Terms(l *policy.Limit) string {
	text := fmt.Sprintf("%d in %s by %s", l.Limit.Limit, strictjson.FormatDuration(l.Window), l.Algorithm)
	if l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	if l.Plans != nil {
		text += ", by " + l.Plans.By.String()
		for _, plan := range l.Plans.Values {
			text += fmt.Sprintf(" %s %d", plan.Name, plan.Limit)
		}
	}
	if l.EnforcePercent < everybody {
		text += fmt.Sprintf(", for %d%% of callers", l.EnforcePercent)
	}
	return text
}

// everybody is the EnforcePercent of a limit that is enforced for all.
const everybody = 100
