//go:build !wasip1

package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
	"routelimit/limit/standin"
	"routelimit/resp"
)

// leasing is a rig whose Redis is a stand-in that holds what it was sent.
type leasing struct {
	*rig
	redis standin.Redis
	// fail makes an answer of a lease's question; nil: none does.
	fail func() []byte
}

func onStandIn(t testing.TB, policy string) *leasing {
	t.Helper()
	l := new(leasing)
	l.rig = onScript(t, func(command [][]byte) []byte {
		if l.fail != nil && isLease(command) {
			l.redis.Do(command, l.clock.Now().UnixMilli()) // it may have been charged all the same
			return l.fail()
		}
		return l.redis.Do(command, l.clock.Now().UnixMilli())
	}, policy)
	return l
}

// isLease tells a lease by its numbers: those of a decision, and one more.
func isLease(command [][]byte) bool {
	return isDecide(command) && len(command[4]) == 7+27*limitsIn(command)+7
}

// kinds says what Redis was asked, in order: decide, lease or refund.
func (l *leasing) kinds() (kinds []string) {
	for _, c := range l.script.Commands() {
		switch {
		case isLease(c):
			kinds = append(kinds, "lease")
		case isRefund(c):
			kinds = append(kinds, "refund")
		default:
			kinds = append(kinds, "decide")
		}
	}
	return kinds
}

func (r *rig) leases(outcome string) uint64 {
	return r.counter("routelimit_leases_total", "outcome", outcome)
}

func (r *rig) leased(outcome string) uint64 {
	return r.counter("routelimit_leased_requests_total", "outcome", outcome)
}

const leaseTen = `{"routes": {"GET /a": {"identity": "ip", "limit": 100, "window": "1m", "algorithm": "fixed_window", "lease": 10}}, "default": null}`

// One hundred of one hundred and twenty requests pass, no more than without leases,
// and each says what is left as if it had been asked about.
func TestLeasedRequestsPassUpToTheLimitWithoutBeingAsked(t *testing.T) {
	r := onRedis(t, leaseTen)
	for n := range 120 {
		s := r.get("/a")
		if n >= 100 {
			r.want("429", s, n)
			continue
		}
		r.want("passed", s, n)
		respond(s, "200")
		h := s.Client().Headers
		// The lease that the second request causes is charged before its response.
		if got, want := h.Get("x-ratelimit-remaining"), fmt.Sprint(99-n); got != want {
			t.Fatalf("request %d: X-RateLimit-Remaining %s, want %s", n, got, want)
		}
		if got := h.Get("x-ratelimit-reset"); got != "60" {
			t.Fatalf("request %d: X-RateLimit-Reset %s", n, got)
		}
	}
	r.wantCounter(100, r.requests("GET:/a", "ip", "passed"), "passed")
	r.wantCounter(20, r.requests("GET:/a", "ip", "refused"), "refused")
	r.wantCounter(98, r.leased("taken"), "leased requests")
	r.wantCounter(98, r.leased("spent"), "spent")
	r.wantCounter(19, r.hits(), "refusals from memory: all but the first")
	if asked := len(r.host.Histogram("routelimit_decision_us")); asked != 3 {
		t.Errorf("%d requests were asked about, want the first two and the first refused", asked)
	}
	if r.leases("taken") > 13 || r.leases("refused") != 1 || r.leases("failed") != 0 {
		t.Errorf("leases: %d taken, %d refused, %d failed", r.leases("taken"), r.leases("refused"), r.leases("failed"))
	}
}

