package policytest

import (
	"fmt"
	"slices"
	"strings"

	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// checkLimits says which limits are expected that the policy does not have, so that a test which they fail is not taken for
// a fault of the policy. It is nil if there are none.
func checkLimits(f *File, p *policy.Policy, o *Options) error {
	names := limitNames(p, o)
	var problems Problems
	for _, test := range f.Tests {
		for _, step := range test.Steps {
			if step.Send == nil || step.Send.Expect.Limit == "" || slices.Contains(names, step.Send.Expect.Limit) {
				continue
			}
			e := &step.Send.Expect
			fix := "there is none; remove it"
			if near, ok := strictjson.Nearest(e.Limit, names); ok {
				fix = fmt.Sprintf("did you mean %q?", near)
			} else if len(names) > 0 {
				fix = "write one of " + strings.Join(names[:min(len(names), mostProblems)], ", ")
			}
			problems = append(problems, Problem{e.LimitLine, e.LimitColumn, fmt.Sprintf("the policy has no limit %q; %s", e.Limit, fix)})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems[:min(len(problems), mostProblems)]
}

// limitNames are those of the policy's limits, and of those that Envoy's routes carry.
func limitNames(p *policy.Policy, o *Options) []string {
	var names []string
	add := func(r *policy.Route) {
		for _, l := range r.Limits {
			names = append(names, l.Name)
		}
	}
	for _, r := range p.Routes {
		add(r)
	}
	if p.Default != nil {
		add(p.Default)
	}
	if o.Front != nil {
		for _, c := range o.Front.Carried {
			if r, err := p.ParseMetadata(c.Fields); err == nil && r != nil { // a wrong one is told of where a test takes it
				add(r)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
