package live

import (
	"slices"
	"testing"
)

func TestTheDefaultPortIsOneThatBrowsersOpen(t *testing.T) {
	if !slices.IsSorted(blocked) {
		t.Error("the list is not sorted")
	}
	for port, want := range map[int]bool{Port: false, 0: false, 1: true, 2: false, 6000: true, 6665: true, 6669: true, 10080: true, 65535: false} {
		if IsBlocked(port) != want {
			t.Errorf("%d: %v", port, !want)
		}
	}
}
