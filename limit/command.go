package limit

import (
	"bytes"
	"strconv"

	"routelimit/resp"
)

// AppendDecide appends the command that decides all limits of one identity, EVALSHA sha 1 key now ….
//
// key is the identity's hash. nowMS is 0 in production, where the script reads Redis' own clock; a test puts its time
// there, in ms since the epoch. It is the fifth element of the command. There must be at least one charge.
func AppendDecide(dst, key []byte, nowMS int64, charges []Charge) []byte {
	dst = appendCall(dst, decideHead, key, 1+5*len(charges))
	dst = resp.AppendBulkInt(dst, nowMS)
	for i := range charges {
		if c := &charges[i]; c.alone != "" && !sharing(charges, i) {
			dst = append(dst, c.alone...)
			continue
		}
		cost, refill := shared(charges, i)
		dst = appendArguments(dst, charges[i].Limit, cost, refill)
	}
	return dst
}

// appendArguments appends what decide.lua is told about one limit.
func appendArguments(dst []byte, l *Limit, cost, refill int64) []byte {
	dst = appendField(dst, l)
	switch l.Algorithm {
	case SlidingWindow:
		dst = resp.AppendBulk(dst, "sliding")
	case FixedWindow:
		dst = resp.AppendBulk(dst, "fixed")
	case SlidingLog:
		dst = resp.AppendBulk(dst, "log")
	default:
		dst = resp.AppendBulkInt(dst, l.Capacity())
	}
	dst = resp.AppendBulkInt(dst, refill)
	dst = resp.AppendBulkInt(dst, l.windowMS())
	return resp.AppendBulkInt(dst, cost)
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
	dst = appendCall(dst, refundHead, key, 2+4*fields)
	dst = resp.AppendBulkInt(dst, nowMS)
	dst = resp.AppendBulkInt(dst, chargedAtMS)
	for i := range charges {
		if repeated(charges, i) {
			continue
		}
		l := charges[i].Limit
		cost, refill := shared(charges, i)
		dst = appendField(dst, l)
		dst = resp.AppendBulkInt(dst, refill)
		dst = resp.AppendBulkInt(dst, l.windowMS())
		dst = resp.AppendBulkInt(dst, cost)
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

func appendField(dst []byte, l *Limit) []byte {
	var name [24]byte
	return resp.AppendBulk(dst, l.field().append(name[:0]))
}
