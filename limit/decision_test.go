package limit

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

// said is a reply of the script: allowed, the time, and four numbers for each limit.
func said(numbers ...int64) resp.Value {
	sizes := []int{1, 7}
	for len(sizes) < len(numbers) {
		sizes = append(sizes, 1, 7, 7, 7)
	}
	b := []byte{}
	for i, n := range numbers {
		b = appendUint(b, n, sizes[i])
	}
	return resp.Value{Kind: resp.BulkString, Text: b}
}

func ints(n ...int64) resp.Value {
	v := resp.Value{Kind: resp.Array}
	for _, i := range n {
		v.Elems = append(v.Elems, resp.Value{Kind: resp.Integer, Int: i})
	}
	return v
}

func TestReadDecisionReadsEveryVerdict(t *testing.T) {
	l, shadow := &Limit{Limit: 10, Window: time.Minute}, &Limit{Limit: 5, Window: time.Minute, Shadow: true}
	for _, tt := range []struct {
		name    string
		reply   resp.Value
		charges []Charge
		want    Decision
	}{
		{"passes", said(1, 1729728000123, 1, 9, 60000, 0), []Charge{one(l)},
			Decision{true, 1729728000123, []Verdict{{Pass: true, Remaining: 9, Reset: time.Minute}}}},
		{"refused", said(0, 1729728000123, 0, 0, 900, 200), []Charge{one(l)},
			Decision{false, 1729728000123, []Verdict{{Reset: ms(900), Wait: ms(200)}}}},
		{"never", said(0, 0, 0, 10, 0, -1), []Charge{cost(l, 11)},
			Decision{false, 0, []Verdict{{Remaining: 10, Wait: Never}}}},
		{"begun anew", said(1, 1, 3, 9, 1, 0), []Charge{one(l)},
			Decision{true, 1, []Verdict{{Pass: true, Restarted: true, Remaining: 9, Reset: ms(1)}}}},
		{"a shadow refuses nobody", said(1, 1, 1, 9, 1, 0, 0, 0, 5, 5), []Charge{one(l), one(shadow)},
			Decision{true, 1, []Verdict{{Pass: true, Remaining: 9, Reset: ms(1)}, {Reset: ms(5), Wait: ms(5)}}}},
		{"longer than a duration can say", said(0, 1, 0, 0, 1<<53, 1<<53), []Charge{one(l)},
			Decision{false, 1, []Verdict{{Reset: ms(math.MaxInt64 / 1_000_000), Wait: ms(math.MaxInt64 / 1_000_000)}}}},
		{"no limits", said(1, 1), nil, Decision{Allowed: true, AtMS: 1, Verdicts: []Verdict{}}},
	} {
		got := Decision{Verdicts: make([]Verdict, 3)}
		if err := ReadDecision(tt.reply, tt.charges, &got); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestG22_OddRepliesAreErrorsAndNeverAPass(t *testing.T) {
	l, shadow := &Limit{Limit: 10, Window: time.Minute}, &Limit{Limit: 10, Window: time.Minute, Shadow: true}
	const at = 1729728000123
	for _, tt := range []struct {
		reply resp.Value
		want  string
	}{
		{resp.Value{}, "reply is of no kind, not a bulk string"},
		{said(), "reply has 0 bytes, not 30"},
		{said(1), "reply has 1 bytes, not 30"},
		{said(1, at, 1, 9, 60000), "reply has 23 bytes, not 30"},
		{said(1, at, 1, 9, 60000, 0, 0), "reply has 31 bytes, not 30"},
		{said(1, at, 1, 9, 60000, 0, 1, 9, 60000, 0), "reply has 52 bytes, not 30"},
		{resp.Value{Kind: resp.Array, Null: true}, "reply is null, not a bulk string"},
		{resp.Value{Kind: resp.BulkString, Null: true}, "reply is null, not a bulk string"},
		{resp.Value{Kind: resp.BulkString, Text: []byte("1")}, "reply has 1 bytes, not 30"},
		{ints(1, at, 1, 9, 60000, 0), "reply is an array, not a bulk string"},
		{ints(), "reply is an array, not a bulk string"},
		{resp.Value{Kind: resp.Integer, Int: 1}, "reply is an integer, not a bulk string"},
		{resp.Value{Kind: resp.SimpleString, Text: said(1, at, 1, 9, 60000, 0).Text}, "reply is a simple string, not a bulk string"},
		{resp.Value{Kind: resp.Error, Text: []byte("LOADING x")}, `reply is the error "LOADING x"`},
		{said(2, at, 1, 9, 60000, 0), "reply says 2, not 0 or 1"},
		{said(-1, at, 1, 9, 60000, 0), "reply says 255, not 0 or 1"},
		{said('1', at, 1, 9, 60000, 0), "reply says 49, not 0 or 1"},
		{said(1, 1<<53, 1, 9, 60000, 0), "reply says 9007199254740992, not a time"},
		{said(1, -1, 1, 9, 60000, 0), "reply says 72057594037927935, not a time"},
		{said(1, at, 4, 9, 60000, 0), "limit 1 says 4, not a verdict"},
		{said(1, at, -1, 9, 60000, 0), "limit 1 says 255, not a verdict"},
		{said(1, at, 1, 11, 60000, 0), "limit 1 says 11, not a remainder"},
		{said(1, at, 1, -1, 60000, 0), "limit 1 says 72057594037927935, not a remainder"},
		{said(1, at, 1, 9, -1, 0), "limit 1 says 72057594037927935, not a reset"},
		{said(1, at, 1, 9, 1<<54+1, 0), "limit 1 says 18014398509481985, not a reset"},
		{said(1, at, 1, 9, 60000, 5), "limit 1 says 5, not a wait in ms that fits"},
		{said(0, at, 0, 0, 900, 0), "limit 1 says 0, not a wait in ms that fits"},
		{said(0, at, 0, 0, 900, -2), "limit 1 says -2, not a wait"},
		{said(0, at, 0, 0, 900, 1<<54+1), "limit 1 says 18014398509481985, not a wait"},
		{said(1, at, 0, 0, 900, 200), "reply says 1, not what the verdicts say"},
		{said(0, at, 1, 9, 60000, 0), "reply says 0, not what the verdicts say"},
	} {
		var d Decision
		err := ReadDecision(tt.reply, []Charge{one(l)}, &d)
		var odd *ReplyError
		if !errors.As(err, &odd) || !strings.HasPrefix(err.Error(), tt.want) || d.Allowed {
			t.Errorf("%+v: allowed %v, %v; want %q", tt.reply, d.Allowed, err, tt.want)
		}
	}
	var d Decision
	both := said(1, at, 0, 0, 900, 200, 1, 9, 60000, 0)
	if err := ReadDecision(both, []Charge{one(l), one(shadow)}, &d); err == nil || d.Allowed {
		t.Errorf("allowed though the enforced one refuses: %+v, %v", d, err)
	}
	if err := ReadDecision(both, []Charge{one(shadow), one(l)}, &d); err != nil || !d.Allowed {
		t.Errorf("allowed though the shadow refuses: %+v, %v", d, err)
	}
	if err := ReadDecision(said(1, at, 1, 9, 60000, 0, 1, 9, 60000, 1), []Charge{one(l), one(l)}, &d); err == nil || !strings.HasPrefix(err.Error(), "limit 2 ") {
		t.Errorf("%v, want the limit's place", err)
	}
	if err := ReadDecision(said(0, at, 0, 0, 900, 200), []Charge{one(l)}, &d); err != nil || d.Allowed {
		t.Errorf("refused: %+v, %v", d, err)
	}
}

func FuzzReadDecision(f *testing.F) {
	f.Add(said(1, 1729728000123, 1, 9, 60000, 0, 0, 0, 900, 200).Text)
	f.Add(said(0, 0, 2, 0, 0, -1, 3, 5, 1<<54, 0).Text)
	f.Add([]byte{})
	charges := []Charge{one(&Limit{Limit: 10, Window: time.Minute}), one(&Limit{Limit: 5, Window: time.Hour, Shadow: true})}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decision
		if ReadDecision(resp.Value{Kind: resp.BulkString, Text: b}, charges, &d) != nil {
			if d.Allowed {
				t.Fatalf("%q: an error, and allowed", b)
			}
			return
		}
		if d.Allowed != d.Verdicts[0].Pass {
			t.Fatalf("%q: allowed %v, the enforced limit says %v", b, d.Allowed, d.Verdicts[0].Pass)
		}
		for i, v := range d.Verdicts {
			if v.Remaining < 0 || v.Remaining > charges[i].Limit.Limit || v.Reset < 0 || v.Pass != (v.Wait == 0) {
				t.Fatalf("%q: %+v", b, v)
			}
		}
		if again := d.AppendReply(nil); d.Verdicts[0].Reset < 1<<52 && d.Verdicts[1].Reset < 1<<52 && d.Verdicts[0].Wait < 1<<52 && d.Verdicts[1].Wait < 1<<52 && string(again) != "$52\r\n"+string(b)+"\r\n" {
			t.Fatalf("%q became %q", b, again)
		}
	})
}