// With and without leases one worker gives every request the same answer.
func TestOneWorkerAnswersWithLeasesAsItDoesWithout(t *testing.T) {
	const limits = `"limits": [
		{"name": "s", "identity": "ip", "limit": 40, "window": "2s", "cost": 2, "algorithm": %q, "lease": %s},
		{"name": "m", "identity": "ip", "limit": 200, "window": "1m", "lease": %[2]s}]`
	for _, lease := range []string{"2", `"auto"`} {
		for _, algorithm := range []string{"fixed_window", "sliding_window"} {
			t.Run(algorithm+lease, func(t *testing.T) {
				route := fmt.Sprintf(limits, algorithm, lease)
				if lease != "2" {
					route = strings.ReplaceAll(route, `"limit": 40`, `"limit": 90`)
				}
				policy := asking(`{"headers": "draft-08", "routes": {"GET /a": {` + route + `}}, "default": null}`)
				r := onRedis(t, policy)
				without := r.configure(section(`"redis": {"key_prefix": "other"}`, strings.ReplaceAll(policy, `, "lease": `+lease, "")))
				random := rand.New(rand.NewPCG(1, 2))
				for n := range 600 {
					leased, asked := r.get("/a"), r.sendTo(without, "GET", "/a", "")
					r.deliver()
					if fate(leased) != fate(asked) {
						t.Fatalf("request %d: %s with leases, %s without", n, fate(leased), fate(asked))
					}
					if algorithm == "fixed_window" {
						respond(leased, "200")
						respond(asked, "200")
						if diff := cmp.Diff(asked.Client().Headers[0], leased.Client().Headers[0]); diff != "" {
							t.Fatalf("request %d (-without +with):\n%s", n, diff)
						}
					}
					switch random.IntN(20) {
					case 0:
						r.clock.Advance(time.Duration(random.IntN(3000)) * ms)
					case 1, 2, 3, 4, 5:
						r.clock.Advance(time.Duration(random.IntN(30)) * ms)
					}
				}
				if r.leased("spent") < 50 {
					t.Errorf("%d spent", r.leased("spent"))
				}
			})
		}
	}
}

// What one worker holds and does not spend is withheld from the others: that much
// and no more, and the sum is never more than the limit.
func TestWhatOneWorkerHoldsIsAllThatOthersMiss(t *testing.T) {
	r := onRedis(t, leaseTen)
	second, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	other, err := second.NewPlugin([]byte(leaseTen))
	if err != nil {
		t.Fatal(err)
	}
	passed := func(p *hosttest.Plugin, n int) (passed int) {
		for range n {
			s := r.sendTo(p, "GET", "/a", "")
			r.deliver()
			if fate(s) == "passed" {
				passed++
			}
		}
		return passed
	}
	if got := passed(r.plugin, 2); got != 2 {
		t.Fatalf("%d of 2 passed", got)
	}
	if got := passed(other, 150); got != 88 {
		t.Errorf("%d passed through the second worker, want all but the first's two and the ten that it holds", got)
	}
	if got := passed(r.plugin, 50); got != 10 {
		t.Errorf("%d passed through the first, want the ten that it holds", got)
	}
	if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w60"); got != 100 {
		t.Errorf("Redis counts %d", got)
	}
}

// A lease is spent while Redis is away, until its window ends, and no longer.
func TestALeaseIsSpentWhileRedisIsAwayUntilItsWindowEnds(t *testing.T) {
	closed := strings.Replace(leaseTen, `"lease"`, `"on_error": "closed", "lease"`, 1)
	r := onStandIn(t, closed)
	r.clock.Advance(20 * time.Second)
	for range 2 {
		r.want("passed", r.get("/a"))
	}
	r.script.Reply = always("-LOADING Redis is loading the dataset in memory\r\n")
	for range 7 {
		r.want("passed", r.get("/a"), "from the lease")
	}
	r.clock.Advance(time.Minute - time.Duration(r.clock.Now().UnixMilli()%60_000)*ms - 100*ms)
	r.want("passed", r.get("/a"), "100 ms before the end")
	r.clock.Advance(100 * ms)
	for range 2 {
		r.want("503", r.get("/a"), "in the next window")
	}
	if l := r.leased("spent"); l != 8 {
		t.Errorf("%d spent", l)
	}
	// The question for more, when a quarter was left, failed, and no other was asked.
	r.wantCounter(1, r.leases("failed"), "failed leases")
	r.script.Reply = func(c [][]byte) []byte { return r.redis.Do(c, r.clock.Now().UnixMilli()) }
	r.want("passed", r.get("/a"))
	r.want("passed", r.get("/a"))
	r.wantCounter(2, r.leases("taken"), "leases, one of them after the outage")
}

// What a question without an answer took counts against the limit, and is not spent:
// so nobody passes too often, and somebody may pass less.
func TestALostLeaseIsChargedAndNeverSpent(t *testing.T) {
	r := onStandIn(t, leaseTen)
	r.fail = func() []byte { return []byte("-upstream failure\r\n") }
	passed := 0
	for range 150 {
		if fate(r.get("/a")) == "passed" {
			passed++
		}
	}
	// Each request that Redis decides may ask for a lease again.
	if failed := int(r.leases("failed")); failed == 0 || passed+10*failed > 110 || passed+10*failed < 90 {
		t.Errorf("%d passed, and %d leases of ten are lost", passed, failed)
	}
	r.wantCounter(r.leases("failed"), r.failures("upstream_failure"), "failures")
}

