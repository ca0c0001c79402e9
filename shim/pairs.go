package shim

import (
	"encoding/binary"
	"unsafe"
)

// Pairs is a list of header lines in the encoding of proxy-wasm, read in place:
// a little-endian count, then the sizes of each name and value, then the names
// and values, each followed by a zero byte.
//
// The zero value is an empty list. A list that is cut off reads as if it ended
// before the first line that is not whole.
type Pairs struct {
	encoded []byte
	count   int
}

// ReadPairs reads the encoding of a header list. The result refers to b.
func ReadPairs(b []byte) Pairs {
	if len(b) < 4 {
		return Pairs{}
	}
	count := int(binary.LittleEndian.Uint32(b))
	if count < 0 || count > (len(b)-4)/8 {
		return Pairs{}
	}
	return Pairs{encoded: b, count: count}
}

// Len returns the number of lines, repeated names counted each time.
func (p Pairs) Len() int { return p.count }

// All calls yield for each line in the order of the list until yield returns
// false. Name and value refer to the encoded bytes.
func (p Pairs) All(yield func(name, value string) bool) {
	at := 4 + 8*p.count
	for i := range p.count {
		nameSize, valueSize := p.sizes(i)
		end := at + nameSize + 1 + valueSize + 1
		if nameSize < 0 || valueSize < 0 || end < at || end > len(p.encoded) {
			return
		}
		name, value := text(p.encoded[at:at+nameSize]), text(p.encoded[at+nameSize+1:end-1])
		if !yield(name, value) {
			return
		}
		at = end
	}
}

func (p Pairs) sizes(i int) (name, value int) {
	at := 4 + 8*i
	name = int(int32(binary.LittleEndian.Uint32(p.encoded[at:])))
	value = int(int32(binary.LittleEndian.Uint32(p.encoded[at+4:])))
	return name, value
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
