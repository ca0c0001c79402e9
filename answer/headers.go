package answer

import "strconv"

// fieldNames are the headers of each dialect, in the order of their values.
var fieldNames = [...][]string{
	XRateLimit:      {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"},
	XRateLimitEpoch: {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"},
	Draft03:         {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"},
	Draft06:         {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy"},
	Draft07:         {"ratelimit", "ratelimit-policy"},
	Draft08:         {"ratelimit", "ratelimit-policy"},
	Draft12:         {"ratelimit", "ratelimit-policy"},
	None:            nil,
}

// AppendQuotaHeaders appends the quota headers, names in lower case, for the
// limits that apply to a request; none if there are none. The values belong to
// one string, the only allocation if dst has room.
//
// nowUnix, in seconds, matters to XRateLimitEpoch alone.
func (s *Style) AppendQuotaHeaders(dst [][2]string, quotas []Quota, nowUnix int64) [][2]string {
	if len(quotas) == 0 || s.Dialect == None {
		return dst
	}
	speaking := tightest(quotas)
	q := quotas[speaking].shown()
	names := fieldNames[s.Dialect]
	if q.never && (s.Dialect == XRateLimit || s.Dialect == XRateLimitEpoch) {
		names = names[:2] // without the reset
	}
	var buffer [256]byte
	values := buffer[:0] // one a line
	switch s.Dialect {
	case XRateLimit:
		values = appendTriple(values, q)
	case XRateLimitEpoch:
		q.reset = within(nowUnix + q.reset)
		values = appendTriple(values, q)
	case Draft03:
		values = strconv.AppendInt(values, q.limit, 10)
		for i := range quotas {
			values = appendPolicy(append(values, ", "...), &quotas[i])
		}
		values = appendNumber(values, "\n", q.remaining)
		values = appendNumber(values, "\n", q.reset)
	case Draft06:
		values = append(appendTriple(values, q), '\n')
		values = appendDistinct(values, quotas, speaking)
	case Draft07:
		values = append(appendDictionary(values, q), '\n')
		values = appendDistinct(values, quotas, speaking)
	case Draft08:
		values = appendNamed(values, quotas, ";r=", ";t=")
	case Draft12:
		values = appendNamed(values, quotas, ";a=", ";w=")
	}
	rest := string(values)
	for _, name := range names {
		end := 0
		for end < len(rest) && rest[end] != '\n' {
			end++
		}
		dst = append(dst, [2]string{name, rest[:end]})
		rest = rest[min(end+1, len(rest)):]
	}
	return dst
}

func appendNumber(dst []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(dst, before...), n, 10)
}

// appendTriple appends three lines: limit, remaining, reset.
func appendTriple(dst []byte, q shown) []byte {
	dst = strconv.AppendInt(dst, q.limit, 10)
	dst = appendNumber(dst, "\n", q.remaining)
	return appendNumber(dst, "\n", q.reset)
}

// appendDictionary appends "limit=10, remaining=7, reset=120".
func appendDictionary(dst []byte, q shown) []byte {
	dst = appendNumber(dst, "limit=", q.limit)
	dst = appendNumber(dst, ", remaining=", q.remaining)
	return appendNumber(dst, ", reset=", q.reset)
}

// appendPolicy appends "10;w=300".
func appendPolicy(dst []byte, q *Quota) []byte {
	n := q.shown()
	dst = strconv.AppendInt(dst, n.limit, 10)
	return appendNumber(dst, ";w=", n.window)
}

// appendDistinct appends the policies for revisions -06 and -07, where no two
// may have one limit: clients find the policy that speaks by it.
func appendDistinct(dst []byte, quotas []Quota, speaking int) []byte {
	dst = appendPolicy(dst, &quotas[speaking])
	for i := range quotas {
		limit := quotas[i].Limit
		if limit != quotas[speaking].Limit && !anyHas(quotas[:i], limit) {
			dst = appendPolicy(append(dst, ", "...), &quotas[i])
		}
	}
	return dst
}

func anyHas(quotas []Quota, limit int64) bool {
	for i := range quotas {
		if quotas[i].Limit == limit {
			return true
		}
	}
	return false
}

// appendNamed appends the two lists of -08 and later (structured fields, RFC
// 9651): what is left of each limit, and the limits themselves.
func appendNamed(dst []byte, quotas []Quota, remaining, reset string) []byte {
	for i := range quotas {
		n := quotas[i].shown()
		dst = appendName(dst, i, quotas[i].Name)
		dst = appendNumber(dst, remaining, n.remaining)
		if !n.never {
			dst = appendNumber(dst, reset, n.reset)
		}
	}
	dst = append(dst, '\n')
	for i := range quotas {
		n := quotas[i].shown()
		dst = appendName(dst, i, quotas[i].Name)
		dst = appendNumber(dst, ";q=", n.limit)
		dst = appendNumber(dst, ";w=", n.window)
	}
	return dst
}

// appendName begins the i-th member of a list with its policy's name, as a
// string (RFC 9651, 4.1.6). Bytes that such a string cannot hold are
// percent-encoded.
func appendName(dst []byte, i int, name string) []byte {
	const digits = "0123456789ABCDEF"
	if i > 0 {
		dst = append(dst, ", "...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c > '~':
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
