package main

import (
	"fmt"
	"os"

	"routelimit/policy"
)

// hashKey looks up the variable of hash_key_env, and keeps what is wrong with it: that is no mistake in the policy.
type hashKey struct{ wrong error }

func (k *hashKey) lookup(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	switch {
	case !ok:
		k.wrong = fmt.Errorf("the environment variable %s, which hash_key_env names, is not set here; export it with the value that Envoy has, so that hashes are those of the keys", name)
	case len(value) < policy.LeastHashKey:
		k.wrong = fmt.Errorf("the environment variable %s, which hash_key_env names, holds %d bytes; put the key that Envoy has into it, a random one of at least %d", name, len(value), policy.LeastHashKey)
	}
	return value, ok
}
