package identity

import (
	"crypto/sha256"
	"encoding/hex"
)

// secretBytes of a hash stand in a key, two hexadecimal digits each.
const secretBytes = 8

// hasher hashes secrets: by HMAC-SHA-256 (RFC 2104) if there is a key, else by
// SHA-256. Unlike crypto/hmac it allocates nothing for each value and may be
// used by several goroutines.
type hasher struct {
	keyed        bool
	inner, outer [sha256.BlockSize]byte
}

func newHasher(key []byte) hasher {
	h := hasher{keyed: len(key) > 0}
	if len(key) > sha256.BlockSize {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	copy(h.inner[:], key)
	copy(h.outer[:], key)
	for i := range h.inner {
		h.inner[i] ^= 0x36
		h.outer[i] ^= 0x5c
	}
	return h
}

// appendSecret appends the hash of value, which may lie behind dst.
func (h *hasher) appendSecret(dst, value []byte) []byte {
	sum := h.sum(value)
	return hex.AppendEncode(dst, sum[:secretBytes])
}

func (h *hasher) sum(value []byte) [sha256.Size]byte {
	if !h.keyed {
		return sha256.Sum256(value)
	}
	var sum [sha256.Size]byte
	inner := sha256.New()
	inner.Write(h.inner[:])
	inner.Write(value)
	inner.Sum(sum[:0])
	outer := sha256.New()
	outer.Write(h.outer[:])
	outer.Write(sum[:])
	outer.Sum(sum[:0])
	return sum
}
