package lint

import (
	"fmt"
	"strings"
	"testing"
)

// manyRoutes is a policy with so many routes, two limits and one finding each.
func manyRoutes(n int) []byte {
	var b strings.Builder
	b.WriteString("{\"identities\": {\"user\": {\"from\": \"header:x-user\"}}, \"default\": null, \"routes\": {\n")
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `"POST /api/v%d/:id/x": {"limits": [{"identity": "user", "limit": %d, "window": "1m"}, {"name": "hour", "identity": "user", "limit": %d, "window": "1h", "shadow": true}]}`, i, i+1, i+100)
	}
	b.WriteString("\n}}")
	return []byte(b.String())
}

func TestG30_FindingsOfFiveThousandRoutesAreAllThere(t *testing.T) {
	found, err := File(manyRoutes(5000), Options{Env: noEnv})
	if err != nil || len(found) != 5001 || found[5000].Line != 5001 {
		t.Fatalf("%d findings, %v", len(found), err)
	}
}

func BenchmarkFile(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprintf("routes=%d", n), func(b *testing.B) {
			raw := manyRoutes(n)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := File(raw, Options{Env: noEnv}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
