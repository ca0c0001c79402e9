package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
)

// fault is some harm and its end.
type fault struct {
	name string
	// do does the harm, for a while, and heals it.
	do func(*chaos) error
	// losses are how often each listener's Redis may lose counts by it; less than 0: at any time.
	losses map[string]int
	// redials: it closes connections of clients, after the drain time and with what is still on its way on them.
	redials bool
	slow    bool // not in a short run
}

// chaos is a run of faults.
type chaos struct {
	t      *testing.T
	random *rand.Rand
	load   *load
	phase  *phase
	began  time.Time
	panics [len(rig.envoys)]int64 // that were injected
}

// recoverTime is within what time all limits must work again after a fault.
const recoverTime = 10 * time.Second

// TestChaos does harm, one fault after another. After each it waits until everybody is limited again, and judges every
// request since the fault before.
func TestChaos(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d; to repeat it: go test ./integration/chaos -run TestChaos -v -seed %d -for %v", seed, seed, *forFlag)
	c := &chaos{t: t, random: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
	c.phase = c.newPhase("warm")
	c.load = startLoad(t, c.phase)
	c.steady()
	for round := 1; round == 1 || time.Since(c.began) < *forFlag; round++ {
		chosen := choose()
		c.random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		for i, f := range chosen {
			if round > 1 && time.Since(c.began) >= *forFlag {
				break
			}
			if !c.run(f, fmt.Sprintf("%d-%d-%s", round, i+1, f.name)) {
				t.Fatalf("seed %d, fault %s", seed, f.name)
			}
		}
	}
	c.load.end()
	c.checkEnvoys()
	t.Logf("%d requests", c.load.number.Load())
}

func choose() []fault {
	var chosen []fault
	for _, f := range faults {
		if slices.Contains(strings.Split(*faultFlag, ","), f.name) || *faultFlag == "" && (!f.slow || *forFlag > 0) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		panic("-fault names none of the faults")
	}
	return chosen
}

// run does one fault and judges it.
func (c *chaos) run(f fault, name string) (ok bool) {
	before := c.phase
	c.phase = c.newPhase(name)
	c.load.enter(c.phase)
	before.open.Wait()
	c.wait(c.between(50, 300))
	c.note("%s", f.name)
	if err := f.do(c); err != nil {
		c.note("%s: %v", f.name, err)
		return false
	}
	c.note("healed")
	if !c.steady() {
		return false
	}
	c.wait(c.between(0, 200))
	harmed := c.phase
	c.phase = c.newPhase(name + "-after")
	c.load.enter(c.phase)
	harmed.open.Wait()
	wrong := harmed.check(f)
	c.note("%s", harmed)
	for i, err := range wrong {
		if c.note("%v", err); i == 20 {
			c.note("and %d more", len(wrong)-i-1)
			break
		}
	}
	return len(wrong) == 0
}

// steady waits until everybody is limited again.
func (c *chaos) steady() bool {
	healed := time.Now()
	for {
		lacks := c.phase.lacking(healed)
		took := time.Since(healed).Round(time.Millisecond)
		if lacks == "" {
			c.note("all limits work, %v later", took)
			return true
		}
		if took > recoverTime {
			c.note("after %v not decided again: %s", took, lacks)
			return false
		}
		c.wait(10 * time.Millisecond)
	}
}

// String counts what became of a phase's requests.
func (p *phase) String() string {
	became := map[string]int{}
	longest := time.Duration(0)
	for _, s := range p.samples {
		longest = max(longest, s.took())
		switch {
		case s.decided:
			became["decided"]++
		case s.err != nil:
			became["failed"]++
		default:
			became[fmt.Sprint(s.status, " undecided")]++
		}
	}
	return fmt.Sprintf("%d requests: %v, the longest %v", len(p.samples), became, longest.Round(time.Millisecond))
}

// note adds a line to the timeline, which is the test's log.
func (c *chaos) note(format string, args ...any) {
	c.t.Helper()
	c.t.Logf("%8.3f  "+format, append([]any{time.Since(c.began).Seconds()}, args...)...)
}

// between is a random time, in milliseconds.
func (c *chaos) between(least, most int) time.Duration {
	return time.Duration(least+c.random.IntN(most-least+1)) * time.Millisecond
}

// wait lets the load go on.
func (c *chaos) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

// newPhase has callers of its own: on each listener one for each algorithm of the closed routes and one on each other
// route, and on the Cluster's, beside them, closed ones whose keys are on each of the primaries.
func (c *chaos) newPhase(name string) *phase {
	p := &phase{name: name}
	for _, listener := range []string{single, direct, sharded} {
		caller := name + "-" + listener
		for _, algorithm := range limit.AlgorithmNames() {
			p.subjects = append(p.subjects, subject{listener: listener, path: "/closed/" + algorithm, algorithm: algorithm, caller: caller})
		}
		p.subjects = append(p.subjects,
			subject{listener: listener, path: "/open", algorithm: "fixed_window", caller: caller},
			subject{listener: listener, path: "/calm", caller: caller})
		for range 4 { // more often than all workers together let pass by themselves
			p.subjects = append(p.subjects, subject{listener: listener, path: "/local", algorithm: "sliding_log", caller: caller})
		}
	}
	p.subjects = append(p.subjects, c.onEachPrimary(name)...)
	return p
}

// onEachPrimary are a subject on each primary.
func (c *chaos) onEachPrimary(name string) []subject {
	c.t.Helper()
	var list []subject
	found := map[string]bool{}
	for i := 0; len(found) < 3; i++ {
		who := subject{listener: sharded, path: "/closed/sliding_window", algorithm: "sliding_window", caller: fmt.Sprint(name, "-", i)}
		node, err := rig.nodes.PrimaryOf(c.t.Context(), who.key())
		if err != nil {
			c.t.Fatal(err)
		}
		who.primary = node.Addr()
		if !found[who.primary] {
			found[who.primary] = true
			list = append(list, who)
		}
	}
	return list
}

// checkEnvoys finds that nobody is still served, that no VM died, and that no panic but those that were injected was seen.
func (c *chaos) checkEnvoys() {
	c.t.Helper()
	for i, e := range rig.envoys {
		eventually(c.t, "all requests are over", func() error {
			stats, err := e.Stats(c.t.Context(), `^http\.(single|direct|sharded|injected)\.downstream_rq_active$`)
			for name, n := range stats {
				if n != 0 {
					return fmt.Errorf("envoy %d: %s is %d", i, name, n)
				}
			}
			return err
		})
		stats, err := e.Stats(c.t.Context(), `routelimit_panics_total|vm_reload`)
		if err != nil {
			c.t.Fatal(err)
		}
		for name, n := range stats {
			if strings.Contains(name, "vm_reload") && n != 0 {
				c.t.Errorf("envoy %d: %s is %d: a VM died", i, name, n)
			}
		}
		if n := stats["wasmcustom.routelimit_panics_total"]; n != c.panics[i] {
			c.t.Errorf("envoy %d: %d panics, %d were injected", i, n, c.panics[i])
		}
	}
}

// eventually polls until check is nil. Where it never is, the test fails with what check said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not: %v", what, err)
		}
	}
}
