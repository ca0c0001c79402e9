package explain

import "testing"

// The first value is that of the specification's reference implementation
// (crc16.c); the keys with braces are its examples of hash tags.
func TestSlotIsWhereAClusterKeepsTheKey(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x31c3 {
		t.Errorf("got %#x", got)
	}
	for key, want := range map[string]uint16{
		"":                     0,
		"123456789":            12739,
		"foo":                  12182,
		"{foo}bar":             12182,
		"x{foo}{bar}":          12182,
		"foo{}{bar}":           slot([]byte("foo{}{bar}x")[:10]),
		"{user1000}.following": 3443,
		"{user1000}.followers": 3443,
	} {
		if got := slot([]byte(key)); got != want {
			t.Errorf("%s: got %d, want %d", key, got, want)
		}
	}
}
