package imported

import (
	"slices"
	"strings"
)

// rule is what the service's tree says of a descriptor whose unknown values are
// these; "" is any that no other rule has.
type rule struct {
	picks []string // parallel to the entries
	pools []string // parallel: the pattern of share_threshold under which all its values count
	limit *quota   // nil: none
}

// mostRules bounds the rules of one descriptor.
const mostRules = 1000

// rulesOf walks the service's tree.
func (c *converter) rulesOf(a *ask) []rule {
	root := c.domains[a.domain]
	none := make([]string, len(a.request.entries))
	switch {
	case root == nil:
		return nil
	case a.request.override != nil:
		return []rule{{none, none, a.request.override}}
	}
	var rules []rule
	c.walkRules(a, root, 0, rule{picks: none, pools: none}, &rules)
	return rules
}

func (c *converter) walkRules(a *ask, at *descriptor, i int, so rule, rules *[]rule) {
	if len(*rules) > mostRules {
		return
	}
	e := a.request.entries[i]
	follow := func(next *descriptor, pick string) {
		here := rule{picks: slices.Clone(so.picks), pools: slices.Clone(so.pools)}
		here.picks[i] = pick
		if next != nil && next.pooled {
			here.pools[i] = strings.TrimPrefix(next.name, e.key+"_")
		}
		switch last := i == len(a.request.entries)-1; {
		case next == nil || !last && len(next.children) == 0:
			*rules = append(*rules, here)
		case last:
			next.used = true
			here.limit = next.limit
			*rules = append(*rules, here)
		default:
			c.walkRules(a, next, i+1, here, rules)
		}
	}
	if e.source == "" {
		follow(at.find(e.key, e.value), "")
		return
	}
	for _, child := range at.children {
		value, isValue := strings.CutPrefix(child.name, e.key+"_")
		switch {
		case !isValue:
		case strings.Contains(child.name, "*"):
			c.losePattern(child)
		case e.source == pathSource:
			if _, ok := pathTemplate(value); !ok || !a.elsewhere {
				c.losePath(child, value)
			}
		case !isPlan(value) || e.source == "ip":
			c.loseValue(child, e, value)
		default:
			follow(child, value)
		}
	}
	follow(at.child(e.key), "")
}

func (c *converter) losePattern(d *descriptor) {
	markUsed(d)
	c.lose(d.Place, "the pattern %q: a value that a request brings cannot be compared with a pattern here; what matches it has the limit of all other values. Give those requests a route, or list the values", d.name)
}

func (c *converter) loseValue(d *descriptor, e entry, value string) {
	markUsed(d)
	if e.source == "ip" {
		c.lose(d.Place, "a limit for the address %q alone: every address has the same limit here; exempt frees one from all limits of a route, and an RBAC filter of Envoy refuses one", value)
		return
	}
	c.lose(d.Place, "the value %q cannot be listed as a plan, which takes 1 to 128 bytes without blanks at either end; it has the limit of all other values", value)
}

// markUsed spares a part of the tree that was spoken of.
func markUsed(d *descriptor) {
	d.used = true
	for _, child := range d.children {
		markUsed(child)
	}
}