func TestG22_OddRepliesToARefundAreErrors(t *testing.T) {
	if err := ReadRefund(resp.Value{Kind: resp.Integer, Int: 2}); err != nil {
		t.Error(err)
	}
	for _, v := range []resp.Value{
		{}, ints(), ints(1), {Kind: resp.Integer, Int: -1}, {Kind: resp.BulkString, Null: true}, {Kind: resp.BulkString, Text: []byte("1")},
		{Kind: resp.SimpleString, Text: []byte("OK")}, {Kind: resp.Error, Text: []byte("OOM")},
	} {
		var odd *ReplyError
		if err := ReadRefund(v); !errors.As(err, &odd) {
			t.Errorf("%+v: %v, want a ReplyError", v, err)
		}
	}
}

// Waits below a second are not lost, and refused is a flag of its own.
func TestG22_WaitsBelowASecondArrive(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range []*Limit{
			{Algorithm: FixedWindow, Limit: 1, Window: time.Second},
			{Algorithm: SlidingLog, Limit: 1, Window: time.Second},
			{Algorithm: TokenBucket, Limit: 1, Window: time.Second},
		} {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, base, one(l))
			for _, wait := range []int64{900, 200, 1} {
				got := d.decide(key, base+1000-wait, one(l))
				if got.Allowed || got.Verdicts[0].Pass || got.Verdicts[0].Wait != ms(wait) {
					t.Errorf("%v: %+v, want a refusal and a wait of %d ms", l.Algorithm, got, wait)
				}
			}
		}
	})
}

