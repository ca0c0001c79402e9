package limit

import (
	"testing"
	"time"

	"routelimit/resp"
)

func (m *modelDecider) lease(key string, nowMS, most int64, charges ...Charge) (Decision, int64) {
	return m.model.Lease(key, nowMS, most, charges)
}

// leaser takes leases: the model, or the scripts on a server.
type leaser interface {
	decider
	lease(key string, nowMS, most int64, charges ...Charge) (Decision, int64)
}

func TestALeaseTakesWhatIsLeftAndNoMore(t *testing.T) {
	second := &Limit{Algorithm: FixedWindow, Limit: 10, Window: time.Second}
	minute := &Limit{Limit: 100, Window: time.Minute}
	onEach(t, func(t *testing.T, d decider) {
		l, key := d.(leaser), keyOf(t)
		for _, step := range []struct {
			at          time.Duration
			most, taken int64
			remaining   [2]int64 // of the limits: 10 in 1s, 100 in 1m, at a cost of 1 and 7
			wait        [2]time.Duration
		}{
			{at: 0, most: 4, taken: 4, remaining: [2]int64{6, 72}},
			// All that the second has left; the minute has room for ten.
			{at: ms(10), most: 1 << 52, taken: 6, remaining: [2]int64{0, 30}},
			// Nothing: refused, and nothing is charged.
			{at: ms(20), most: 4, remaining: [2]int64{0, 30}, wait: [2]time.Duration{ms(980), 0}},
			// The minute's rest is for four, and two tokens are left.
			{at: time.Second, most: 9, taken: 4, remaining: [2]int64{6, 2}},
			{at: time.Second, most: 9, remaining: [2]int64{6, 2}, wait: [2]time.Duration{0, ms(62062)}},
		} {
			got, taken := l.lease(key, at(step.at), step.most, one(second), cost(minute, 7))
			for i, v := range got.Verdicts {
				if v.Remaining != step.remaining[i] || v.Wait != step.wait[i] || v.Pass != (step.wait[i] == 0) {
					t.Errorf("at %v limit %d: %+v, want %d remaining and a wait of %v", step.at, i, v, step.remaining[i], step.wait[i])
				}
			}
			if taken != step.taken || got.Allowed != (step.taken > 0) {
				t.Errorf("at %v: %d taken of %d, want %d", step.at, taken, step.most, step.taken)
			}
		}
	})
}

// What a lease did not spend is given back with the time of its taking, and then it is as if it had not been taken.
func TestALeaseIsGivenBackInParts(t *testing.T) {
	for _, l := range each(10, time.Minute)[:2] {
		onEach(t, func(t *testing.T, d decider) {
			key := keyOf(t)
			got, taken := d.(leaser).lease(key, at(0), 8, cost(l, 1))
			if taken != 8 {
				t.Fatalf("%v: %d taken", l.Algorithm, taken)
			}
			d.refund(key, got.AtMS, at(ms(30)), cost(l, 5))
			for range 7 {
				if !d.decide(key, at(ms(40)), one(l)).Allowed {
					t.Fatalf("%v: refused within the limit", l.Algorithm)
				}
			}
			if d.decide(key, at(ms(50)), one(l)).Allowed {
				t.Fatalf("%v: admitted over the limit", l.Algorithm)
			}
		})
	}
}

func TestRepliesThatNoLeaseGivesAreErrors(t *testing.T) {
	charges := []Charge{one(&Limit{Limit: 10, Window: time.Minute})}
	allowed := Decision{Allowed: true, AtMS: base, Verdicts: []Verdict{{Pass: true}}}
	refused := Decision{AtMS: base, Verdicts: []Verdict{{Wait: time.Second}}}
	for _, c := range []struct {
		reply []byte
		want  int64 // -1: an error
	}{
		{allowed.AppendLeaseReply(nil, 5), 5},
		{allowed.AppendLeaseReply(nil, 1), 1},
		{refused.AppendLeaseReply(nil, 0), 0},
		{allowed.AppendLeaseReply(nil, 6), -1},
		{allowed.AppendLeaseReply(nil, 0), -1},
		{refused.AppendLeaseReply(nil, 1), -1},
		{allowed.AppendReply(nil), -1},
		{[]byte("-ERR no\r\n"), -1},
		{[]byte("$-1\r\n"), -1},
		{[]byte("$0\r\n\r\n"), -1},
		{[]byte(":1\r\n"), -1},
	} {
		var decoder resp.Decoder
		decoder.Write(c.reply)
		v, err := decoder.Next()
		if err != nil {
			t.Fatalf("%q: %v", c.reply, err)
		}
		var d Decision
		taken, err := ReadLease(v, charges, 5, &d)
		if (err != nil) != (c.want < 0) || err == nil && taken != c.want {
			t.Errorf("%q: %d taken, %v; want %d", c.reply, taken, err, c.want)
		}
	}
}
