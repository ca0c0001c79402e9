// Package access tests what a user of Redis has to be allowed, with the lines of docs/redis.md on every Redis and Valkey
// that is supported: with a line all works, and without any one of its commands something does not.
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"routelimit/bridge"
	"routelimit/bridge/bridgetest"
	"routelimit/limit"
	"routelimit/resp"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable()
	os.Exit(m.Run())
}

const (
	user     = "routelimit"
	password = "access-password"
)

// line is what the page says about somebody, as the arguments of ACL SETUSER behind the user's name.
func line(t *testing.T, whose string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "<!-- acl: "+whose+" -->\n```\n")
	text, _, ended := strings.Cut(rest, "\n```")
	fields := strings.Fields(text)
	if !found || !ended || len(fields) < 5 || fields[1] != "SETUSER" || fields[2] != user {
		t.Fatalf("the page has no line for %s: %q", whose, text)
	}
	return slices.Replace(fields[3:], 0, 0, "reset")
}

// admit makes the user, with a password of the test's.
func admit(t *testing.T, c *redis.Client, rules []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user}
	for _, r := range rules {
		if strings.HasPrefix(r, ">") {
			r = ">" + password
		}
		args = append(args, r)
	}
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
}

// eachCut runs a check with all rules, when it has to pass, and without each command, when it must not.
func eachCut(t *testing.T, rules []string, set func([]string), check func() error) {
	t.Helper()
	set(rules)
	if err := check(); err != nil {
		t.Errorf("with the whole line: %v", err)
	}
	for i, r := range rules {
		if !strings.HasPrefix(r, "+") {
			continue
		}
		set(slices.Delete(slices.Clone(rules), i, i+1))
		if check() == nil {
			t.Errorf("all works without %s; take it off the page", r)
		}
	}
	set(rules)
	if err := check(); err != nil {
		t.Errorf("with the whole line again: %v", err)
	}
}

func eachServer(t *testing.T, test func(t *testing.T, binary string)) {
	for _, version := range servers.RedisVersions() {
		t.Run(version, func(t *testing.T) { test(t, servertest.Redis(t, version)) })
	}
}

// asUser is a connection of the user's, which asks one command at a time.
func asUser(r *servers.Redis) *redis.Client {
	o := *r.Client().Options()
	o.Username, o.Password, o.PoolSize = user, password, 1
	return redis.NewClient(&o)
}

// ask sends commands and returns a reply for each.
type ask func(commands []byte, n int) ([]resp.Value, error)

// everything makes the scripts call every command that they have: all algorithms, their refunds, a key that holds
// something foreign, scripts that are unknown. admin prepares, and looks at nothing.
func everything(ctx context.Context, admin redis.Cmdable, ask ask) error {
	const key, foreign = "rl:{GET:/access|all}", "rl:{GET:/access|foreign}"
	err := errors.Join(admin.ScriptFlush(ctx).Err(), admin.Del(ctx, key).Err(), admin.Set(ctx, foreign, "x", time.Minute).Err())
	if err != nil {
		return err
	}
	var charges []limit.Charge
	for algorithm := range limit.Algorithm(4) {
		charges = append(charges, limit.Charge{Limit: &limit.Limit{Algorithm: algorithm, Limit: 10, Window: time.Hour}, Cost: 1})
	}
	one := func(command []byte) (resp.Value, error) {
		replies, err := ask(command, 1)
		if err == nil && replies[0].Kind == resp.Error && resp.ClassifyError(replies[0].Text) == resp.NoScript {
			replies, err = ask(limit.AppendEval(nil, command), 1) // as the module does
		}
		if err != nil {
			return resp.Value{}, err
		}
		if replies[0].Kind == resp.Error {
			return resp.Value{}, errors.New(string(replies[0].Text))
		}
		return replies[0], nil
	}
	var last limit.Decision
	for _, k := range []string{foreign, key, key} {
		reply, err := one(limit.AppendDecide(nil, []byte(k), 0, charges))
		if err != nil {
			return fmt.Errorf("deciding about %s: %w", k, err)
		}
		if err := limit.ReadDecision(reply, charges, &last); err != nil {
			return err
		}
	}
	reply, err := one(limit.AppendRefund(nil, []byte(foreign), 1, 0, charges)) // nothing of it stands
	if err == nil {
		reply, err = one(limit.AppendRefund(nil, []byte(key), last.AtMS, 0, charges))
	}
	if err != nil {
		return fmt.Errorf("refunding: %w", err)
	}
	if reply.Int < 2 {
		return fmt.Errorf("%d fields refunded", reply.Int)
	}
	return emptied(ctx, admin, one, charges)
}

