package route

import "strings"

// maxHost is the length of the longest host name (RFC 1035, section 2.3.4).
const maxHost = 253

// findHost returns the patterns of a request's host, or nil.
func (t *Table) findHost(authority string) *node {
	if len(t.hosts) == 0 {
		return nil
	}
	host := hostOf(authority)
	if len(host) > maxHost {
		return nil
	}
	var lowered [maxHost]byte
	for i := range len(host) {
		lowered[i] = lower(host[i])
	}
	return t.hosts[string(lowered[:len(host)])]
}

// hostOf takes the port and a final dot off. Patterns hold no address in
// brackets, so what becomes of "[::1]:80" does not matter.
func hostOf(authority string) string {
	host, _, _ := strings.Cut(authority, ":")
	return strings.TrimSuffix(host, ".")
}
