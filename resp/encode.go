package resp

import "strconv"

// AppendArray appends the head of an array of n elements, "*n\r\n". A command
// is such a head followed by n bulk strings.
func AppendArray(dst []byte, n int) []byte {
	return appendHead(dst, '*', int64(n))
}

// AppendBulk appends s as a bulk string, "$len\r\ns\r\n". Any bytes may stand
// in s.
func AppendBulk[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = appendHead(dst, '$', int64(len(s)))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendBulkInt appends n in decimal as a bulk string.
func AppendBulkInt(dst []byte, n int64) []byte {
	var digits [20]byte
	return AppendBulk(dst, strconv.AppendInt(digits[:0], n, 10))
}

func appendHead(dst []byte, kind byte, n int64) []byte {
	if 0 <= n && n < 10 {
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	}
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, '\r', '\n')
}