// emptied gives back the only request in a log, which removes its field.
func emptied(ctx context.Context, admin redis.Cmdable, one func([]byte) (resp.Value, error), charges []limit.Charge) error {
	const key = "rl:{GET:/access|once}"
	log := charges[slices.IndexFunc(charges, func(c limit.Charge) bool { return c.Limit.Algorithm == limit.SlidingLog }):][:1]
	if err := admin.Del(ctx, key).Err(); err != nil {
		return err
	}
	reply, err := one(limit.AppendDecide(nil, []byte(key), 0, log))
	if err != nil {
		return err
	}
	var d limit.Decision
	if err := limit.ReadDecision(reply, log, &d); err != nil {
		return err
	}
	reply, err = one(limit.AppendRefund(nil, []byte(key), d.AtMS, 0, log))
	if err == nil && reply.Int != 1 {
		err = fmt.Errorf("%d fields refunded, want the log", reply.Int)
	}
	return err
}

// plainly asks over a connection of the user's.
func plainly(ctx context.Context, c redis.UniversalClient) ask {
	return func(commands []byte, _ int) ([]resp.Value, error) {
		var d resp.Decoder
		d.Write(commands)
		v, err := d.Next()
		if err != nil {
			return nil, err
		}
		var args []any
		for _, e := range v.Elems {
			args = append(args, string(e.Text))
		}
		switch reply, err := c.Do(ctx, args...).Result(); {
		case err != nil:
			return []resp.Value{{Kind: resp.Error, Text: []byte(err.Error())}}, nil
		default:
			if n, ok := reply.(int64); ok {
				return []resp.Value{{Kind: resp.Integer, Int: n}}, nil
			}
			return []resp.Value{{Kind: resp.BulkString, Text: []byte(fmt.Sprint(reply))}}, nil
		}
	}
}

func TestTheModulesLine(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string) {
		r := servertest.StartRedis(t, servers.RedisOptions{Binary: binary})
		eachCut(t, line(t, "module"), func(rules []string) { admit(t, r.Client(), rules) }, func() error {
			c := asUser(r)
			defer c.Close()
			return everything(t.Context(), r.Client(), plainly(t.Context(), c))
		})
		c := asUser(r)
		defer c.Close()
		checkOthersRefused(t, c)
	})
}

// checkOthersRefused tries what a user must not do: on other keys, and other things on ours.
func checkOthersRefused(t *testing.T, c *redis.Client) {
	t.Helper()
	decide := limit.Scripts()[0].Text
	for _, command := range [][]any{
		{"GET", "session:1"}, {"HGETALL", "rl:{a}"}, {"SET", "rl:{a}", "1"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"KEYS", "*"},
		{"EVAL", "return redis.call('GET', 'session:1')", "0"}, {"EVAL", decide, "1", "session:{a}", "x"}, {"EVAL", decide, "1", "rlx:{a}", "x"},
		{"EVAL", "return redis.call('FLUSHALL')", "1", "rl:{a}"}, {"SCAN", "0"}, {"PUBLISH", "a", "b"}, {"ACL", "LIST"}, {"SHUTDOWN"},
	} {
		err := c.Do(t.Context(), command...).Err()
		if err == nil || resp.ClassifyError([]byte(err.Error())) != resp.Auth {
			t.Errorf("%v: %v", command[0], err)
		}
	}
}

