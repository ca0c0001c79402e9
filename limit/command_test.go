package limit

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

func TestScriptsHaveTheirSHA(t *testing.T) {
	for _, s := range Scripts() {
		sum := sha1.Sum([]byte(s.Text))
		if got := hex.EncodeToString(sum[:]); got != s.SHA {
			t.Errorf("a script's text has the SHA-1 %s, and script.go says %s", got, s.SHA)
		}
	}
}

// words are a command's elements.
func words(t *testing.T, command []byte) []string {
	t.Helper()
	var d resp.Decoder
	d.Write(command)
	v, err := d.Next()
	if err != nil || d.Buffered() != 0 {
		t.Fatalf("%q: %v, %d bytes left", command, err, d.Buffered())
	}
	var out []string
	for _, e := range v.Elems {
		if e.Kind != resp.BulkString {
			t.Fatalf("%q: an element is %v", command, e.Kind)
		}
		out = append(out, string(e.Text))
	}
	return out
}

func TestCommandsNameOneKeyAndEachLimitInOrder(t *testing.T) {
	sliding := &Limit{Limit: 10, Window: 5 * time.Minute}
	fixed := &Limit{Algorithm: FixedWindow, Limit: 20, Window: 5 * time.Minute}
	log := &Limit{Algorithm: SlidingLog, Limit: 7, Window: time.Second, Shadow: true}
	bucket := &Limit{Algorithm: TokenBucket, Limit: 5, Window: time.Minute, Burst: 50}
	plain := &Limit{Algorithm: TokenBucket, Limit: 6, Window: time.Hour}
	tried := &Limit{Limit: 9, Window: 2 * time.Second, Unenforced: true}
	charges := []Charge{cost(sliding, 1), cost(log, 2), cost(bucket, 3), cost(fixed, 4), cost(plain, 5), cost(tried, 6)}
	key := []byte("rl:{POST:/login|ip:203.0.113.7}")

	got := words(t, AppendDecide(nil, key, 1729728000000, charges))
	got[4] = fmt.Sprintf("% x", got[4])
	want := []string{"EVALSHA", decideSHA, "1", "rl:{POST:/login|ip:203.0.113.7}", "00 01 92 bb d2 b0 00" + // now
		// kind, capacity, limit, window, cost
		" 01 00 00 00 00 00 00 0a 00 00 00 00 00 00 0a 00 00 04 93 e0 00 00 00 00 00 00 04" +
		" 07 00 00 00 00 00 00 07 00 00 00 00 00 00 07 00 00 00 03 e8 00 00 00 00 00 00 02" +
		" 04 00 00 00 00 00 00 32 00 00 00 00 00 00 05 00 00 00 ea 60 00 00 00 00 00 00 03" +
		" 02 00 00 00 00 00 00 14 00 00 00 00 00 00 14 00 00 04 93 e0 00 00 00 00 00 00 04" +
		" 04 00 00 00 00 00 00 06 00 00 00 00 00 00 06 00 00 36 ee 80 00 00 00 00 00 00 05" +
		" 05 00 00 00 00 00 00 09 00 00 00 00 00 00 09 00 00 00 07 d0 00 00 00 00 00 00 06",
		"w300", "~l1", "b60", "w300", "b3600", "w2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decide (-want +got):\n%s", diff)
	}

	got = words(t, AppendLease(nil, key, 1729728000000, 258, charges))
	want[4] += " 00 00 00 00 00 01 02" // most
	got[4] = fmt.Sprintf("% x", got[4])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}

	got = words(t, AppendRefund(nil, key, 1729728000123, 0, charges))
	got[4] = fmt.Sprintf("% x", got[4])
	want = []string{"EVALSHA", refundSHA, "1", "rl:{POST:/login|ip:203.0.113.7}", "00 00 00 00 00 00 00 00 01 92 bb d2 b0 7b" + // now, at
		// limit, window, cost
		" 00 00 00 00 00 00 0a 00 00 04 93 e0 00 00 00 00 00 00 04" +
		" 00 00 00 00 00 00 07 00 00 00 03 e8 00 00 00 00 00 00 02" +
		" 00 00 00 00 00 00 05 00 00 00 ea 60 00 00 00 00 00 00 03" +
		" 00 00 00 00 00 00 06 00 00 36 ee 80 00 00 00 00 00 00 05" +
		" 00 00 00 00 00 00 09 00 00 00 07 d0 00 00 00 00 00 00 06",
		"w300", "~l1", "b60", "b3600", "w2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refund (-want +got):\n%s", diff)
	}
}

// A host with a clock of its own puts its time where the command leaves it to Redis, and nowhere else.
func TestSetTimeGivesTheTimeThatWasLeftToRedis(t *testing.T) {
	key, charges := []byte("k"), []Charge{one(&Limit{Limit: 10, Window: time.Minute})}
	for name, call := range map[string]func(nowMS int64) []byte{
		"decide": func(nowMS int64) []byte { return AppendDecide(nil, key, nowMS, charges) },
		"lease":  func(nowMS int64) []byte { return AppendLease(nil, key, nowMS, 9, charges) },
		"refund": func(nowMS int64) []byte { return AppendRefund(nil, key, base, nowMS, charges) },
	} {
		for _, given := range []int64{0, 5} {
			got, want := words(t, call(given)), words(t, call(max(given, base*(1-min(given, 1)))))
			numbers := []byte(got[4])
			SetTime(numbers, base)
			if string(numbers) != want[4] {
				t.Errorf("%s with the time %d: %x, want %x", name, given, numbers, want[4])
			}
		}
	}
	SetTime([]byte("short"), base)
}

