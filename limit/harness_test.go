package limit

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/resp"
)

// base is the beginning of a day, so of every window that divides one, in ms.
const base int64 = 1_729_728_000_000

// at is so long after base, in ms.
func at(d time.Duration) int64 { return base + d.Milliseconds() }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// decider decides calls: the model, or the scripts on a server.
type decider interface {
	decide(key string, nowMS int64, charges ...Charge) Decision
	refund(key string, atMS, nowMS int64, charges ...Charge)
}

// onEach runs a test with the model and with the scripts on each server.
func onEach(t *testing.T, test func(t *testing.T, d decider)) {
	t.Run("model", func(t *testing.T) { test(t, &modelDecider{}) })
	onEachRedis(t, func(t *testing.T, r *redisDecider) { test(t, r) })
}

// onEachRedis runs a test with the scripts on each server.
func onEachRedis(t *testing.T, test func(t *testing.T, r *redisDecider)) {
	for i := range redises {
		t.Run(redises[i].name, func(t *testing.T) { test(t, connect(t, i)) })
	}
}

type modelDecider struct{ model Model }

func (m *modelDecider) decide(key string, nowMS int64, charges ...Charge) Decision {
	return m.model.Decide(key, nowMS, charges)
}

func (m *modelDecider) refund(key string, atMS, nowMS int64, charges ...Charge) {
	m.model.Refund(key, atMS, nowMS, charges)
}

// redisDecider sends what AppendDecide and AppendRefund write over one connection, and reads what comes back.
type redisDecider struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	decoder resp.Decoder
	client  *redis.Client // looks into the same server
}

func connect(t testing.TB, server int) *redisDecider {
	t.Helper()
	r := redises[server]
	conn, err := net.Dial(r.Network(), r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	d := &redisDecider{t: t, conn: conn, in: bufio.NewReader(conn), client: r.Client()}
	t.Cleanup(d.finish)
	for _, s := range Scripts() {
		if err := d.client.ScriptLoad(t.Context(), s.Text).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// finish ends the connection and removes what the test left, but looks at it first: of all cases, G16 asks after every
// test whether one of our keys lives without an expiry.
func (r *redisDecider) finish() {
	r.conn.Close()
	ctx := context.Background() // the test's own has ended
	keys := r.client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		if ttl, err := r.client.PTTL(ctx, keys.Val()).Result(); err != nil || ttl == -1 {
			r.t.Errorf("G16: key %q lives for %v, %v; want an expiry", keys.Val(), ttl, err)
		}
	}
	if err := keys.Err(); err != nil {
		r.t.Error(err)
	}
	if err := r.client.FlushAll(ctx).Err(); err != nil {
		r.t.Error(err)
	}
}

func (r *redisDecider) decide(key string, nowMS int64, charges ...Charge) Decision {
	r.t.Helper()
	var d Decision
	r.send(AppendDecide(nil, []byte(key), nowMS, charges))
	if err := ReadDecision(r.reply(), charges, &d); err != nil {
		r.t.Fatalf("key %s at %d: %v", key, nowMS, err)
	}
	return d
}

func (r *redisDecider) lease(key string, nowMS, most int64, charges ...Charge) (Decision, int64) {
	r.t.Helper()
	var d Decision
	r.send(AppendLease(nil, []byte(key), nowMS, most, charges))
	taken, err := ReadLease(r.reply(), charges, most, &d)
	if err != nil {
		r.t.Fatalf("lease of %s at %d: %v", key, nowMS, err)
	}
	return d, taken
}

func (r *redisDecider) refund(key string, atMS, nowMS int64, charges ...Charge) {
	r.t.Helper()
	r.send(AppendRefund(nil, []byte(key), atMS, nowMS, charges))
	if err := ReadRefund(r.reply()); err != nil {
		r.t.Fatalf("refund of %s at %d: %v", key, atMS, err)
	}
}

func (r *redisDecider) send(command []byte) {
	r.t.Helper()
	if _, err := r.conn.Write(command); err != nil {
		r.t.Fatal(err)
	}
}

// reply waits for the next reply. It is valid until the next one is asked for.
func (r *redisDecider) reply() resp.Value {
	r.t.Helper()
	for {
		v, err := r.decoder.Next()
		if err == nil {
			return v
		}
		if err != resp.ErrShort {
			r.t.Fatal(err)
		}
		if _, err := r.in.Peek(1); err != nil {
			r.t.Fatal(err)
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		r.decoder.Write(chunk)
		r.in.Discard(len(chunk))
	}
}

// stored is the key's fields as they are on the server.
func (r *redisDecider) stored(key string) map[string]string {
	r.t.Helper()
	fields, err := r.client.HGetAll(r.t.Context(), key).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return fields
}

// ttl is the key's remaining life; -1 for ever, -2 there is no key.
func (r *redisDecider) ttl(key string) time.Duration {
	r.t.Helper()
	ttl, err := r.client.PTTL(r.t.Context(), key).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return ttl
}

// do runs a command that must not fail.
func (r *redisDecider) do(args ...any) {
	r.t.Helper()
	if err := r.client.Do(r.t.Context(), args...).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// keyOf is a key of this test's own.
func keyOf(t testing.TB) string { return "rl:{" + t.Name() + "}" }

func cost(l *Limit, n int64) Charge { return Charge{Limit: l, Cost: n} }

func one(l *Limit) Charge { return cost(l, 1) }

// each runs over the four algorithms with the same numbers.
func each(limit int64, window time.Duration) []*Limit {
	return []*Limit{
		{Algorithm: SlidingWindow, Limit: limit, Window: window},
		{Algorithm: FixedWindow, Limit: limit, Window: window},
		{Algorithm: SlidingLog, Limit: limit, Window: window},
		{Algorithm: TokenBucket, Limit: limit, Window: window},
	}
}
