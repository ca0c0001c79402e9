package policytest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"routelimit/bootstrap/yamltree"
)

// expect reads a status, or a mapping.
func (r *reader) expect(n *yamltree.Node, e *Expectation) {
	status := func(n *yamltree.Node) { e.Status = int(r.whole(n, "status", 200, 599)) }
	if !n.IsMapping() {
		status(n)
		return
	}
	r.mapping(n, "expect", []field{
		{"status", status},
		{"outcome", func(n *yamltree.Node) { e.Outcome = r.oneOf(n, "outcome", Outcomes) }},
		{"limit", func(n *yamltree.Node) { e.Limit, e.LimitLine, e.LimitColumn = r.text(n, "limit"), n.Line, n.Column }},
		{"retry_after", func(n *yamltree.Node) { e.RetryAfter = r.retryAfter(n) }},
		{"remaining", func(n *yamltree.Node) { e.Remaining = r.remaining(n) }},
		{"headers", func(n *yamltree.Node) { e.Headers = r.headers(n) }},
		{"body_contains", func(n *yamltree.Node) { e.Contains = r.texts(n) }},
	})
	if len(n.Fields()) == 0 {
		r.failAt(n, "nothing is expected; write status: and what else must be")
	}
}

// retryAfter is seconds, a duration, or "none".
func (r *reader) retryAfter(n *yamltree.Node) *int64 {
	seconds, ok := n.Number()
	switch {
	case ok:
	case n.Text() == "none":
		seconds = NoRetryAfter
	default:
		d := r.duration(n, "retry_after")
		if d%time.Second != 0 {
			r.failAt(n, "retry_after %s is not whole seconds; write seconds, such as 300", n.Text())
		}
		seconds = int64(d / time.Second)
	}
	return &seconds
}

// remaining is one number, or one by the name of each limit.
func (r *reader) remaining(n *yamltree.Node) map[string]int64 {
	const most = 1 << 53
	if !n.IsMapping() {
		return map[string]int64{"": r.whole(n, "remaining", 0, most)}
	}
	left := map[string]int64{}
	for _, member := range r.members(n) {
		left[member.Name] = r.whole(member.Value, "remaining", 0, most)
	}
	return left
}

// headers are names and values; null is one that must not be there.
func (r *reader) headers(n *yamltree.Node) []Header {
	if !n.IsMapping() {
		r.failAt(n, "headers are names and values; write them as name: value, or name: null for one that must not be there")
		return nil
	}
	var list []Header
	for _, member := range r.members(n) {
		h := Header{Name: strings.ToLower(member.Name), Absent: member.Value.IsNull()}
		if !h.Absent {
			h.Value = r.text(member.Value, member.Name)
		}
		list = append(list, h)
	}
	return list
}

func (r *reader) texts(n *yamltree.Node) []string {
	if !n.IsList() {
		return []string{r.text(n, "body_contains")}
	}
	var list []string
	for _, item := range n.Items() {
		list = append(list, r.text(item, "body_contains"))
	}
	return list
}

// String says what is expected: 429, Retry-After 300, limit "pair".
func (e *Expectation) String() string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strconv.Itoa(e.Status))
	}
	if e.Outcome != "" {
		parts = append(parts, "outcome "+e.Outcome)
	}
	if e.RetryAfter != nil {
		parts = append(parts, retryAfterText(*e.RetryAfter))
	}
	if e.Limit != "" {
		parts = append(parts, fmt.Sprintf("limit %q", e.Limit))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Remaining)) {
		parts = append(parts, remainingText(name, e.Remaining[name]))
	}
	for _, h := range e.Headers {
		parts = append(parts, headerText(h.Name, h.Value, !h.Absent))
	}
	for _, text := range e.Contains {
		parts = append(parts, fmt.Sprintf("a body with %q", text))
	}
	return strings.Join(parts, ", ")
}

func retryAfterText(seconds int64) string {
	if seconds == NoRetryAfter {
		return "no Retry-After"
	}
	return fmt.Sprintf("Retry-After %d", seconds)
}

func remainingText(name string, n int64) string {
	if name == "" {
		return fmt.Sprintf("%d remaining", n)
	}
	return fmt.Sprintf("%d remaining of %q", n, name)
}

func headerText(name, value string, there bool) string {
	if !there {
		return "no " + name
	}
	return fmt.Sprintf("%s: %s", name, value)
}
