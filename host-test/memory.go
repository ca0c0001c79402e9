package hosttest

import (
	"encoding/binary"
	"errors"
)

// read returns a copy of size bytes at ptr.
func (in *instance) read(ptr, size uint64) ([]byte, bool) {
	view, ok := in.mod.Memory().Read(uint32(ptr), uint32(size))
	return append([]byte(nil), view...), ok
}

func (in *instance) writeUint32(ptr uint64, v uint32) bool {
	return in.mod.Memory().WriteUint32Le(uint32(ptr), v)
}

func (in *instance) writeUint64(ptr uint64, v uint64) bool {
	return in.mod.Memory().WriteUint64Le(uint32(ptr), v)
}

// give writes b into memory of the plugin's own and where that lies into
// ptrPtr and sizePtr. Nothing is asked for an empty b.
func (in *instance) give(b []byte, ptrPtr, sizePtr uint64) uint32 {
	var at uint32
	if len(b) > 0 {
		at = in.allocate(len(b))
		if at == 0 || !in.mod.Memory().Write(at, b) {
			return resultInvalidMemoryAccess
		}
	}
	if !in.writeUint32(ptrPtr, at) || !in.writeUint32(sizePtr, uint32(len(b))) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

// allocate enters the plugin's proxy_on_memory_allocate, where hardly any
// hostcall is allowed. A trap there ends the hostcall as well: what V8 would
// still run of it, runs in a dead VM.
func (in *instance) allocate(size int) uint32 {
	allowed := in.allowed
	in.allowed = allowedInAllocate(in.vm.host.options.Generation)
	at := in.call(0, "proxy_on_memory_allocate", uint64(size))
	in.allowed = allowed
	if in.dead != nil {
		panic(errors.New("the VM trapped inside proxy_on_memory_allocate: " + in.dead.Error()))
	}
	return at
}

// Limits of the pairs encoding (proxy-wasm-cpp-host, limits.h).
const (
	maxPairs      = 1024
	maxPairsBytes = 1 << 20
)

// encodePairs returns headers in the encoding of proxy-wasm, or false where
// Envoy would refuse to make it.
func encodePairs(headers Headers) ([]byte, bool) {
	if len(headers) > maxPairs {
		return nil, false
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(headers)))
	for _, h := range headers {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h[0])))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h[1])))
	}
	for _, h := range headers {
		b = append(append(b, h[0]...), 0)
		b = append(append(b, h[1]...), 0)
	}
	return b, len(b) <= maxPairsBytes
}

// decodePairs reads that encoding. Envoy takes anything malformed as no pairs.
func decodePairs(b []byte) Headers {
	if len(b) < 4 || len(b) > maxPairsBytes {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > maxPairs || 4+8*n > len(b) {
		return nil
	}
	sizes, rest := b[4:4+8*n], b[4+8*n:]
	var headers Headers
	for ; len(sizes) > 0; sizes = sizes[8:] {
		name, afterName, ok := cutZero(rest, binary.LittleEndian.Uint32(sizes))
		if !ok {
			return nil
		}
		value, afterValue, ok := cutZero(afterName, binary.LittleEndian.Uint32(sizes[4:]))
		if !ok {
			return nil
		}
		headers, rest = append(headers, [2]string{name, value}), afterValue
	}
	if len(rest) > 0 {
		return nil
	}
	return headers
}

// cutZero cuts n bytes and the zero byte after them off b.
func cutZero(b []byte, n uint32) (text string, rest []byte, ok bool) {
	if uint64(n) >= uint64(len(b)) || b[n] != 0 {
		return "", nil, false
	}
	return string(b[:n]), b[n+1:], true
}
