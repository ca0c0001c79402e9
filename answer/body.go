package answer

import (
	"strconv"
	"unicode/utf8"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// appendRateLimited appends the body of Format JSON.
func appendRateLimited(dst []byte, after int64, ever bool) []byte {
	dst = append(dst, `{"error":"rate_limited"`...)
	if ever {
		dst = append(dst, `,"retryAfterSec":`...)
		dst = strconv.AppendInt(dst, after, 10)
	}
	return append(dst, '}')
}

// appendQuotaProblem appends a problem of the type that the draft defines from
// -09 on, with the names of the limits that refused. It tells nothing about
// the caller.
func appendQuotaProblem(dst []byte, status uint32, quotas []Quota) []byte {
	dst = append(dst, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":`...)
	dst = strconv.AppendUint(dst, uint64(status), 10)
	if i := slowest(quotas); i >= 0 {
		dst = append(dst, `,"detail":`...)
		dst = AppendJSONString(dst, detail(&quotas[i]))
	}
	dst = append(dst, `,"violated-policies":[`...)
	comma := ""
	for i := range quotas {
		if quotas[i].Refused {
			dst = append(dst, comma...)
			dst = AppendJSONString(dst, quotas[i].Name)
			comma = ","
		}
	}
	return append(dst, ']', '}')
}

// slowest is the index of the refusing limit that Retry-After comes from, or
// that never lets the request pass; -1 if none refused.
func slowest(quotas []Quota) int {
	slowest := -1
	for i := range quotas {
		q := &quotas[i]
		switch {
		case !q.Refused:
		case q.Wait < 0:
			return i
		case slowest < 0 || q.Wait > quotas[slowest].Wait:
			slowest = i
		}
	}
	return slowest
}

// detail says "POST:/login: 10 per 300 s. Retry in 120 s."
func detail(q *Quota) string {
	n := q.shown()
	dst := append([]byte(nil), q.Name...)
	dst = append(dst, ": "...)
	dst = strconv.AppendInt(dst, n.limit, 10)
	dst = append(dst, " per "...)
	dst = strconv.AppendInt(dst, n.window, 10)
	dst = append(dst, " s."...)
	if q.Wait >= 0 {
		dst = append(dst, " Retry in "...)
		dst = strconv.AppendInt(dst, n.reset, 10)
		dst = append(dst, " s."...)
	}
	return string(dst)
}

// AppendJSONString appends a JSON string (RFC 8259, section 7). Bytes that are not
// UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
