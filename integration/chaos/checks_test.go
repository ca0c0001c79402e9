package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
)

const (
	timeout = 50 * time.Millisecond // redis.timeout, as it ships
	// margin is what an answer may take beyond the deadline: on a machine of two cores that run two Envoys, seven Redis,
	// this program and a compiler beside them, each may have to wait for a second or two to run at all. So that nothing
	// hides in it, half of the answers that go without Redis must come within the smaller one.
	margin     = 3 * time.Second
	mostMargin = 500 * time.Millisecond
	aFew       = 20               // fewer answers may all have come in the machine's worst moment
	answerTime = 30 * time.Second // after which there is none

	closedLimit = 5  // a second
	localLimit  = 10 // a second
	sharePct    = 10 // of it for each worker, while Redis does not decide

	unavailable = `{"error":"rate_limiter_unavailable"}`
)

// check says what is wrong with a phase in which there was a fault. All its requests are over.
func (p *phase) check(f fault) []error {
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	by := map[subject][]*sample{}
	waited := map[string][]time.Duration{} // in vain, by listener
	for _, s := range p.samples {
		by[s.subject] = append(by[s.subject], s)
		if !s.decided {
			waited[s.listener] = append(waited[s.listener], s.took())
		}
		if err := s.check(); err != nil && !(f.redials && s.err != nil) {
			note("%v: %w", s, err)
		}
		if s.retries > 0 && !f.redials {
			note("%v: its connection was closed", s)
		}
	}
	for listener, took := range waited {
		slices.Sort(took)
		if half := took[len(took)/2]; half > timeout+mostMargin && len(took) >= aFew {
			note("%s: half of the %d answers that Redis gave no decision for took %v or longer", listener, len(took), half)
		}
	}
	for who, samples := range by {
		if most := f.losses[who.listener]; most >= 0 && who.algorithm != "" {
			if over := overLimit(who, samples); over > most*capacity(who) {
				note("%s%s: %d admitted over the limit for %s, whose count was lost %d times", who.listener, who.path, over, who.caller, most)
			}
		}
		if passed, most := passedLocally(samples); who.path == "/local" && passed > most {
			note("%s%s: the workers let %d pass by themselves for %s, want %d at most", who.listener, who.path, passed, who.caller, most)
		}
	}
	return wrong
}

// check says what is wrong with one answer.
func (s *sample) check() error {
	times, _ := rig.upstream.saw(s.number)
	times = max(0, times-s.retries) // what the client sent again may have been seen before, too
	passed := s.status == http.StatusOK
	closed := strings.HasPrefix(s.path, "/closed/")
	switch {
	case s.err != nil:
		return fmt.Errorf("no answer")
	case s.took() > timeout+margin:
		return fmt.Errorf("too late")
	case passed && times != 1 && s.retries == 0, times > 1:
		return fmt.Errorf("the upstream saw it %d times", times)
	case !passed && times != 0:
		return fmt.Errorf("the upstream saw it %d times, though it was refused", times)
	case passed && closed && !s.decided:
		return fmt.Errorf("passed unasked")
	case passed, s.status == http.StatusTooManyRequests && (s.decided || s.path == "/local") && s.path != "/calm":
		return nil
	case s.status == http.StatusServiceUnavailable && s.body == unavailable && closed:
		return nil
	}
	return fmt.Errorf("no route of this kind answers so")
}

func rule(who subject) limit.Limit {
	a, err := limit.ParseAlgorithm(who.algorithm)
	if err != nil {
		panic(err) // it is one of limit.AlgorithmNames
	}
	return limit.Limit{Algorithm: a, Limit: int64(capacity(who)), Window: time.Second}
}

// capacity is what a subject can get by the loss of its count.
func capacity(who subject) int {
	if who.path == "/local" {
		return localLimit
	}
	return closedLimit
}

// overLimit is how many were admitted that Redis' limit does not explain. On the routes that are not closed those count
// that it was asked about.
func overLimit(who subject, samples []*sample) int {
	var admitted []audit.Admission
	for _, s := range samples {
		if s.status == http.StatusOK && (s.decided || strings.HasPrefix(who.path, "/closed/")) {
			admitted = append(admitted, audit.Admission{Sent: s.sent, Answered: s.answered})
		}
	}
	return audit.Over(rule(who), admitted)
}

// passedLocally is how many passed without Redis, and how many may, by docs/algorithms.md: b + r t/W in each worker, from
// the first to the last of them.
func passedLocally(samples []*sample) (passed, most int) {
	var first, last time.Time
	for _, s := range samples {
		if s.status != http.StatusOK || s.decided {
			continue
		}
		if passed++; first.IsZero() || s.sent.Before(first) {
			first = s.sent
		}
		if s.answered.After(last) {
			last = s.answered
		}
	}
	const share = localLimit * sharePct / 100
	each := share + share*float64(last.Sub(first))/float64(time.Second)
	return passed, int(float64(len(rig.envoys)*workers) * each)
}

// steadyAfter is how many answers in a row count as working again.
const steadyAfter = 3

// lacking is who has not been decided about again since a time, through some Envoy; "" is nobody.
func (p *phase) lacking(since time.Time) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	type way struct {
		subject
		envoy int
	}
	row := map[way]int{}
	bySending := slices.SortedFunc(slices.Values(p.samples), func(a, b *sample) int { return a.sent.Compare(b.sent) })
	for _, s := range bySending {
		at := way{s.subject, s.envoy}
		switch {
		case s.sent.Before(since) || row[at] >= steadyAfter:
		case s.decided:
			row[at]++
		default:
			row[at] = 0
		}
	}
	for _, who := range p.subjects {
		for envoy := range rig.envoys {
			if row[way{who, envoy}] < steadyAfter {
				return fmt.Sprintf("%s%s for %s through envoy %d", who.listener, who.path, who.caller, envoy)
			}
		}
	}
	return ""
}

// decided is how many of those sent in a span were decided about, of the subjects that are chosen.
func (p *phase) decided(from, to time.Time, chosen func(subject) bool) (n, of int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, s := range p.samples {
		if chosen(s.subject) && s.sent.After(from) && s.sent.Before(to) {
			of++
			if s.decided {
				n++
			}
		}
	}
	return n, of
}