// TestTheLineForADatabase adds SELECT for a module that has redis.database.
func TestTheLineForADatabase(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string) {
		r := servertest.StartRedis(t, servers.RedisOptions{Binary: binary})
		eachCut(t, line(t, "module with a database"), func(rules []string) { admit(t, r.Client(), rules) }, func() error {
			c := asUser(r)
			defer c.Close()
			if err := c.Do(t.Context(), "SELECT", 3).Err(); err != nil {
				return err
			}
			admin := r.Client().Conn()
			defer admin.Close()
			if err := admin.Select(t.Context(), 3).Err(); err != nil {
				return err
			}
			return everything(t.Context(), admin, plainly(t.Context(), c))
		})
	})
}

// TestTheModulesLineOnACluster asks what Envoy asks: which node has which slots, and, where a slot is moving, with ASKING.
func TestTheModulesLineOnACluster(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string) {
		n := servertest.StartCluster(t, servers.ClusterOptions{Binary: binary, Primaries: 3})
		set := func(rules []string) {
			for _, node := range n.Nodes {
				admit(t, node.Client(), rules)
			}
		}
		eachCut(t, line(t, "module on a Cluster"), set, func() error {
			for _, node := range n.Nodes {
				c := asUser(node)
				defer c.Close()
				if err := errors.Join(c.ClusterSlots(t.Context()).Err(), c.Do(t.Context(), "ASKING").Err()); err != nil {
					return err
				}
			}
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: n.Addrs(), Username: user, Password: password, Protocol: 2, DisableIdentity: true})
			defer c.Close()
			return everything(t.Context(), n.Client(), plainly(t.Context(), c))
		})
	})
}

// startBridge serves as the user.
func startBridge(t *testing.T, store bridge.Store) *bridgetest.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store.Network, store.PoolSize, store.User = "tcp", 4, user
	store.Password = func() (string, error) { return password, nil }
	b := bridge.New(bridge.Options{
		Store: store, Prefixes: []string{"rl"}, Timeout: 5 * time.Second, MaxStreams: 8, MaxMessage: 1 << 20, MaxCommands: 1000,
		SendTimeout: 5 * time.Second, DrainTime: time.Second, Log: slog.New(slog.DiscardHandler),
	})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx, listener, nil) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return bridgetest.Dial(t, "passthrough:///"+listener.Addr().String(), nil)
}

// throughBridge uses all that a bridge does: its health says whether it may PING.
func throughBridge(t *testing.T, admin redis.Cmdable, store bridge.Store) error {
	c := startBridge(t, store)
	stream, err := c.Open(t.Context())
	if err != nil {
		return err
	}
	if err := everything(t.Context(), admin, stream.Ask); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Second); !c.Ready(t.Context()); {
		if time.Now().After(deadline) {
			return errors.New("it is not ready")
		}
	}
	return nil
}

func TestTheBridgesLine(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string) {
		r := servertest.StartRedis(t, servers.RedisOptions{Binary: binary})
		eachCut(t, line(t, "bridge"), func(rules []string) { admit(t, r.Client(), rules) }, func() error {
			return throughBridge(t, r.Client(), bridge.Store{Addrs: []string{r.Addr()}})
		})
	})
}

// TestTheBridgesLineOnACluster also sends ASKING, as a client does to a node that a slot is moving to.
func TestTheBridgesLineOnACluster(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string) {
		n := servertest.StartCluster(t, servers.ClusterOptions{Binary: binary, Primaries: 3})
		set := func(rules []string) {
			for _, node := range n.Nodes {
				admit(t, node.Client(), rules)
			}
		}
		eachCut(t, line(t, "bridge on a Cluster"), set, func() error {
			c := asUser(n.Nodes[0])
			defer c.Close()
			if err := c.Do(t.Context(), "ASKING").Err(); err != nil {
				return err
			}
			return throughBridge(t, n.Client(), bridge.Store{Addrs: n.Addrs(), Cluster: true})
		})
	})
}
