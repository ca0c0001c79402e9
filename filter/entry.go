//go:build wasip1

package main

import (
	"bytes"
	"errors"
	"os"

	"routelimit/policy"
	"routelimit/resp"
)

// How a Redis is entered that is reached without redis_proxy: AUTH and SELECT, as
// the first commands of each stream. What is in the variables stands nowhere else.

// checkEntry says which variable is not there, or nil.
func checkEntry(p *policy.Policy) error {
	for _, field := range [...]struct{ name, variable string }{
		{"redis.password_env", p.Redis.PasswordEnv}, {"redis.username_env", p.Redis.UsernameEnv},
	} {
		if field.variable != "" && os.Getenv(field.variable) == "" {
			return errors.New(field.name + ": the environment variable " + field.variable + " is not set or empty; set it where Envoy starts, " +
				"and let the module see it by vm_config: {environment_variables: {host_env_keys: [" + field.variable + "]}}")
		}
	}
	return nil
}

// appendEntry appends the commands, and says how many they are.
func appendEntry(dst []byte, p *policy.Policy) (entry []byte, commands int) {
	if p.Redis.PasswordEnv != "" {
		elements := 2
		if p.Redis.UsernameEnv != "" {
			elements = 3
		}
		dst = resp.AppendBulk(resp.AppendArray(dst, elements), "AUTH")
		if p.Redis.UsernameEnv != "" {
			dst = resp.AppendBulk(dst, os.Getenv(p.Redis.UsernameEnv))
		}
		dst = resp.AppendBulk(dst, os.Getenv(p.Redis.PasswordEnv))
		commands++
	}
	if p.Redis.Database != 0 {
		dst = resp.AppendBulk(resp.AppendArray(dst, 2), "SELECT")
		dst = resp.AppendBulkInt(dst, int64(p.Redis.Database))
		commands++
	}
	return dst, commands
}

// entryRefused takes the news that Redis refused one of the commands. Its text is
// not logged whole: a server that does not know AUTH repeats what it was sent.
func (p *plugin) entryRefused(command int, reply resp.Value) {
	word, _, _ := bytes.Cut(reply.Text, []byte(" "))
	if reply.Kind != resp.Error || !isErrorWord(word) {
		word = []byte("no error that is known")
	}
	p.logs.entryRefused(command == 0 && p.policy.Redis.PasswordEnv != "", string(word))
}

// isErrorWord says whether it is a code such as WRONGPASS.
func isErrorWord(word []byte) bool {
	for _, c := range word {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return 0 < len(word) && len(word) <= 16
}
