package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// TestG25SlotsMoveUnderLoad moves the slots of all callers to another primary and back while they send requests. Envoy
// follows the redirections (redis_proxy's enable_redirection); no request stays undecided, and each is counted once.
func TestG25SlotsMoveUnderLoad(t *testing.T) {
	eachWay(t, slotsMoveUnderLoad)
}

func slotsMoveUnderLoad(t *testing.T, w way) {
	c := freshCluster(t, w)
	n := nodes.get(t)
	for _, caller := range callers { // every slot holds a key when it moves
		checkPassed(t, c.get("/many", "x-api-key", caller), 1000000, 999999)
	}
	passed := make([]atomic.Int64, len(callers))
	stop, ended := make(chan struct{}), make(chan error)
	const asking = 6
	for first := range asking {
		c := dial(t, sharded.get(t), w.across, "127.0.0.14")
		go func() { ended <- askInTurn(c, first, asking, passed, stop) }()
	}
	moves := 0
	for _, caller := range callers {
		if err := moveAndBack(t.Context(), n, keyOf("/many", caller)); err != nil {
			t.Error(err)
			break
		}
		moves += 2
	}
	close(stop)
	for range asking {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	sum := int64(0)
	for i, caller := range callers {
		want := passed[i].Load() + 1
		sum += want
		if err := differ(counts{"w86400": want}, stored(t, n.Client(), keyOf("/many", caller))); err != nil {
			t.Errorf("%s: %v", caller, err)
		}
	}
	redirected := redirections(t, n)
	t.Logf("%d slots moved during %d requests, %d redirections", moves, sum, redirected)
	if redirected == 0 {
		t.Error("no redirection was followed: nothing was tested")
	}
}

// askInTurn sends requests of every so many-th caller until it is stopped, or the first that does not pass.
func askInTurn(c *client, first, every int, passed []atomic.Int64, stop <-chan struct{}) error {
	for i := first; ; i += every {
		select {
		case <-stop:
			return nil
		default:
		}
		at := i % len(callers)
		a, err := c.try("GET", "/many", "", "x-api-key", callers[at])
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || a.number("x-ratelimit-limit") != 1000000 {
			return fmt.Errorf("status %d %s, headers %v", a.status, a.body, a.header)
		}
		passed[at].Add(1)
	}
}

// moveAndBack moves the slot of a key to another primary and back.
func moveAndBack(ctx context.Context, n *servers.Cluster, key string) error {
	slot, err := n.Client().ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	from, err := n.PrimaryOf(ctx, key)
	if err != nil {
		return err
	}
	primaries, err := n.Primaries(ctx)
	if err != nil {
		return err
	}
	to := primaries[0]
	if to == from {
		to = primaries[1]
	}
	return errors.Join(moveSlot(ctx, n, int(slot), from, to), moveSlot(ctx, n, int(slot), to, from))
}

// moveSlot follows the specification of a Cluster: the target imports, the source migrates, the keys go over, and then
// everybody is told (https://redis.io/docs/latest/commands/cluster-setslot/).
func moveSlot(ctx context.Context, n *servers.Cluster, slot int, from, to *servers.Redis) error {
	if err := n.WaitAgreed(ctx); err != nil {
		return err
	}
	primaries, err := n.Primaries(ctx)
	if err != nil {
		return err
	}
	target, err := to.Client().ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	source, err := from.Client().ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	if err := to.Client().Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", source).Err(); err != nil {
		return err
	}
	if err := from.Client().Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", target).Err(); err != nil {
		return err
	}
	if err := moveKeys(ctx, slot, from.Client(), to); err != nil {
		return err
	}
	for _, node := range append([]*servers.Redis{to, from}, primaries...) {
		if err := node.Client().Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target).Err(); err != nil {
			return err
		}
	}
	return nil
}

func moveKeys(ctx context.Context, slot int, from *redis.Client, to *servers.Redis) error {
	host, port, _ := strings.Cut(to.Addr(), ":")
	for {
		list, err := from.ClusterGetKeysInSlot(ctx, slot, 100).Result()
		if err != nil || len(list) == 0 {
			return err
		}
		args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, key := range list {
			args = append(args, key)
		}
		if err := from.Do(ctx, args...).Err(); err != nil {
			return err
		}
	}
}

// redirections are how many commands the nodes have answered with MOVED or ASK.
func redirections(t *testing.T, n *servers.Cluster) int {
	t.Helper()
	total := 0
	for _, node := range n.Nodes {
		info, err := node.Client().Info(t.Context(), "errorstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(info) {
			name, count, _ := strings.Cut(strings.TrimSpace(line), ":count=")
			if name == "errorstat_MOVED" || name == "errorstat_ASK" {
				number, err := strconv.Atoi(count)
				if err != nil {
					t.Fatal(err)
				}
				total += number
			}
		}
	}
	return total
}

// TestG25NodesThatSendEachOtherASlot makes two primaries give the same slot to each other, as after an operator's mistake.
// Envoy follows such redirections without end, so only the deadline ends the wait: each request is answered in time by
// its route's on_error, and once the slot has an owner it is decided again.
func TestG25NodesThatSendEachOtherASlot(t *testing.T) {
	freshCluster(t, ways[0])
	n := nodes.get(t)
	key := "rl:{POST:/login|username:" + hashed("hush-mallory") + "}"
	owner, err := n.PrimaryOf(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	primaries, err := n.Primaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := primaries[0]
	if other == owner {
		other = primaries[1]
	}
	slot, err := n.Client().ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	give := func(at, to *servers.Redis) {
		t.Helper()
		id, err := to.Client().ClusterMyID(context.Background()).Result()
		if err == nil {
			err = at.Client().Do(context.Background(), "CLUSTER", "SETSLOT", slot, "NODE", id).Err()
		}
		if err != nil {
			t.Error(err)
		}
	}
	heal := func() {
		for _, node := range append([]*servers.Redis{owner}, primaries...) {
			give(node, owner)
		}
	}

	c := dial(t, sharded.get(t), public, "127.0.0.15")
	eventually(t, "the slot is decided", func() error { return decided(c.login("hush-mallory")) })
	if err := owner.Client().FlushAll(t.Context()).Err(); err != nil { // a node keeps the slots of which it has keys
		t.Fatal(err)
	}
	give(owner, other)
	t.Cleanup(heal)
	var answers []answer
	for range 20 {
		a := c.login("hush-mallory")
		checkUnavailable(t, a)
		answers = append(answers, a, c.login("hush-other")) // which waits behind it in redis_proxy: that answers in order
	}
	checkInTime(t, answers...)
	heal()
	eventually(t, "the slot is decided again", func() error { return decided(c.login("hush-mallory")) })
}

// decided is nil for an answer under a limit.
func decided(a answer) error {
	if a.number("x-ratelimit-limit") < 0 {
		return fmt.Errorf("status %d %s", a.status, a.body)
	}
	return nil
}
