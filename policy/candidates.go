package policy

import "routelimit/policy/route"

// Candidate is a route that matches a request.
type Candidate struct {
	Route *Route
	// Reason says why the first candidate wins over this one; "" for the first.
	Reason string
	Params []route.Param
}

// Candidates returns every route whose pattern matches a request, the one that
// Match chooses first. It is for people and asks each route by itself.
func (p *Policy) Candidates(method, host, rawPath string) []Candidate {
	path := p.Paths.Normalize(nil, rawPath)
	var all []Candidate
	var patterns []route.Pattern
	for i, r := range p.Routes {
		pattern, err := p.Paths.ParsePattern(r.Template)
		if err != nil {
			continue // Parse has accepted it
		}
		var alone route.Table
		var params []route.Param
		if alone.Add(pattern, i) != nil {
			continue
		}
		if _, ok := alone.Match(method, host, path, &params); ok {
			all, patterns = append(all, Candidate{Route: r, Params: params}), append(patterns, pattern)
		}
	}
	for best := range all {
		if winsOverAll(patterns, best, method) {
			all[0], all[best], patterns[0], patterns[best] = all[best], all[0], patterns[best], patterns[0]
			break
		}
	}
	for i := range all[min(1, len(all)):] {
		all[i+1].Reason = patterns[0].Reason(patterns[i+1], method)
	}
	return all
}

func winsOverAll(patterns []route.Pattern, best int, method string) bool {
	for i, other := range patterns {
		if i != best && patterns[best].Reason(other, method) == "" {
			return false
		}
	}
	return true
}