// What an idle caller has left goes back in the message of somebody else's question.
func TestAnIdleCallersLeaseIsGivenBackWithoutAMessageOfItsOwn(t *testing.T) {
	r := onStandIn(t, leaseTen)
	r.clock.Advance(time.Second)
	r.get("/a")
	r.get("/a")
	r.get("/a")
	r.clock.Advance(10 * time.Second)
	before := r.script.Stream().Messages()
	r.want("passed", r.from("203.0.113.8:1", "/a"))
	if got := r.script.Stream().Messages() - before; got != 1 {
		t.Errorf("%d messages", got)
	}
	if diff := cmp.Diff([]string{"decide", "decide", "lease", "refund", "decide"}, r.kinds()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.wantCounter(9, r.leased("returned"), "returned")
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds")
	passed := 0
	for range 120 {
		if fate(r.get("/a")) == "passed" {
			passed++
		}
	}
	if passed != 97 {
		t.Errorf("%d more pass, want all but the three before", passed)
	}
}

// A longer window, and a sliding one in its next turn, count what a shorter one has
// let go. It is given back before the caller is asked about again.
func TestWhatAnEndedWindowLeftIsGivenBackBeforeTheNextQuestion(t *testing.T) {
	r := onStandIn(t, `{"routes": {"GET /a": {"limits": [
		{"name": "second", "identity": "ip", "limit": 20, "window": "1s", "algorithm": "fixed_window", "lease": 2},
		{"name": "hour", "identity": "ip", "limit": 30, "window": "1h", "algorithm": "fixed_window", "lease": 2}]}}, "default": null}`)
	for n := range 30 {
		r.want("passed", r.get("/a"), n)
		if n%3 == 1 { // with two left
			r.clock.Advance(time.Second)
		}
	}
	r.want("429", r.get("/a"))
	if r.leased("returned") == 0 || r.leased("expired") != 0 {
		t.Errorf("%d returned, %d expired", r.leased("returned"), r.leased("expired"))
	}
}

func TestAWorkerThatEndsGivesItsLeasesBack(t *testing.T) {
	r := onStandIn(t, leaseTen)
	for _, from := range []string{"203.0.113.8:1", "203.0.113.9:1"} {
		for range 3 {
			r.want("passed", r.from(from, "/a"))
		}
	}
	stream := r.script.Stream()
	before := stream.Messages()
	r.plugin.Close()
	if got := stream.Messages() - before; got != 1 {
		t.Errorf("%d messages", got)
	}
	if kinds := r.kinds(); !slices.Equal(kinds[len(kinds)-2:], []string{"refund", "refund"}) {
		t.Errorf("%q", kinds)
	}
	r.wantCounter(18, r.leased("returned"), "returned")
}

// A lease that comes with a refusal, or with the failure of a request's own question,
// lets that request pass.
func TestALeaseThatComesInTimeAdmitsWhoWaited(t *testing.T) {
	for name, reply := range map[string]string{"a refusal": "", "a failure": "-LOADING Redis is loading the dataset in memory\r\n"} {
		t.Run(name, func(t *testing.T) {
			r := onStandIn(t, strings.Replace(leaseTen, `"lease"`, `"on_error": "closed", "lease"`, 1))
			r.get("/a")
			r.send("GET", "/a", "")
			if _, err := r.script.Deliver(); err != nil { // it asks for a lease
				t.Fatal(err)
			}
			if kinds := r.kinds(); kinds[len(kinds)-1] != "lease" {
				t.Fatalf("%q", kinds)
			}
			s := r.send("GET", "/a", "") // asks beside that
			r.want("waiting", s)
			decide := r.script.Reply
			r.script.Reply = func(c [][]byte) []byte {
				if isDecide(c) && !isLease(c) {
					if reply != "" {
						return []byte(reply)
					}
					return refuse(c)
				}
				return decide(c)
			}
			r.deliver()
			r.want("passed", s)
			r.wantCounter(3, r.requests("GET:/a", "ip", "passed"), "passed")
		})
	}
}

// What comes late for a request that a lease has admitted does not change what its
// response says; a charge is given back.
func TestALateReplyToWhoSpentALease(t *testing.T) {
	for name, late := range map[string]func(command [][]byte) []byte{
		"a refusal": refuse,
		"a charge":  allow,
		"nonsense":  always("$3\r\nabc\r\n"),
		"an error":  always("-ERR no\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			r := onStandIn(t, strings.Replace(leaseTen, `"lease"`, `"on_error": "closed", "lease"`, 1))
			r.get("/a")
			r.send("GET", "/a", "")
			if _, err := r.script.Deliver(); err != nil { // it asks for a lease
				t.Fatal(err)
			}
			s := r.send("GET", "/a", "") // asks beside that
			decide := r.script.Reply
			r.script.Reply = func(c [][]byte) []byte {
				if isDecide(c) && !isLease(c) {
					return late(c)
				}
				return decide(c)
			}
			if _, err := r.script.Deliver(); err != nil { // the lease, whose answer sends the question
				t.Fatal(err)
			}
			r.want("waiting", s)
			r.clock.Advance(60 * ms)
			r.want("passed", s)
			r.deliver()
			respond(s, "200")
			if got := s.Client().Headers.Get("x-ratelimit-remaining"); got == "" || got == "0" {
				t.Errorf("X-RateLimit-Remaining %q", got)
			}
			refunds := 0
			for _, kind := range r.kinds() {
				if kind == "refund" {
					refunds++
				}
			}
			if want := map[bool]int{true: 1}[name == "a charge"]; refunds != want {
				t.Errorf("%d refunds, want %d", refunds, want)
			}
		})
	}
}

