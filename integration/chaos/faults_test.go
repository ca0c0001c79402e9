package chaos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// faults are all of them. Those of Redis are here, the others in envoyfaults_test.go and clients_test.go.
var faults = []fault{
	{name: "freeze", do: freeze},
	{name: "hiccups", do: hiccups},
	{name: "kill", do: kill, losses: map[string]int{single: 1, direct: 1}},
	{name: "freeze-primary", do: freezePrimary},
	{name: "handover", do: handover},
	{name: "kill-primary", do: killPrimary, losses: map[string]int{sharded: 1}, slow: true},
	{name: "evict", do: evict, losses: map[string]int{single: -1, direct: -1}},
	{name: "oom", do: outOfMemory},
	{name: "cut", do: cut},
	{name: "pause", do: pause},
	{name: "flush", do: flush},
	{name: "password", do: password},
	{name: "maxclients", do: maxClients},
	{name: "redis-proxy", do: removeProxies},
	{name: "links", do: removeLinks, slow: true}, // Envoy compiles the gateway anew each time
	{name: "listeners", do: updateListeners, redials: true},
	{name: "clusters", do: updateClusters},
	{name: "panic", do: injectPanics},
	{name: "vanish", do: vanish},
	{name: "uploads", do: uploads},
	{name: "resets", do: resets},
}

// freeze stops Redis, with its connections open, and lets it go on.
func freeze(c *chaos) error {
	return c.frozen(rig.single, c.between(300, 900))
}

func (c *chaos) frozen(r *servers.Redis, d time.Duration) error {
	if err := r.Pause(); err != nil {
		return err
	}
	c.wait(d)
	return r.Resume()
}

// hiccups freezes Redis again and again, for around redis_proxy's op_timeout and the deadline.
func hiccups(c *chaos) error {
	var failed []error
	for range 10 {
		failed = append(failed, c.frozen(rig.single, c.between(15, 70)))
		c.wait(c.between(5, 60))
	}
	return errors.Join(failed...)
}

// kill ends Redis and starts it again, with nothing in it.
func kill(c *chaos) error {
	rig.single.Kill()
	c.wait(c.between(100, 800))
	return rig.single.Restart(c.t.Context())
}

// primary is one of the Cluster's, by chance.
func (c *chaos) primary() (*servers.Redis, error) {
	list, err := rig.nodes.Primaries(c.t.Context())
	if err != nil {
		return nil, err
	}
	return list[c.random.IntN(len(list))], nil
}

// mostOthers is how many of the requests about other primaries' keys must be decided in time while one is silent. Not all:
// what redis_proxy sent behind a command for the silent one waits for its op_timeout, half of the deadline.
const mostOthers = 0.7

// freezePrimary stops one primary of three, for less than would make the others replace it.
func freezePrimary(c *chaos) error {
	victim, err := c.primary()
	if err != nil {
		return err
	}
	from := time.Now()
	if err := c.frozen(victim, c.between(500, 900)); err != nil {
		return err
	}
	return c.othersGoOn(victim.Addr(), from, time.Now())
}

// othersGoOn finds that the identities on other primaries were limited all the while.
func (c *chaos) othersGoOn(silent string, from, to time.Time) error {
	c.wait(2 * timeout) // until the last of them are answered
	n, of := c.phase.decided(from, to, func(who subject) bool { return who.primary != "" && who.primary != silent })
	c.note("on the other primaries %d of %d were decided", n, of)
	if float64(n) < mostOthers*float64(of) {
		return fmt.Errorf("while one primary was silent, of %d requests about the others' keys only %d were decided", of, n)
	}
	return nil
}

// handover makes a replica take over from its primary, which lives on as a replica.
func handover(c *chaos) error {
	ctx := c.t.Context()
	if err := rig.nodes.WaitAgreed(ctx); err != nil {
		return err
	}
	var replicas []*servers.Redis
	for _, node := range rig.nodes.Nodes {
		if role, err := roleOf(ctx, node); err != nil {
			return err
		} else if role == "slave" {
			replicas = append(replicas, node)
		}
	}
	chosen := replicas[c.random.IntN(len(replicas))]
	if err := chosen.Client().ClusterFailover(ctx).Err(); err != nil {
		return err
	}
	return c.within(recoverTime, func() error {
		if role, err := roleOf(ctx, chosen); err != nil || role != "master" {
			return fmt.Errorf("%s has not taken over: %s %v", chosen.Addr(), role, err)
		}
		return nil
	})
}

func roleOf(ctx context.Context, node *servers.Redis) (string, error) {
	role, err := node.Client().Do(ctx, "ROLE").Slice()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(role[0]), nil
}

// killPrimary ends a primary and starts it again when its replica has taken over.
func killPrimary(c *chaos) error {
	victim, err := c.primary()
	if err != nil {
		return err
	}
	from := time.Now()
	victim.Kill()
	if err := rig.nodes.WaitFailover(c.t.Context(), victim); err != nil {
		return err
	}
	return errors.Join(c.othersGoOn(victim.Addr(), from, time.Now()), rig.nodes.Rejoin(c.t.Context(), victim))
}

// within polls until check is nil.
func (c *chaos) within(d time.Duration, check func() error) error {
	for began := time.Now(); ; c.wait(10 * time.Millisecond) {
		err := check()
		if err == nil || time.Since(began) > d {
			return err
		}
	}
}

// set changes settings of Redis.
func set(ctx context.Context, r *redis.Client, settings ...string) error {
	for i := 0; i < len(settings); i += 2 {
		if err := r.ConfigSet(ctx, settings[i], settings[i+1]).Err(); err != nil {
			return err
		}
	}
	return nil
}

