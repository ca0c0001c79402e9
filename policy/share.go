package policy

import "routelimit/limit"

// SharesCount reports whether two limits that resolve to one key keep their
// state in one place, and so share one charge, the larger: windows of one
// length do, fixed and sliding alike.
func (l *Limit) SharesCount(other *Limit) bool {
	isWindow := func(a limit.Algorithm) bool { return a == limit.SlidingWindow || a == limit.FixedWindow }
	return l.Window == other.Window && l.Shadow == other.Shadow &&
		(l.Algorithm == other.Algorithm || isWindow(l.Algorithm) && isWindow(other.Algorithm))
}
