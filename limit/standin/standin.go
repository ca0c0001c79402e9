// Package standin is a Redis that runs the scripts of package limit and nothing else: it reads their commands, has
// limit.Model decide, and writes the reply as a Redis would. It needs no server, and its clock is its user's.
package standin

import (
	"encoding/binary"
	"strconv"
	"time"

	"routelimit/limit"
)

// Redis holds what was counted. The zero value is empty; it is not for concurrent use.
type Redis struct{ model limit.Model }

// Do runs a command at a time, in ms since the epoch, which stands in for Redis' own clock. What is no call of the
// scripts gets an error reply.
func (r *Redis) Do(command [][]byte, nowMS int64) []byte {
	c, ok := read(command)
	if !ok {
		return []byte("-ERR unknown command; the stand-in runs the scripts of limit and nothing else\r\n")
	}
	if c.nowMS > 0 {
		nowMS = c.nowMS
	}
	if c.most > 0 {
		decision, taken := r.model.Lease(c.key, nowMS, c.most, c.charges)
		return decision.AppendLeaseReply(nil, taken)
	}
	if !c.refund {
		decision := r.model.Decide(c.key, nowMS, c.charges)
		return decision.AppendReply(nil)
	}
	r.model.Refund(c.key, c.chargedAtMS, nowMS, c.charges)
	return append(strconv.AppendInt([]byte{':'}, int64(len(c.charges)), 10), "\r\n"...)
}

// call is a command as limit.AppendDecide, limit.AppendLease or limit.AppendRefund was asked for it.
type call struct {
	refund             bool
	key                string
	nowMS, chargedAtMS int64
	most               int64 // of a lease; 0: it is none
	charges            []limit.Charge
}

// read reads EVALSHA sha 1 key numbers field …, or EVAL with the script's text; decide.lua and refund.lua say what
// stands in numbers.
func read(command [][]byte) (c call, ok bool) {
	if len(command) < 6 || string(command[2]) != "1" {
		return c, false
	}
	scripts := limit.Scripts()
	switch script := string(command[1]); script {
	case scripts[0].SHA, scripts[0].Text:
	case scripts[1].SHA, scripts[1].Text:
		c.refund = true
	default:
		return c, false
	}
	c.key = string(command[3])
	numbers := reader{bytes: command[4]}
	c.nowMS = numbers.next(7)
	if c.refund {
		c.chargedAtMS = numbers.next(7)
	}
	for _, field := range command[5:] {
		charge, ok := numbers.charge(string(field), c.refund)
		if !ok {
			return c, false
		}
		c.charges = append(c.charges, charge)
	}
	if !c.refund && len(numbers.bytes) > 0 {
		c.most = numbers.next(7)
		if c.most == 0 {
			return c, false
		}
	}
	return c, !numbers.short && len(numbers.bytes) == 0
}

// reader takes numbers off their front.
type reader struct {
	bytes []byte
	short bool
}

func (r *reader) next(size int) int64 {
	if len(r.bytes) < size {
		r.bytes, r.short = nil, true
		return 0
	}
	var b [8]byte
	copy(b[8-size:], r.bytes)
	r.bytes = r.bytes[size:]
	return int64(binary.BigEndian.Uint64(b[:]))
}

// charge reads what is said of one limit, whose state is in a field: "w300", "~b60".
func (r *reader) charge(field string, refund bool) (limit.Charge, bool) {
	l := new(limit.Limit)
	if field != "" && field[0] == '~' {
		l.Shadow, field = true, field[1:]
	}
	var capacity int64
	if !refund {
		kind := r.next(1)
		if kind < 1 || kind > 8 {
			return limit.Charge{}, false
		}
		l.Algorithm = limit.Algorithm((kind - 1) % 4)
		l.Unenforced = kind > 4 && !l.Shadow
		capacity = r.next(7)
	} else {
		l.Algorithm = family(field)
	}
	l.Limit = r.next(7)
	l.Window = time.Duration(r.next(5)) * time.Millisecond
	if l.Algorithm == limit.TokenBucket {
		l.Burst = capacity
	}
	cost := r.next(7)
	seconds := strconv.FormatInt(int64(l.Window/time.Second), 10)
	return limit.Charge{Limit: l, Cost: cost}, field != "" && field[1:] == seconds && exact(l)
}

// exact says that the model counts the limit without overflow. A bucket comes with the slowest refill of those that
// share it, so its burst is not held against that.
func exact(l *limit.Limit) bool {
	alone := *l
	alone.Burst = 0
	if alone.Check() != nil {
		return false
	}
	return l.Burst <= (1<<53-1)/l.Window.Milliseconds()
}

// family is an algorithm that keeps its state in such a field; a refund asks for no more.
func family(field string) limit.Algorithm {
	switch {
	case field != "" && field[0] == 'l':
		return limit.SlidingLog
	case field != "" && field[0] == 'b':
		return limit.TokenBucket
	}
	return limit.FixedWindow
}