// info is a number of Redis' INFO.
func info(ctx context.Context, r *redis.Client, name string) (int64, error) {
	text, err := r.Info(ctx, "all").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("redis says nothing of %s", name)
}

const attackers = 1500

// evict lets Redis evict keys while fresh identities attack. What is evicted is forgotten: no limit can hold then.
func evict(c *chaos) error {
	ctx, r := c.t.Context(), rig.single.Client()
	used, err := info(ctx, r, "used_memory")
	if err != nil {
		return err
	}
	before, err := info(ctx, r, "evicted_keys")
	if err != nil {
		return err
	}
	if err := set(ctx, r, "maxmemory-policy", "allkeys-lru", "maxmemory", fmt.Sprint(used+50_000)); err != nil {
		return err
	}
	failed := c.attack("evict")
	after, err := info(ctx, r, "evicted_keys")
	c.note("%d keys evicted", after-before)
	if after == before {
		failed = append(failed, errors.New("nothing was evicted"))
	}
	return errors.Join(append(failed, err, set(ctx, r, "maxmemory", "0", "maxmemory-policy", "noeviction"))...)
}

// attack asks for the open route as many identities that were never seen. Nobody may be refused.
func (c *chaos) attack(name string) (failed []error) {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	for worker := range 8 {
		wait.Go(func() {
			for i := range attackers / 8 {
				who := subject{listener: single, path: "/attack", caller: fmt.Sprint(name, c.load.number.Load(), "-", worker, "-", i)}
				s := c.load.ask(c.t.Context(), i%len(rig.envoys), who, nil)
				if err := s.check(); err != nil || s.status != 200 {
					mutex.Lock()
					failed = append(failed, fmt.Errorf("%v: %v", s, err))
					mutex.Unlock()
					return
				}
			}
		})
	}
	wait.Wait()
	return failed
}

// outOfMemory makes Redis refuse what writes.
func outOfMemory(c *chaos) error {
	before := c.failures("oom")
	if err := set(c.t.Context(), rig.single.Client(), "maxmemory-policy", "noeviction", "maxmemory", "1"); err != nil {
		return err
	}
	c.wait(c.between(300, 800))
	if err := set(c.t.Context(), rig.single.Client(), "maxmemory", "0"); err != nil {
		return err
	}
	return c.counted("oom", before)
}

// failures is how often the Envoys have counted a kind.
func (c *chaos) failures(kind string) (sum int64) {
	c.t.Helper()
	for _, e := range rig.envoys {
		stats, err := e.Stats(c.t.Context(), `routelimit_failures_total\.kind=\.`+kind+`;`)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, n := range stats {
			sum += n
		}
	}
	return sum
}

func (c *chaos) counted(kind string, before int64) error {
	if c.failures(kind) == before {
		return fmt.Errorf("no failure of the kind %s was counted", kind)
	}
	return nil
}

// counting are the servers that count.
func (c *chaos) counting() ([]*redis.Client, error) {
	list, err := rig.nodes.Primaries(c.t.Context())
	clients := []*redis.Client{rig.single.Client()}
	for _, node := range list {
		clients = append(clients, node.Client())
	}
	return clients, err
}

// cut cuts all connections to Redis again and again.
func cut(c *chaos) error {
	clients, err := c.counting()
	if err != nil {
		return err
	}
	for range 60 {
		for _, r := range clients {
			if err := killClients(c.t.Context(), r); err != nil {
				return err
			}
		}
		c.wait(c.between(0, 15))
	}
	return nil
}

func killClients(ctx context.Context, r redis.Cmdable) error {
	return r.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err()
}

// pause makes Redis answer nobody.
func pause(c *chaos) error {
	clients, err := c.counting()
	if err != nil {
		return err
	}
	d := c.between(200, 900)
	for _, r := range []*redis.Client{clients[0], clients[1+c.random.IntN(len(clients)-1)]} {
		if err := r.Do(c.t.Context(), "CLIENT", "PAUSE", d.Milliseconds()).Err(); err != nil {
			return err
		}
	}
	c.wait(d)
	return nil
}

// flush makes Redis forget the scripts again and again.
func flush(c *chaos) error {
	clients, err := c.counting()
	if err != nil {
		return err
	}
	for range 10 {
		for _, r := range clients {
			if err := r.ScriptFlush(c.t.Context()).Err(); err != nil {
				return err
			}
		}
		c.wait(c.between(5, 60))
	}
	return nil
}

// password gives Redis one that Envoy does not know.
func password(c *chaos) error {
	before := c.failures("auth")
	conn := rig.single.Client().Conn() // it has logged in before there was a password
	defer conn.Close()
	if err := conn.ConfigSet(c.t.Context(), "requirepass", "changed").Err(); err != nil {
		return err
	}
	err := killClients(c.t.Context(), conn)
	c.wait(c.between(300, 800))
	if err := errors.Join(err, conn.ConfigSet(c.t.Context(), "requirepass", "").Err()); err != nil {
		return err
	}
	return c.counted("auth", before)
}

// maxClients lets nobody connect any more.
func maxClients(c *chaos) error {
	conn := rig.single.Client().Conn()
	defer conn.Close()
	most, err := conn.ConfigGet(c.t.Context(), "maxclients").Result()
	if err != nil {
		return err
	}
	if err := conn.ConfigSet(c.t.Context(), "maxclients", "1").Err(); err != nil {
		return err
	}
	err = killClients(c.t.Context(), conn)
	c.wait(c.between(300, 800))
	return errors.Join(err, conn.ConfigSet(c.t.Context(), "maxclients", most["maxclients"]).Err())
}
