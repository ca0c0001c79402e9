package limit

// Widest is a shadow limit that counts as l does and has the largest number that
// can be counted exactly: of a bucket the burst, of all others the limit. Under it
// a caller's use is seen as if nothing had been refused. A bucket that nothing
// refills stays as it is.
func (l Limit) Widest() Limit {
	l.Shadow = true
	switch {
	case l.Algorithm != TokenBucket:
		l.Limit = l.most()
	case l.Limit > 0:
		l.Burst = l.mostBurst()
	}
	return l
}
