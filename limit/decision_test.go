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

// ints is a reply of integers.
func ints(n ...int64) resp.Value {
	v := resp.Value{Kind: resp.Array}
	for _, i := range n {
		v.Elems = append(v.Elems, resp.Value{Kind: resp.Integer, Int: i})
	}
	return v
}

// with puts another element in place of the i-th.
func with(v resp.Value, i int, e resp.Value) resp.Value {
	v.Elems = append([]resp.Value(nil), v.Elems...)
	v.Elems[i] = e
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
		{"passes", ints(1, 1729728000123, 1, 9, 60000, 0), []Charge{one(l)},
			Decision{true, 1729728000123, []Verdict{{Pass: true, Remaining: 9, Reset: time.Minute}}}},
		{"refused", ints(0, 1729728000123, 0, 0, 900, 200), []Charge{one(l)},
			Decision{false, 1729728000123, []Verdict{{Reset: ms(900), Wait: ms(200)}}}},
		{"never", ints(0, 0, 0, 10, 0, -1), []Charge{cost(l, 11)},
			Decision{false, 0, []Verdict{{Remaining: 10, Wait: Never}}}},
		{"begun anew", ints(1, 1, 3, 9, 1, 0), []Charge{one(l)},
			Decision{true, 1, []Verdict{{Pass: true, Restarted: true, Remaining: 9, Reset: ms(1)}}}},
		{"a shadow refuses nobody", ints(1, 1, 1, 9, 1, 0, 0, 0, 5, 5), []Charge{one(l), one(shadow)},
			Decision{true, 1, []Verdict{{Pass: true, Remaining: 9, Reset: ms(1)}, {Reset: ms(5), Wait: ms(5)}}}},
		{"longer than a duration can say", ints(0, 1, 0, 0, 1<<53, 1<<53), []Charge{one(l)},
			Decision{false, 1, []Verdict{{Reset: ms(math.MaxInt64 / 1_000_000), Wait: ms(math.MaxInt64 / 1_000_000)}}}},
		{"no limits", ints(1, 1), nil, Decision{Allowed: true, AtMS: 1, Verdicts: []Verdict{}}},
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
	passes, refused := ints(1, 1729728000123, 1, 9, 60000, 0), ints(0, 1729728000123, 0, 0, 900, 200)
	null := resp.Value{Kind: resp.BulkString, Null: true}
	text := resp.Value{Kind: resp.BulkString, Text: []byte("1")}
	for _, tt := range []struct {
		reply resp.Value
		want  string
	}{
		{resp.Value{}, "reply is of no kind, not an array"},
		{ints(), "reply has 0 elements, not 6"},
		{ints(1), "reply has 1 elements, not 6"},
		{ints(1, 1729728000123, 1, 9, 60000), "reply has 5 elements, not 6"},
		{ints(1, 1729728000123, 1, 9, 60000, 0, 0), "reply has 7 elements, not 6"},
		{resp.Value{Kind: resp.Array, Null: true}, "reply is null, not an array"},
		{null, "reply is null, not an array"},
		{text, "reply is a bulk string, not an array"},
		{resp.Value{Kind: resp.Integer, Int: 1}, "reply is an integer, not an array"},
		{resp.Value{Kind: resp.SimpleString, Text: []byte("OK")}, "reply is a simple string, not an array"},
		{resp.Value{Kind: resp.Error, Text: []byte("LOADING x")}, `reply is the error "LOADING x"`},
		{with(passes, 0, null), "element 1 is null, not an integer"},
		{with(passes, 2, text), "element 3 is a bulk string, not an integer"},
		{with(passes, 5, ints()), "element 6 is an array, not an integer"},
		{with(passes, 3, resp.Value{Kind: resp.Error, Text: []byte("ERR")}), `element 4 is the error "ERR"`},
		{ints(2, 1, 1, 9, 60000, 0), "element 1 is 2, not 0 or 1"},
		{ints(-1, 1, 1, 9, 60000, 0), "element 1 is -1, not 0 or 1"},
		{ints(1, -1, 1, 9, 60000, 0), "element 2 is -1, not a time"},
		{ints(1, 1<<53, 1, 9, 60000, 0), "element 2 is 9007199254740992, not a time"},
		{ints(1, 1, 4, 9, 60000, 0), "element 3 is 4, not a verdict"},
		{ints(1, 1, -1, 9, 60000, 0), "element 3 is -1, not a verdict"},
		{ints(1, 1, 1, -1, 60000, 0), "element 4 is -1, not a remainder"},
		{ints(1, 1, 1, 11, 60000, 0), "element 4 is 11, not a remainder"},
		{ints(1, 1, 1, 9, -1, 0), "element 5 is -1, not a reset"},
		{ints(1, 1, 1, 9, math.MinInt64, 0), "element 5 is -9223372036854775808, not a reset"},
		{ints(1, 1, 1, 9, 60000, 5), "element 6 is 5, not a wait in ms that fits"},
		{ints(0, 1, 0, 0, 900, 0), "element 6 is 0, not a wait in ms that fits"},
		{ints(0, 1, 0, 0, 900, -2), "element 6 is -2, not a wait"},
		{ints(0, 1, 0, 0, 900, math.MaxInt64), "element 6 is 9223372036854775807, not a wait"},
		{ints(1, 1, 0, 0, 900, 200), "element 1 is 1, not what the verdicts say"},
		{ints(0, 1, 1, 9, 60000, 0), "element 1 is 0, not what the verdicts say"},
	} {
		var d Decision
		err := ReadDecision(tt.reply, []Charge{one(l)}, &d)
		var odd *ReplyError
		if !errors.As(err, &odd) || !strings.HasPrefix(err.Error(), tt.want) || d.Allowed {
			t.Errorf("%+v: allowed %v, %v; want %q", tt.reply, d.Allowed, err, tt.want)
		}
	}
	var d Decision
	both := ints(1, 1, 0, 0, 900, 200, 1, 9, 60000, 0)
	if err := ReadDecision(both, []Charge{one(l), one(shadow)}, &d); err == nil || d.Allowed {
		t.Errorf("allowed though the enforced one refuses: %+v, %v", d, err)
	}
	if err := ReadDecision(both, []Charge{one(shadow), one(l)}, &d); err != nil || !d.Allowed {
		t.Errorf("allowed though the shadow refuses: %+v, %v", d, err)
	}
	if err := ReadDecision(refused, []Charge{one(l)}, &d); err != nil || d.Allowed {
		t.Errorf("refused: %+v, %v", d, err)
	}
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
	charges, reply := []Charge{one(l), one(l)}, ints(1, 1, 1, 9, 60000, 0, 1, 9, 60000, 0)
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
