package policytest

import "routelimit/limit/standin"

// Embedded is a Store in this program's own memory.
type Embedded struct{ redis standin.Redis }

// Do implements Store.
func (e *Embedded) Do(command [][]byte, nowMS int64) ([]byte, error) {
	return e.redis.Do(command, nowMS), nil
}

// Forget implements Store.
func (e *Embedded) Forget() error {
	e.redis = standin.Redis{}
	return nil
}
