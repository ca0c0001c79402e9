package limit

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"routelimit/resp"
)

// AppendDecide appends the command that decides all limits of one identity, EVALSHA sha 1 key numbers field ….
//
// key is the identity's hash. nowMS is 0 in production, where the script reads Redis' own clock; a test puts its time
// there, in ms since the epoch, or has SetTime do it later. There must be at least one charge.
func AppendDecide(dst, key []byte, nowMS int64, charges []Charge) []byte {
	return appendDecide(dst, key, nowMS, 0, charges)
}

// AppendLease appends the command that takes a lease: it charges as many requests of these costs as would pass at once,
// up to most, and decides as AppendDecide does, for one of them, where not even that one passes. ReadLease reads the
// reply.
func AppendLease(dst, key []byte, nowMS, most int64, charges []Charge) []byte {
	return appendDecide(dst, key, nowMS, most, charges)
}

// appendDecide appends either; most is 0 for what is no lease.
func appendDecide(dst, key []byte, nowMS, most int64, charges []Charge) []byte {
	size := timeSize + limitSize*len(charges)
	if most > 0 {
		size += leaseSize
	}
	dst = appendCall(dst, decideHead, key, 1+len(charges))
	dst = appendLength(dst, size)
	dst = appendUint(dst, nowMS, timeSize)
	for i := range charges {
		if c := &charges[i]; c.numbers != "" && !sharing(charges, i) {
			dst = append(dst, c.numbers...)
			continue
		}
		cost, refill := shared(charges, i)
		dst = appendLimit(dst, charges[i].Limit, cost, refill)
	}
	if most > 0 {
		dst = appendUint(dst, most, leaseSize)
	}
	dst = append(dst, "\r\n"...)
	for i := range charges {
		dst = appendField(dst, &charges[i])
	}
	return dst
}

// How many bytes the numbers of a command have, see decide.lua and refund.lua.
const (
	timeSize   = 7
	limitSize  = 1 + 7 + 7 + 5 + 7
	leaseSize  = 7
	refundSize = 7 + 5 + 7
)

// appendLimit appends what decide.lua is told about one limit in numbers.
func appendLimit(dst []byte, l *Limit, cost, refill int64) []byte {
	kind := 1 + byte(l.Algorithm)
	if !l.Refuses() {
		kind += 4
	}
	dst = append(dst, kind)
	dst = appendUint(dst, l.Capacity(), 7)
	dst = appendUint(dst, refill, 7)
	dst = appendUint(dst, l.windowMS(), 5)
	return appendUint(dst, cost, 7)
}

// SetTime makes a command of AppendDecide or AppendRefund count by nowMS, in ms since the epoch, if it left the time to
// Redis. numbers is the command's fifth element. It is for hosts whose clock is a test's.
func SetTime(numbers []byte, nowMS int64) {
	if TakesRedisTime(numbers) {
		appendUint(numbers[:0], nowMS, timeSize)
	}
}

// TakesRedisTime says whether a command of AppendDecide or AppendRefund leaves the time to Redis. numbers is the command's
// fifth element.
func TakesRedisTime(numbers []byte) bool {
	return len(numbers) >= timeSize && readUint(numbers, timeSize) == 0
}

// AppendRefund appends the command that takes back what a call charged: chargedAtMS is its Decision.AtMS, and charges
// those that Decision.Charged names, or some of them. Limits that share a field are refunded together. nowMS is as for
// AppendDecide.
func AppendRefund(dst, key []byte, chargedAtMS, nowMS int64, charges []Charge) []byte {
	fields := 0
	for i := range charges {
		if !repeated(charges, i) {
			fields++
		}
	}
	dst = appendCall(dst, refundHead, key, 1+fields)
	dst = appendLength(dst, 2*timeSize+refundSize*fields)
	dst = appendUint(dst, nowMS, timeSize)
	dst = appendUint(dst, chargedAtMS, timeSize)
	for i := range charges {
		if repeated(charges, i) {
			continue
		}
		l := charges[i].Limit
		cost, refill := shared(charges, i)
		dst = appendUint(dst, refill, 7)
		dst = appendUint(dst, l.windowMS(), 5)
		dst = appendUint(dst, cost, 7)
	}
	dst = append(dst, "\r\n"...)
	for i := range charges {
		if !repeated(charges, i) {
			dst = appendField(dst, &charges[i])
		}
	}
	return dst
}

// AppendEval appends a command of AppendDecide or AppendRefund again with the script's text in the place of its SHA, for
// a server that answered NOSCRIPT. Any other command is appended as it is.
func AppendEval(dst, evalsha []byte) []byte {
	count, rest, ok := bytes.Cut(evalsha, evalshaHead)
	if !ok || bytes.IndexByte(count, '$') >= 0 {
		return append(dst, evalsha...)
	}
	for _, s := range Scripts() {
		if after, ok := bytes.CutPrefix(rest, []byte(s.SHA)); ok {
			dst = append(dst, count...)
			dst = append(dst, "\r\n$4\r\nEVAL\r\n$"...)
			dst = strconv.AppendInt(dst, int64(len(s.Text)), 10)
			dst = append(dst, "\r\n"...)
			dst = append(dst, s.Text...)
			return append(dst, after...)
		}
	}
	return append(dst, evalsha...)
}

// evalshaHead stands between a command's count of elements and its SHA.
var evalshaHead = []byte("\r\n$7\r\nEVALSHA\r\n$40\r\n")

// What stands between the count of elements and the key: EVALSHA, the script, and that there is one key.
const (
	decideHead = "$7\r\nEVALSHA\r\n$40\r\n" + decideSHA + "\r\n$1\r\n1\r\n"
	refundHead = "$7\r\nEVALSHA\r\n$40\r\n" + refundSHA + "\r\n$1\r\n1\r\n"
)

// appendCall begins EVALSHA with one key and so many arguments.
func appendCall(dst []byte, head string, key []byte, args int) []byte {
	dst = resp.AppendArray(dst, 4+args)
	dst = append(dst, head...)
	return resp.AppendBulk(dst, key)
}

// appendLength begins a bulk string of n bytes.
func appendLength(dst []byte, n int) []byte {
	dst = strconv.AppendInt(append(dst, '$'), int64(n), 10)
	return append(dst, "\r\n"...)
}

func appendField(dst []byte, c *Charge) []byte {
	if c.field != "" {
		return append(dst, c.field...)
	}
	var name [24]byte
	return resp.AppendBulk(dst, c.Limit.field().append(name[:0]))
}

// appendUint appends the lowest size bytes of v, big-endian.
func appendUint(dst []byte, v int64, size int) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	return append(dst, b[8-size:]...)
}

// readUint reads what appendUint appended.
func readUint(b []byte, size int) int64 {
	var v int64
	for _, c := range b[:size] {
		v = v<<8 | int64(c)
	}
	return v
}
