package limit

import (
	"fmt"
	"math"
	"time"

	"routelimit/resp"
)

// Never is the Wait of a request that no waiting lets pass.
const Never time.Duration = -1

// Verdict is what one limit says about a request.
type Verdict struct {
	// Pass says whether this limit lets the request through. A shadow limit that does not refuses nobody.
	Pass bool
	// Restarted says that the stored state was unreadable, or more than a window ahead of the clock, and was begun anew.
	Restarted bool
	// Remaining is how many more requests of cost 1 would pass right now.
	// Example: 20 each minute, 13 passed in this window, this one among them: Remaining is 7.
	Remaining int64
	// Reset is the time until one more frees; until the window's end for a fixed window, until full for a bucket.
	Reset time.Duration
	// Wait is, after a refusal, how long to wait until the same request passes if nothing else comes; Never if no wait
	// helps. 0 for a limit that passed.
	Wait time.Duration
}

// Decision is what one call decided.
type Decision struct {
	// Allowed says that every limit passed that is not a shadow, and that they were charged.
	Allowed bool
	// AtMS is the time in ms since the epoch that the charges stand under; AppendRefund takes it. 0 where the limits of
	// the call disagree about the time, after Redis' clock went back: then a refund takes nothing back.
	AtMS int64
	// Verdicts has one entry for each charge, in order.
	Verdicts []Verdict
}

// Wait is the longest wait among the limits that refuse: Never if one of them never passes, 0 if the request is allowed.
func (d *Decision) Wait(charges []Charge) time.Duration {
	var longest time.Duration
	for i, v := range d.Verdicts {
		if v.Pass || charges[i].Limit.Shadow {
			continue
		}
		if v.Wait == Never {
			return Never
		}
		longest = max(longest, v.Wait)
	}
	return longest
}

// Charged appends those charges of the call that were counted, which is what a refund may name: none if the request was
// refused, and no shadow limit that did not pass.
func (d *Decision) Charged(dst, charges []Charge) []Charge {
	if !d.Allowed {
		return dst
	}
	for i, v := range d.Verdicts {
		if v.Pass {
			dst = append(dst, charges[i])
		}
	}
	return dst
}

// ReplyError says that a reply is none that the scripts give. The request it belongs to was not decided.
type ReplyError struct {
	Place  string // "reply", "element 3", …
	Reason string
}

func (e *ReplyError) Error() string {
	return e.Place + " " + e.Reason + "; check that nothing but routelimit's own scripts answers on this connection"
}

// The decide reply: two integers, then four for each charge.
const (
	replyHead    = 2
	replyVerdict = 4
	maxWaitMS    = 1 << 54 // the largest bucket's slowest refill, seen from a clock that went back
)

// ReadDecision reads the reply to AppendDecide for the same charges, and reuses into.Verdicts. A reply that is not
// exactly what the script gives is a *ReplyError, never a verdict; an error reply is one too, and resp.ClassifyError
// tells its kind. What is in into after an error is not to be used.
func ReadDecision(v resp.Value, charges []Charge, into *Decision) error {
	into.Allowed, into.AtMS, into.Verdicts = false, 0, into.Verdicts[:0]
	if err := checkShape(v, replyHead+replyVerdict*len(charges)); err != nil {
		return err
	}
	allowed, at := v.Elems[0].Int, v.Elems[1].Int
	if allowed != 0 && allowed != 1 {
		return elementError(0, allowed, "0 or 1 for allowed")
	}
	if at < 0 || at > maxExact {
		return elementError(1, at, "a time in ms")
	}
	all := true
	for i := range charges {
		first := replyHead + replyVerdict*i
		verdict, err := readVerdict(v.Elems[first:first+replyVerdict], first, charges[i].Limit)
		if err != nil {
			return err
		}
		all = all && (verdict.Pass || charges[i].Limit.Shadow)
		into.Verdicts = append(into.Verdicts, verdict)
	}
	if all != (allowed == 1) {
		return elementError(0, allowed, "what the verdicts say for allowed")
	}
	into.Allowed, into.AtMS = all, at
	return nil
}

// ReadRefund reads the reply to AppendRefund.
func ReadRefund(v resp.Value) error {
	if err := checkKind(v, resp.Integer, "reply"); err != nil {
		return err
	}
	if v.Int < 0 {
		return &ReplyError{"reply", fmt.Sprintf("is %d, not a count of fields", v.Int)}
	}
	return nil
}

// checkShape wants an array of exactly n integers.
func checkShape(v resp.Value, n int) error {
	if err := checkKind(v, resp.Array, "reply"); err != nil {
		return err
	}
	if len(v.Elems) != n {
		return &ReplyError{"reply", fmt.Sprintf("has %d elements, not %d", len(v.Elems), n)}
	}
	for i := range v.Elems {
		if v.Elems[i].Kind != resp.Integer {
			return checkKind(v.Elems[i], resp.Integer, place(i))
		}
	}
	return nil
}

func checkKind(v resp.Value, want resp.Kind, where string) error {
	switch {
	case v.Kind == resp.Error:
		return &ReplyError{where, fmt.Sprintf("is the error %q", v.Text)}
	case v.Null:
		return &ReplyError{where, fmt.Sprintf("is null, not %v", want)}
	case v.Kind != want:
		return &ReplyError{where, fmt.Sprintf("is %v, not %v", v.Kind, want)}
	}
	return nil
}

func readVerdict(e []resp.Value, first int, l *Limit) (Verdict, error) {
	flags, remaining, reset, wait := e[0].Int, e[1].Int, e[2].Int, e[3].Int
	pass := flags&1 == 1
	switch {
	case flags < 0 || flags > 3:
		return Verdict{}, elementError(first, flags, "a verdict from 0 to 3")
	case remaining < 0 || remaining > l.Capacity():
		return Verdict{}, elementError(first+1, remaining, "a remainder within the limit")
	case reset < 0 || reset > maxWaitMS:
		return Verdict{}, elementError(first+2, reset, "a reset in ms")
	case wait < -1 || wait > maxWaitMS || pass && wait != 0 || !pass && wait == 0:
		return Verdict{}, elementError(first+3, wait, "a wait in ms that fits the verdict")
	}
	return Verdict{
		Pass:      pass,
		Restarted: flags&2 != 0,
		Remaining: remaining,
		Reset:     duration(reset),
		Wait:      duration(wait),
	}, nil
}

// duration turns ms, -1 for never, into a duration. A slow bucket can take longer to fill than a duration can say.
func duration(ms int64) time.Duration {
	if ms < 0 {
		return Never
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func place(i int) string { return fmt.Sprintf("element %d", i+1) }

func elementError(i int, got int64, want string) error {
	return &ReplyError{place(i), fmt.Sprintf("is %d, not %s", got, want)}
}
