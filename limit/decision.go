package limit

import (
	"math"
	"strconv"
	"time"

	"routelimit/resp"
)

// Never is the Wait of a request that no waiting lets pass.
const Never time.Duration = -1

// Verdict is what one limit says about a request.
type Verdict struct {
	// Pass says whether this limit lets the request through. A shadow or unenforced limit that does not refuses nobody.
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
	// Allowed says that every limit passed that refuses anybody, and that they were charged.
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
		if v.Pass || !charges[i].Limit.Refuses() {
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
// refused, and no limit that did not pass. Each comes with what was charged, which is more than its own cost where
// another limit shares its state.
func (d *Decision) Charged(dst, charges []Charge) []Charge {
	if !d.Allowed {
		return dst
	}
	for i, v := range d.Verdicts {
		if v.Pass {
			dst = append(dst, Charge{Limit: charges[i].Limit, Cost: Price(charges, i)})
		}
	}
	return dst
}

// ReplyError says that a reply is none that the scripts give. The request it belongs to was not decided.
type ReplyError struct {
	Place  string // "reply", "limit 2", …
	Reason string
}

func (e *ReplyError) Error() string {
	return e.Place + " " + e.Reason + "; check that nothing but routelimit's own scripts answers on this connection"
}

// How many bytes the reply to a decide command has, see decide.lua: for the call, for each of its limits, and of a lease.
const (
	replyHead    = 1 + 7
	replyVerdict = 1 + 7 + 7 + 7
	replyTaken   = 7
)

const maxWaitMS = 1 << 54 // the largest bucket's slowest refill, seen from a clock that went back

// ReadDecision reads the reply to AppendDecide for the same charges, and reuses into.Verdicts. A reply that is not
// exactly what the script gives is a *ReplyError, never a verdict; an error reply is one too, and resp.ClassifyError
// tells its kind. What is in into after an error is not to be used.
func ReadDecision(v resp.Value, charges []Charge, into *Decision) error {
	return into.read(v, charges, 0)
}

// ReadLease reads the reply to AppendLease for the same charges and most, as ReadDecision does, and says how many
// requests were charged: 0 if the decision is a refusal, else 1 to most.
func ReadLease(v resp.Value, charges []Charge, most int64, into *Decision) (taken int64, err error) {
	if err := into.read(v, charges, replyTaken); err != nil {
		return 0, err
	}
	taken = readUint(v.Text[len(v.Text)-replyTaken:], replyTaken)
	if taken > most || (taken > 0) != into.Allowed {
		return 0, odd("reply", taken, "how many of "+itoa(most)+" requests were charged")
	}
	return taken, nil
}

// read is ReadDecision, for a reply with so many bytes behind the verdicts.
func (into *Decision) read(v resp.Value, charges []Charge, more int) error {
	into.Allowed, into.AtMS, into.Verdicts = false, 0, into.Verdicts[:0]
	if err := checkKind(v, resp.BulkString); err != nil {
		return err
	}
	b := v.Text
	if want := replyHead + replyVerdict*len(charges) + more; len(b) != want {
		return &ReplyError{"reply", "has " + itoa(int64(len(b))) + " bytes, not " + itoa(int64(want))}
	}
	allowed, at := int64(b[0]), readUint(b[1:], 7)
	if allowed > 1 {
		return odd("reply", allowed, "0 or 1 for allowed")
	}
	if at > maxExact {
		return odd("reply", at, "a time in ms")
	}
	all := true
	for i := range charges {
		into.Verdicts = append(into.Verdicts, Verdict{})
		if err := into.Verdicts[i].read(b[replyHead+replyVerdict*i:], i, charges[i].Limit); err != nil {
			return err
		}
		all = all && (into.Verdicts[i].Pass || !charges[i].Limit.Refuses())
	}
	if all != (allowed == 1) {
		return odd("reply", allowed, "what the verdicts say for allowed")
	}
	into.Allowed, into.AtMS = all, at
	return nil
}

// AppendReply appends d as a Redis would that ran the script, for whoever stands in for one.
func (d *Decision) AppendReply(dst []byte) []byte {
	dst = appendLength(dst, replyHead+replyVerdict*len(d.Verdicts))
	return append(d.appendNumbers(dst), "\r\n"...)
}

// AppendLeaseReply is AppendReply for a lease of so many requests.
func (d *Decision) AppendLeaseReply(dst []byte, taken int64) []byte {
	dst = appendLength(dst, replyHead+replyVerdict*len(d.Verdicts)+replyTaken)
	dst = appendUint(d.appendNumbers(dst), taken, replyTaken)
	return append(dst, "\r\n"...)
}

func (d *Decision) appendNumbers(dst []byte) []byte {
	dst = appendUint(append(dst, bit(d.Allowed)), d.AtMS, 7)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		dst = append(dst, bit(v.Pass)|bit(v.Restarted)<<1)
		dst = appendUint(dst, v.Remaining, 7)
		dst = appendUint(dst, v.Reset.Milliseconds(), 7)
		wait := v.Wait.Milliseconds()
		if v.Wait == Never {
			wait = -1
		}
		dst = appendUint(dst, wait, 7)
	}
	return dst
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ReadRefund reads the reply to AppendRefund.
func ReadRefund(v resp.Value) error {
	if err := checkKind(v, resp.Integer); err != nil {
		return err
	}
	if v.Int < 0 {
		return odd("reply", v.Int, "a count of fields")
	}
	return nil
}

func checkKind(v resp.Value, want resp.Kind) error {
	switch {
	case v.Kind == resp.Error:
		return &ReplyError{"reply", "is the error " + strconv.Quote(string(v.Text))}
	case v.Null:
		return &ReplyError{"reply", "is null, not " + want.String()}
	case v.Kind != want:
		return &ReplyError{"reply", "is " + v.Kind.String() + ", not " + want.String()}
	}
	return nil
}

// read takes the verdict of the i-th limit.
func (v *Verdict) read(b []byte, i int, l *Limit) error {
	flags, remaining, reset := int64(b[0]), readUint(b[1:], 7), readUint(b[8:], 7)
	wait := readUint(b[15:], 7) << 8 >> 8 // with its sign
	pass := flags&1 == 1
	switch {
	case flags > 3:
		return odd(place(i), flags, "a verdict from 0 to 3")
	case remaining > l.Capacity():
		return odd(place(i), remaining, "a remainder within the limit")
	case reset > maxWaitMS:
		return odd(place(i), reset, "a reset in ms")
	case wait < -1 || wait > maxWaitMS || pass && wait != 0 || !pass && wait == 0:
		return odd(place(i), wait, "a wait in ms that fits the verdict")
	}
	*v = Verdict{Pass: pass, Restarted: flags&2 != 0, Remaining: remaining, Reset: duration(reset), Wait: duration(wait)}
	return nil
}

// duration turns ms, -1 for never, into a duration. A slow bucket can take longer to fill than a duration can say.
func duration(ms int64) time.Duration {
	if ms < 0 {
		return Never
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func place(i int) string { return "limit " + itoa(int64(i+1)) }

func odd(place string, got int64, want string) error {
	return &ReplyError{place, "says " + itoa(got) + ", not " + want}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
