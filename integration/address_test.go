package integration

import (
	"fmt"
	"strings"
	"testing"
)

// use_remote_address is on, as shipped, so this Envoy appends its peer to X-Forwarded-For: the right-most entry is always
// that one, and each hop more takes an entry that a proxy in front of this Envoy has appended.
var (
	hops0 = listen("hops0", hopsPolicy(0))
	hops1 = listen("hops1", hopsPolicy(1))
	hops2 = listen("hops2", hopsPolicy(2))
)

func hopsPolicy(hops int) string {
	return fmt.Sprintf(`{"client": {"trusted_hops": %d},
		"default": {"identity": "ip", "limit": 3, "window": "24h", "on_error": "closed"}}`, hops)
}

func TestG02ClientIsFoundByHopsFromTheRight(t *testing.T) {
	e := fresh(t)
	const client, peer = "203.0.113.7", "127.0.0.10"
	for name, tt := range map[string]struct {
		at    *place
		lines func(i int) []string // of X-Forwarded-For
		key   string
	}{
		"forged left entries":   {hops2, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d, %s", i, client)} }, client},
		"two lines":             {hops2, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d", i), client} }, client},
		"three lines":           {hops2, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d", i), "", client} }, client},
		"empty entries":         {hops2, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d,,%s,", i, client)} }, client},
		"a port":                {hops2, func(i int) []string { return []string{fmt.Sprintf("%s:%d", client, 50000+i)} }, client},
		"IPv6, one customer":    {hops2, func(i int) []string { return []string{fmt.Sprintf("[2001:db8:1:2::%d]:443", i)} }, "2001:db8:1:2::/64"},
		"one hop, forged":       {hops1, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d", i)} }, peer},
		"no hops, forged":       {hops0, func(i int) []string { return []string{fmt.Sprintf("198.51.100.%d", i)} }, peer},
		"no header":             {hops1, func(int) []string { return nil }, peer},
		"chain shorter than it": {hops2, func(int) []string { return nil }, peer},
	} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			c := dial(t, e, tt.at, peer)
			got := statuses(4, func(i int) answer {
				var lines strings.Builder
				for _, l := range tt.lines(i) {
					fmt.Fprintf(&lines, "x-forwarded-for: %s\r\n", l)
				}
				return c.raw("GET / HTTP/1.1\r\nhost: a\r\n" + lines.String() + "\r\n")
			})
			if err := differ(passThenRefuse(3, 4), got); err != nil {
				t.Error(err)
			}
			if err := differ([]string{"rl:{default|ip:" + tt.key + "}"}, keysNow(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
