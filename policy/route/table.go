package route

import (
	"bytes"
	"strings"
	"unsafe"

	"routelimit/plainfmt"
)

// Table finds the pattern of a request among all that were added. Its zero
// value is empty. Once filled it may be used by any number of readers.
type Table struct {
	anyHost node
	hosts   map[string]*node
}

// node is one place in the tree of segments.
type node struct {
	static map[string]*node
	param  *node
	ends   []entry // patterns that end here
	rest   []entry // patterns whose "*" starts here
}

// entry is one pattern at the place where it ends.
type entry struct {
	pattern Pattern
	names   []string // of the parameters on the way, then "*"
	value   int
}

// SameError says that two patterns match the same requests.
type SameError struct {
	First, Second Pattern
	Value         int // of the first
}

func (e *SameError) Error() string {
	return plainfmt.Sprintf("%q and %q match the same requests; keep one", e.First, e.Second)
}

// Add puts a pattern in. The error is a *[SameError].
func (t *Table) Add(p Pattern, value int) error {
	end := t.host(p.Host)
	entries := &end.ends
	var names []string
	for _, s := range p.segments {
		switch s.kind {
		case static:
			end = end.staticChild(s.text)
		case parameter:
			end = end.paramChild()
			names = append(names, s.text)
		}
		entries = &end.ends
		if s.kind == wildcard {
			entries = &end.rest
			names = append(names, s.text)
		}
	}
	for _, e := range *entries {
		if e.pattern.Method == p.Method {
			return &SameError{e.pattern, p, e.value}
		}
	}
	*entries = append(*entries, entry{p, names, value})
	return nil
}

// Match returns the value of the most specific pattern for a request whose path
// went through [Normalize], and leaves what its parameters matched in *params.
// The method and the host are compared without regard to letter case, the host
// without its port. It does not allocate once *params is large enough.
func (t *Table) Match(method, host string, normalizedPath []byte, params *[]Param) (value int, ok bool) {
	*params = (*params)[:0]
	path := bytes.TrimPrefix(normalizedPath, []byte("/"))

	var found *entry
	if onHost := t.findHost(host); onHost != nil {
		found = onHost.find(method, path, params)
	}
	if found == nil {
		found = t.anyHost.find(method, path, params)
	}
	if found == nil {
		return 0, false
	}
	for i, name := range found.names {
		(*params)[i].Name = name
	}
	return found.value, true
}

// find returns the most specific entry for the rest of a path, which has no
// leading slash, or nil. The depth of the recursion is that of the templates,
// whatever the path.
func (n *node) find(method string, path []byte, params *[]Param) *entry {
	if len(path) == 0 {
		return pick(n.ends, method)
	}
	segment, rest := cutSegment(path)
	if child := n.static[string(segment)]; child != nil {
		if found := child.find(method, rest, params); found != nil {
			return found
		}
	}
	before := len(*params)
	if n.param != nil {
		*params = append(*params, Param{Value: alias(segment)})
		if found := n.param.find(method, rest, params); found != nil {
			return found
		}
		*params = (*params)[:before]
	}
	found := pick(n.rest, method)
	if found != nil {
		*params = append(*params, Param{Value: alias(path)})
	}
	return found
}

// cutSegment takes the first segment off. It stands for bytes.Cut, which runs
// four functions more for the few bytes of a segment.
func cutSegment(path []byte) (segment, rest []byte) {
	for i, c := range path {
		if c == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, nil
}

// pick returns the entry for a method: its own, for HEAD that of GET, any.
func pick(entries []entry, method string) *entry {
	var best *entry
	for i := range entries {
		e := &entries[i]
		switch {
		case strings.EqualFold(e.pattern.Method, method):
			return e
		case e.pattern.Method == "GET" && strings.EqualFold(method, "HEAD"):
			best = e
		case e.pattern.Method == "*" && best == nil:
			best = e
		}
	}
	return best
}

// alias returns b as a string without a copy; see [Param].
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (t *Table) host(host string) *node {
	if host == "" {
		return &t.anyHost
	}
	if t.hosts == nil {
		t.hosts = make(map[string]*node)
	}
	if t.hosts[host] == nil {
		t.hosts[host] = new(node)
	}
	return t.hosts[host]
}

func (n *node) staticChild(text string) *node {
	if n.static == nil {
		n.static = make(map[string]*node)
	}
	if n.static[text] == nil {
		n.static[text] = new(node)
	}
	return n.static[text]
}

func (n *node) paramChild() *node {
	if n.param == nil {
		n.param = new(node)
	}
	return n.param
}
