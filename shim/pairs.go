package shim

import (
	"encoding/binary"
	"unsafe"
)

// AppendLines appends the header lines of a list in proxy-wasm's encoding: a
// little-endian count, then the sizes of each name and value, then the names and
// values, each followed by a zero byte.
//
// The lines refer to encoded. A list that is cut off reads as if it ended before
// the first line that is not whole.
func AppendLines(dst [][2]string, encoded []byte) [][2]string {
	if len(encoded) < 4 {
		return dst
	}
	count := int(binary.LittleEndian.Uint32(encoded))
	if count > (len(encoded)-4)/8 {
		return dst
	}
	at := 4 + 8*count
	for sizes := encoded[4:at]; len(sizes) > 0; sizes = sizes[8:] {
		name := int(binary.LittleEndian.Uint32(sizes))
		value := int(binary.LittleEndian.Uint32(sizes[4:]))
		end := at + name + 1 + value + 1
		if end > len(encoded) {
			break
		}
		dst = append(dst, [2]string{text(encoded[at : at+name]), text(encoded[at+name+1 : end-1])})
		at = end
	}
	return dst
}

// AppendPairs appends the encoding of headers to dst.
func AppendPairs(dst []byte, headers [][2]string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(headers)))
	for _, h := range headers {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h[0])))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h[1])))
	}
	for _, h := range headers {
		dst = append(append(dst, h[0]...), 0)
		dst = append(append(dst, h[1]...), 0)
	}
	return dst
}

// text is b as a string, without a copy.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
