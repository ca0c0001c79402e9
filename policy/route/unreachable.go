package route

// Hidden is a pattern that no request can reach.
type Hidden struct {
	Pattern Pattern
	Value   int       // as it was added
	By      []Pattern // which take all its requests together
}

// Unreachable returns the patterns that never win. Only a wildcard can be
// hidden: "/a/*" is, where "/a/:x" takes every path of one more segment and
// "/a/:x/*" every longer one.
func (t *Table) Unreachable() []Hidden {
	hidden := t.anyHost.unreachable(nil)
	for _, onHost := range t.hosts {
		hidden = onHost.unreachable(hidden)
	}
	return hidden
}

func (n *node) unreachable(hidden []Hidden) []Hidden {
	for _, e := range n.rest {
		if by := n.hiding(e.pattern.Method); by != nil {
			hidden = append(hidden, Hidden{e.pattern, e.value, by})
		}
	}
	for _, child := range n.static {
		hidden = child.unreachable(hidden)
	}
	if n.param != nil {
		hidden = n.param.unreachable(hidden)
	}
	return hidden
}

// hiding returns the patterns that win over a "*" at n for every path below, or nil.
func (n *node) hiding(method string) []Pattern {
	if n.param == nil {
		return nil
	}
	one := pick(n.param.ends, method)
	if one == nil {
		return nil
	}
	if longer := pick(n.param.rest, method); longer != nil {
		return []Pattern{one.pattern, longer.pattern}
	}
	if longer := n.param.hiding(method); longer != nil {
		return append([]Pattern{one.pattern}, longer...)
	}
	return nil
}