func TestReadDecisionAllocatesNothingInSteadyState(t *testing.T) {
	l := &Limit{Limit: 10, Window: time.Minute}
	charges, reply := []Charge{one(l), one(l)}, said(1, 1, 1, 9, 60000, 0, 1, 9, 60000, 0)
	d := Decision{Verdicts: make([]Verdict, 0, 2)}
	if n := testing.AllocsPerRun(100, func() {
		if err := ReadDecision(reply, charges, &d); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestDecisionWaitIsTheLongestOfThoseThatRefuse(t *testing.T) {
	l, shadow := &Limit{Limit: 10, Window: time.Minute}, &Limit{Limit: 10, Window: time.Minute, Shadow: true}
	charges := []Charge{one(l), one(l), one(shadow)}
	for _, tt := range []struct {
		verdicts []Verdict
		want     time.Duration
	}{
		{[]Verdict{{Pass: true}, {Pass: true}, {Wait: time.Hour}}, 0},
		{[]Verdict{{Wait: ms(5)}, {Wait: ms(7)}, {Wait: time.Hour}}, ms(7)},
		{[]Verdict{{Wait: ms(7)}, {Pass: true, Reset: time.Hour}, {Pass: true}}, ms(7)},
		{[]Verdict{{Wait: Never}, {Wait: ms(7)}, {Pass: true}}, Never},
		{[]Verdict{{Wait: ms(7)}, {Wait: Never}, {Pass: true}}, Never},
		{[]Verdict{{Wait: ms(7)}, {Pass: true}, {Wait: Never}}, ms(7)},
	} {
		d := Decision{Verdicts: tt.verdicts}
		if got := d.Wait(charges); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.verdicts, got, tt.want)
		}
	}
}

func TestDecisionChargedNamesWhatWasCounted(t *testing.T) {
	l, shadow := &Limit{Limit: 10, Window: time.Minute}, &Limit{Limit: 10, Window: time.Minute, Shadow: true}
	charges := []Charge{one(l), one(shadow)}
	for _, tt := range []struct {
		d    Decision
		want []Charge
	}{
		{Decision{Allowed: true, Verdicts: []Verdict{{Pass: true}, {Pass: true}}}, charges},
		{Decision{Allowed: true, Verdicts: []Verdict{{Pass: true}, {}}}, charges[:1]},
		{Decision{Verdicts: []Verdict{{}, {Pass: true}}}, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.d.Charged(nil, charges), cmp.AllowUnexported(Charge{})); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.d, diff)
		}
	}
}
