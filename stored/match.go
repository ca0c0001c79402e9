package stored

import (
	"slices"
	"strings"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/identity"
)

// Limits are those of a policy that count under a key with these fields: of its route or bucket, with an identity of its
// components. Where the address may stand in for an identity that was missing, they are also those that have a field which
// is no other limit's.
func Limits(p *policy.Policy, key Key, fields []Field) []*policy.Limit {
	if key.Prefix != p.Redis.KeyPrefix {
		return nil
	}
	routes := slices.Clone(p.Routes)
	if p.Default != nil {
		routes = append(routes, p.Default)
	}
	var found, others []*policy.Limit
	for _, r := range routes {
		for _, l := range r.Limits {
			switch {
			case !inScope(l, key.Scope):
			case !resolves(l, key.Names):
				others = append(others, l)
			case !listed(found, l):
				found = append(found, l)
			}
		}
	}
	if len(key.Names) == 1 && key.Names[0] == "ip" {
		found = append(found, standIns(others, found, fields)...)
	}
	return found
}

func inScope(l *policy.Limit, scope string) bool {
	switch {
	case l.Bucket != "":
		return scope == "bucket:"+l.Bucket
	case l.Route.PerEnvoyRoute:
		return strings.HasPrefix(scope, l.Route.Key+"/")
	}
	return scope == l.Route.Key
}

// resolves says whether an alternative of the identity has these components.
func resolves(l *policy.Limit, names []string) bool {
	return slices.ContainsFunc(l.Identity.Alternatives(), func(a []identity.Component) bool {
		return slices.EqualFunc(a, names, func(c identity.Component, name string) bool { return c.Name == name })
	})
}

// standIns are those of some limits that the address was counted for in the place of their identity.
func standIns(limits, found []*policy.Limit, fields []Field) []*policy.Limit {
	var list []*policy.Limit
	for _, l := range limits {
		shares := func(other *policy.Limit) bool { return l.SharesState(&other.Limit) }
		counted := slices.ContainsFunc(fields, func(f Field) bool { return Counts(&l.Limit, &f) })
		if counted && !slices.ContainsFunc(found, shares) && !listed(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// listed says whether a limit of the same bucket and terms is there already.
func listed(found []*policy.Limit, l *policy.Limit) bool {
	return l.Bucket != "" && slices.ContainsFunc(found, func(other *policy.Limit) bool {
		return other.Name == l.Name && other.Limit == l.Limit
	})
}

// Counts says whether a limit keeps its state in a field.
func Counts(l *limit.Limit, f *Field) bool {
	kind := Window
	switch l.Algorithm {
	case limit.SlidingLog:
		kind = Log
	case limit.TokenBucket:
		kind = Bucket
	}
	return f.Kind == kind && f.Window == l.Window && f.Shadow == l.Shadow
}

// Used is how much of a limit is used at a time, by what is in its field.
func Used(l *limit.Limit, fields []Field, nowMS int64) int64 {
	for i := range fields {
		if Counts(l, &fields[i]) {
			return fields[i].Used(nowMS, l.Algorithm == limit.SlidingWindow, l.Limit)
		}
	}
	return 0
}
