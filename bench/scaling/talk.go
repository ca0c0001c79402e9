package main

import (
	"errors"
	"fmt"
	"time"

	"routelimit/bench/stand"
	"routelimit/limit"
	"routelimit/resp"
)

// talk is what routelimit's worker says to Redis: the module's own commands, for one of so many callers after the other.
type talk struct {
	caller  func() string
	charges []limit.Charge
	key     []byte
	decoder resp.Decoder
}

func newTalk(caller func() string) *talk {
	l := &limit.Limit{Algorithm: limit.SlidingWindow, Limit: stand.NeverReached, Window: time.Minute}
	return &talk{caller: caller, charges: []limit.Charge{limit.NewCharge(l, 1)}}
}

// Append appends a decision about the next caller, under the key that the module makes on the measured path.
func (t *talk) Append(b []byte) []byte {
	t.key = append(append(append(t.key[:0], "rl:{GET:"+measuredPath+"|user:"...), t.caller()...), '}')
	return limit.AppendDecide(b, t.key, 0, t.charges)
}

// Read reads one decision, which has to let the request pass.
func (t *talk) Read(b []byte) (n int, last bool, err error) {
	t.decoder.Reset()
	t.decoder.Write(b[:min(len(b), 512)])
	before := t.decoder.Buffered()
	v, err := t.decoder.Next()
	if errors.Is(err, resp.ErrShort) {
		return 0, false, nil
	}
	var d limit.Decision
	if err == nil {
		err = limit.ReadDecision(v, t.charges, &d)
	}
	if err != nil {
		return 0, false, fmt.Errorf("redis answers something else: %w; see its log", err)
	}
	if !d.Allowed {
		return 0, false, fmt.Errorf("redis refuses a caller below the limit; look into the script")
	}
	return before - t.decoder.Buffered(), false, nil
}