func TestCommandsAllocateNothingInABigEnoughBuffer(t *testing.T) {
	var charges []Charge
	for _, l := range each(10, time.Minute) {
		charges = append(charges, one(l))
	}
	key, buf := []byte("rl:{default|ip:192.0.2.1}"), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		buf = AppendDecide(buf[:0], key, 0, charges)
		buf = AppendLease(buf, key, 0, 20, charges)
		buf = AppendRefund(buf, key, 1729728000123, 0, charges)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// After SCRIPT FLUSH a server answers NOSCRIPT and the same call as EVAL does the same.
func TestEvalDoesWhatEvalshaDoes(t *testing.T) {
	l := Limit{Limit: 10, Window: time.Minute}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key, charges := []byte(keyOf(t)), []Charge{cost(&l, 3)}
		decide, refund := AppendDecide(nil, key, base, charges), AppendRefund(nil, key, base, base, charges)
		for _, command := range [][]byte{decide, refund} {
			r.do("SCRIPT", "FLUSH")
			r.send(command)
			if v := r.reply(); v.Kind != resp.Error || resp.ClassifyError(v.Text) != resp.NoScript {
				t.Fatalf("after SCRIPT FLUSH: %v %q", v.Kind, v.Text)
			}
		}
		var d Decision
		r.send(AppendEval(nil, decide))
		if err := ReadDecision(r.reply(), charges, &d); err != nil || d.Verdicts[0].Remaining != 7 {
			t.Errorf("decide: %+v, %v, want 7 left", d, err)
		}
		r.send(AppendEval(nil, refund))
		if err := ReadRefund(r.reply()); err != nil {
			t.Errorf("refund: %v", err)
		}
		if got := remaining(r, string(key), base, &l); got != 10 {
			t.Errorf("%d left, want 10", got)
		}
	})
}

func TestEvalLeavesOtherCommandsAsTheyAre(t *testing.T) {
	head := "*4\r\n$7\r\nEVALSHA\r\n$40\r\n"
	for _, command := range []string{
		"", "PING\r\n", "*1\r\n$4\r\nPING\r\n", head, head + decideSHA[:39], head + strings.Repeat("0", 40) + "\r\n",
		"*2\r\n$4\r\nECHO\r\n$70\r\n" + head + decideSHA + "\r\n",
	} {
		if got := string(AppendEval([]byte("before "), []byte(command))); got != "before "+command {
			t.Errorf("%q became %q", command, got)
		}
	}
}

// calls is how often a command ran since CONFIG RESETSTAT, also inside scripts.
func calls(t testing.TB, r *redisDecider, command string) (n int) {
	t.Helper()
	info, err := r.client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(info, "cmdstat_"+command+":calls=")
	if found {
		fmt.Sscan(strings.ReplaceAll(after, ",", " "), &n)
	}
	return n
}

// A decision costs four commands: the time, the read, the write, and a look at the expiry, which is set only where it
// must grow.
func TestDecisionRunsFourCommands(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		const year = 364 * 24 * time.Hour
		var charges []Charge
		for _, l := range []*Limit{{Limit: 100, Window: year}, {Limit: 100, Window: year / 2}, {Limit: 100, Window: year / 4}} {
			charges = append(charges, one(l))
		}
		r.decide(key, 0, charges...)
		r.do("CONFIG", "RESETSTAT")
		passed(r, key, 0, 10, charges...)
		got := map[string]int{}
		for _, c := range []string{"evalsha", "time", "hmget", "hset", "pttl", "pexpire", "del"} {
			got[c] = calls(t, r, c)
		}
		want := map[string]int{"evalsha": 10, "time": 10, "hmget": 10, "hset": 10, "pttl": 10, "pexpire": 0, "del": 0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestPreparedChargesGiveTheSameCommand(t *testing.T) {
	minute, alike, hour := &Limit{Limit: 10, Window: time.Minute}, &Limit{Limit: 3, Window: time.Minute, Algorithm: FixedWindow}, &Limit{Limit: 5, Window: time.Hour, Algorithm: TokenBucket, Burst: 7}
	for name, limits := range map[string][]*Limit{"alone": {minute}, "apart": {minute, hour}, "sharing": {minute, hour, alike}} {
		var plain, prepared []Charge
		for i, l := range limits {
			plain = append(plain, Charge{Limit: l, Cost: int64(i + 1)})
			prepared = append(prepared, NewCharge(l, int64(i+1)))
		}
		if got, want := string(AppendDecide(nil, []byte("k"), 0, prepared)), string(AppendDecide(nil, []byte("k"), 0, plain)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