// A refusal is repeated for a second and no longer, since another worker may give
// back what it holds.
func TestARefusalBesideLeasesIsRepeatedForASecond(t *testing.T) {
	r := onStandIn(t, leaseTen)
	for range 100 {
		r.want("passed", r.get("/a"))
	}
	for range 5 {
		r.want("429", r.get("/a"))
	}
	r.wantCounter(4, r.hits(), "hits")
	r.clock.Advance(time.Second)
	r.want("429", r.get("/a"))
	r.wantCounter(4, r.hits(), "hits after a second")
}

// Whatever comes in the place of a lease, requests are decided, and none passes that
// was not charged.
func TestLeasesThatMakeNoSense(t *testing.T) {
	one := resp.AppendBulk(nil, append([]byte{1, 0, 0, 0, 0, 0, 0, 9}, make([]byte, 22)...))
	for name, reply := range map[string]string{
		"an error":            "-ERR no\r\n",
		"a decision":          string(one),
		"more than was asked": string(resp.AppendBulk(nil, append([]byte{1, 0, 0, 0, 0, 0, 0, 9, 1}, make([]byte, 21+6)...))) + "",
		"null":                "$-1\r\n",
		"an integer":          ":12\r\n",
		"no bytes":            "$0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := onStandIn(t, leaseTen)
			r.fail = func() []byte { return []byte(reply) }
			passed := 0
			for range 150 {
				if fate(r.get("/a")) == "passed" {
					passed++
				}
			}
			if passed > 100 || passed == 0 {
				t.Errorf("%d passed", passed)
			}
			r.wantCounter(0, r.leased("taken"), "taken")
			if r.leases("failed") == 0 {
				t.Error("no failed lease is counted")
			}
		})
	}
}

// A request that spends a lease costs the host fewer calls than one that is asked
// about, and Redis nothing; and the module no memory.
func TestSpendingALeaseAsksNobody(t *testing.T) {
	r := onStandIn(t, strings.Replace(leaseTen, `"limit": 100, "window": "1m"`, `"limit": 1000000, "window": "1h"`, 1))
	r.get("/a")
	r.get("/a")
	before := len(r.script.Commands())
	for range 7 {
		r.want("passed", r.get("/a"))
	}
	if got := len(r.script.Commands()) - before; got != 0 {
		t.Errorf("%d questions", got)
	}
	s := r.get("/a") // the eighth of ten
	r.want("passed", s)
	if got := len(r.script.Commands()) - before; got != 1 {
		t.Errorf("%d questions when a quarter is left, want one for more", got)
	}
}
