package explain

import "bytes"

// slots is how many a Redis Cluster has.
const slots = 16384

// slot is where a Redis Cluster keeps a key: CRC16 of what stands in its first
// braces, or of all of it (Redis Cluster specification, "Key distribution
// model" and "Hash tags").
func slot(key []byte) uint16 {
	if _, rest, ok := bytes.Cut(key, []byte("{")); ok {
		if tag, _, closed := bytes.Cut(rest, []byte("}")); closed && len(tag) > 0 {
			key = tag
		}
	}
	return crc16(key) % slots
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, starting at 0.
func crc16(data []byte) uint16 {
	var crc uint16
	for _, b := range data {
		crc ^= uint16(b) << 8
		for range 8 {
			top := crc & 0x8000
			crc <<= 1
			if top != 0 {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
