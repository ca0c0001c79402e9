package counting

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// TestG25SlotsResharded moves slots to another primary and back with redis-cli while their keys are asked for. No request
// stays undecided, and each is counted once.
func TestG25SlotsResharded(t *testing.T) {
	cli := servertest.RedisCLI(t)
	eachStore(t, func(t *testing.T, s *store) {
		first := s.primaryOfSlot(t, 0)
		var other *servers.Redis
		for _, node := range s.primaries(t) {
			if node != first {
				other = node
			}
		}
		before := s.calls(t, "errorstat_MOVED") + s.calls(t, "errorstat_ASK")
		l := startLoad(t, s.patient(), append(subjects("stays", 2), s.inSlots(t, "moves", 2, movedSlots)...))
		reshard(t, s, cli, first, other)
		l.goOn(t)
		reshard(t, s, cli, other, first)
		l.goOn(t)
		got := checkCounts(t, s, l.end(t), nil)
		redirected := s.calls(t, "errorstat_MOVED") + s.calls(t, "errorstat_ASK") - before
		t.Logf("%+v, %d slots moved there and back, %d redirections", got, movedSlots, redirected)
		if got.undecided != 0 || redirected == 0 {
			t.Errorf("%d undecided, %d redirections", got.undecided, redirected)
		}
		if now := s.primaryOfSlot(t, 0); now != first {
			t.Errorf("slot 0 is served by %s and not by %s again", now.Addr(), first.Addr())
		}
	}, isCluster)
}

// movedSlots are how many slots are moved: the first that the source has, and so 0 to 79.
const movedSlots = 80

func reshard(t *testing.T, s *store, cli string, from, to *servers.Redis) {
	t.Helper()
	if err := s.nodes.WaitAgreed(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, node := range []*servers.Redis{from, to} {
		id, err := node.Client().ClusterMyID(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	cmd := exec.CommandContext(t.Context(), cli, "--cluster", "reshard", from.Addr(), "--cluster-from", ids[0],
		"--cluster-to", ids[1], "--cluster-slots", strconv.Itoa(movedSlots), "--cluster-yes")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// primaryOfSlot is the node that serves a slot now.
func (s *store) primaryOfSlot(t *testing.T, slot int) *servers.Redis {
	t.Helper()
	ranges, err := s.primaries(t)[0].Client().ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ranges {
		if r.Start > slot || r.End < slot {
			continue
		}
		for _, node := range s.nodes.Nodes {
			if node.Addr() == r.Nodes[0].Addr {
				return node
			}
		}
	}
	t.Fatalf("slot %d is served by none of the nodes: %+v", slot, ranges)
	return nil
}

// inSlots are so many subjects on every route whose keys are in the first slots.
func (s *store) inSlots(t *testing.T, name string, each, slots int) []subject {
	t.Helper()
	found := map[string]int{}
	var list []subject
	for batch := 0; len(list) < each*len(everywhere("")); batch++ {
		var candidates []subject
		var asked []*redis.IntCmd
		pipe := s.primaries(t)[0].Client().Pipeline()
		for i := range 200 {
			for _, who := range everywhere(fmt.Sprintf("%s%d", name, 200*batch+i)) {
				candidates = append(candidates, who)
				asked = append(asked, pipe.ClusterKeySlot(t.Context(), who.key()))
			}
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, who := range candidates {
			if asked[i].Val() < int64(slots) && found[who.path] < each {
				found[who.path]++
				list = append(list, who)
			}
		}
	}
	return list
}

// TestG26PrimaryDies kills a primary until its replica has taken over. Who counts elsewhere is limited all the while. What
// the dead one had counted and not replicated is lost, and may be admitted once more; nothing else is.
func TestG26PrimaryDies(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		who := subjects("dies", 6)
		victim := s.primaryOfSlot(t, 0)
		hit := map[subject]bool{}
		for _, one := range who {
			hit[one] = s.primaryOf(t, one.key()) == victim
		}
		l := startLoad(t, s.patient(), who)
		died := time.Now()
		victim.Kill()
		t.Cleanup(func() {
			if err := s.nodes.Rejoin(context.Background(), victim); err != nil {
				t.Error(err)
			}
		})
		if err := s.nodes.WaitFailover(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		took := time.Since(died)
		l.untilDecided(t)
		back := time.Since(died)
		l.goOn(t)
		records := l.end(t)
		mayLack := func(one subject, r *record) int {
			if !hit[one] {
				return 0
			}
			return admittedIn(r, died.Add(-replicationTime), died)
		}
		got := checkCounts(t, s, records, mayLack)
		t.Logf("%+v, failover in %v, all decided again after %v", got, took, back)
		for _, one := range who {
			if n := records[one].undecided; !hit[one] && n != 0 {
				t.Errorf("%s, on another primary: %d undecided", one.key(), n)
			}
		}
		if got.undecided == 0 {
			t.Error("nothing was undecided: no primary died")
		}
	}, isCluster)
}

// replicationTime is within what time, at the most, a replica has what its primary has counted.
const replicationTime = time.Second

// admittedIn is how many admissions were answered in a span.
func admittedIn(r *record, from, to time.Time) int {
	n := 0
	for _, a := range r.admitted {
		if a.Answered.After(from) && a.Sent.Before(to) {
			n++
		}
	}
	return n
}
