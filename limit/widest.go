package limit

// Widest is a shadow limit that counts as l does and has the largest number that
// can be counted exactly: of a bucket the burst, of all others the limit. Under it
// a caller's use is seen as if nothing had been refused. A limit of 0 stays one.
func (l Limit) Widest() Limit {
	if l.Limit == 0 {
		return l
	}
	l.Shadow = true
	if l.Algorithm == TokenBucket {
		l.Burst = l.mostBurst()
	} else {
		l.Limit = l.most()
	}
	return l
}
