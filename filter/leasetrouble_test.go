//go:build !wasip1

package main_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	hosttest "routelimit/host-test"
	"routelimit/limit"
	"routelimit/limit/audit"
)

const leasesInTrouble = `{"redis": {"timeout": "20ms"}, "routes": {"GET /a": {"on_error": "closed",
	"identity": "ip", "limit": 40, "window": "2s", "algorithm": %q, "lease": 4}}, "default": null}`

// Errors, garbage, lost streams, late replies, updates and clients that leave: with
// leases as without, no more pass than the definitions let pass.
func TestLeasesInTroubleAdmitNoMoreThanTheLimits(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { inTrouble(t, seed) })
	}
}

func inTrouble(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	often := []int{60, 400, 4000}[seed%3] // one reply in so many is each kind of trouble
	algorithm := []limit.Algorithm{limit.FixedWindow, limit.SlidingWindow}[seed%2]
	policy := fmt.Sprintf(leasesInTrouble, algorithm)
	r := onStandIn(t, policy)
	trouble := func(c [][]byte) []byte {
		reply := r.redis.Do(c, r.clock.Now().UnixMilli())
		switch random.IntN(often) {
		case 0:
			return []byte("-upstream failure\r\n")
		case 1:
			return []byte("$3\r\nabc\r\n")
		case 2:
			return []byte("!")
		case 3:
			return []byte("-READONLY You can't write against a read only replica.\r\n")
		}
		return reply
	}
	r.script.Reply = func(c [][]byte) []byte {
		if random.IntN(often) == 0 && string(c[0]) == "EVALSHA" {
			return []byte("-NOSCRIPT No matching script. Please use EVAL.\r\n")
		}
		return trouble(c)
	}
	second, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	workers := []*hosttest.VM{r.vm, second}
	plugins := []*hosttest.Plugin{r.plugin, nil}
	renew := func(i int) {
		if plugins[i], err = workers[i].NewPlugin([]byte(policy)); err != nil {
			t.Fatal(err)
		}
	}
	renew(1)
	type open struct {
		s    *hosttest.Stream
		sent time.Time
	}
	var waiting []open
	var admitted []audit.Admission
	settle := func() {
		kept := waiting[:0]
		for _, o := range waiting {
			switch fate(o.s) {
			case "waiting":
				kept = append(kept, o)
			case "passed":
				admitted = append(admitted, audit.Admission{Sent: o.sent, Answered: r.clock.Now()})
				respond(o.s, "200")
			}
		}
		waiting = kept
	}
	for range 3000 {
		switch n := random.IntN(100); {
		case n < 55:
			sent := r.clock.Now()
			waiting = append(waiting, open{r.sendTo(plugins[random.IntN(2)], "GET", "/a", ""), sent})
		case n < 75:
			if _, err := r.script.Deliver(); err != nil {
				t.Fatal(err)
			}
		case n < 80:
			if _, err := r.script.DeliverBytes(1 + random.IntN(40)); err != nil {
				t.Fatal(err)
			}
		case n < 97:
			r.clock.Advance(time.Duration(random.IntN(25)) * ms)
		case n < 98: // to the last moments of a window
			left := 2000 - r.clock.Now().UnixMilli()%2000
			r.clock.Advance(time.Duration(max(0, left-int64(random.IntN(80)))) * ms)
		case n < 99:
			if err := r.script.CloseAll(14, "reset"); err != nil {
				t.Fatal(err)
			}
		default:
			i := random.IntN(2)
			plugins[i].Close()
			renew(i)
		}
		settle()
	}
	if over := audit.Over(limit.Limit{Limit: 40, Window: 2 * time.Second, Algorithm: algorithm}, admitted); over > 0 {
		t.Errorf("%d of %d admitted requests are over the limit", over, len(admitted))
	}
	if r.leased("spent") < 20 {
		t.Errorf("%d requests were spent from leases, so little was tested", r.leased("spent"))
	}
}
