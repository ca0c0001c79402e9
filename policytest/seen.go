package policytest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	hosttest "routelimit/host-test"
	"routelimit/policy/explain"
	"routelimit/resp"
)

// seen is what came of a request.
type seen struct {
	decided   bool
	status    int
	outcome   string
	limit     string
	client    hosttest.Message
	remaining map[string]int64 // as an expectation asks for it
	unknown   string           // why remaining is not known
}

// The filter states by which the module says what it did.
const (
	stateOutcome = "wasm.routelimit.outcome"
	stateLimit   = "wasm.routelimit.limit"
)

func look(s *hosttest.Stream, decided bool) *seen {
	state := s.FilterState()
	status, _ := strconv.Atoi(s.Status())
	found := &seen{decided: decided, status: status, outcome: state[stateOutcome], limit: state[stateLimit], client: s.Client()}
	if found.outcome == "" {
		found.outcome = "passed"
	}
	return found
}

// left takes what is left from a report that has looked.
func (s *seen) left(report *explain.Report, wanted map[string]int64) {
	s.remaining = map[string]int64{}
	shadow := map[string]bool{}
	for _, l := range report.Limits {
		shadow[l.Name] = !l.Enforced
	}
	for _, key := range report.Keys {
		for i, left := range key.Left {
			name := key.Limits[i]
			s.remaining[name] = left.Remaining
			if least, ok := s.remaining[""]; !shadow[name] && (!ok || left.Remaining < least) {
				s.remaining[""] = left.Remaining
			}
		}
	}
	for name := range wanted {
		if _, ok := s.remaining[name]; !ok {
			s.unknown = "what remains is not known, since " + report.Why
		}
	}
}

// met says whether the expectation is. What remains is compared after the last request of a step.
func (e *Expectation) met(s *seen, last bool) bool {
	switch {
	case !s.decided,
		e.Status != 0 && e.Status != s.status,
		e.Outcome != "" && e.Outcome != s.outcome,
		e.Limit != "" && e.Limit != s.limit,
		e.RetryAfter != nil && *e.RetryAfter != s.retryAfter():
		return false
	}
	for _, h := range e.Headers {
		if !h.met(s.client.Headers) {
			return false
		}
	}
	for _, text := range e.Contains {
		if !bytes.Contains(s.client.Body, []byte(text)) {
			return false
		}
	}
	for name, want := range e.Remaining {
		if got, ok := s.remaining[name]; last && (!ok || got != want) {
			return false
		}
	}
	return true
}

func (h *Header) met(headers hosttest.Headers) bool {
	values := headers.Values(h.Name)
	return h.Absent && len(values) == 0 || !h.Absent && slices.Contains(values, h.Value)
}

// retryAfter is in seconds, NoRetryAfter if there is none.
func (s *seen) retryAfter() int64 {
	seconds, err := strconv.ParseInt(s.client.Headers.Get("retry-after"), 10, 64)
	if err != nil {
		return NoRetryAfter
	}
	return seconds
}

// String says what was seen of what is expected, and who answered.
func (s *seen) String(e *Expectation) string {
	if !s.decided {
		return "nothing: the request still waits"
	}
	parts := []string{strconv.Itoa(s.status) + s.answerer()}
	if after := s.retryAfter(); after != NoRetryAfter || e.RetryAfter != nil {
		parts = append(parts, retryAfterText(after))
	}
	if s.limit != "" {
		parts = append(parts, fmt.Sprintf("limit %q", s.limit))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Remaining)) {
		if n, ok := s.remaining[name]; ok {
			parts = append(parts, remainingText(name, n))
		}
	}
	for _, h := range e.Headers {
		values := s.client.Headers.Values(h.Name)
		parts = append(parts, headerText(h.Name, strings.Join(values, ", "), len(values) > 0))
	}
	if len(e.Contains) > 0 {
		parts = append(parts, fmt.Sprintf("the body %q", s.client.Body))
	}
	if s.unknown != "" {
		parts = append(parts, s.unknown)
	}
	return strings.Join(parts, ", ")
}

// answerer says whose the status is.
func (s *seen) answerer() string {
	switch s.outcome {
	case "passed":
		return " from the upstream"
	case "open":
		return " from the upstream, undecided (open)"
	case "local_passed":
		return " from the upstream, decided by the worker (local_passed)"
	}
	return " (" + s.outcome + ")"
}

// ask asks the store as the module would, at the test's time.
func (e *envoy) ask(command []byte) (resp.Value, error) {
	words, err := cut(command)
	if err != nil {
		return resp.Value{}, err
	}
	reply, err := e.store.Do(words, e.clock.Now().UnixMilli())
	if err != nil {
		return resp.Value{}, err
	}
	var d resp.Decoder
	d.Write(reply)
	return d.Next()
}

// cut cuts a command into its words.
func cut(command []byte) ([][]byte, error) {
	var d resp.Decoder
	d.Write(command)
	v, err := d.Next()
	if err != nil {
		return nil, err
	}
	words := make([][]byte, len(v.Elems))
	for i, e := range v.Elems {
		words[i] = slices.Clone(e.Text)
	}
	return words, nil
}
