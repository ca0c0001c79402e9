package limit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routelimit/resp"
)

func TestStateIsStoredAsDocumented(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		charges := []Charge{
			cost(&Limit{Algorithm: FixedWindow, Limit: 1e13, Window: 5 * time.Minute}, 1e13-1),
			cost(&Limit{Algorithm: SlidingLog, Limit: 5, Window: time.Minute}, 2),
			// The deficit has 16 digits.
			cost(&Limit{Algorithm: TokenBucket, Limit: 285616, Window: 365 * 24 * time.Hour}, 285615),
		}
		r.decide(key, at(time.Second), charges...)
		want := map[string]string{
			"w300":      "1729728000 9999999999999 0",
			"l60":       "\x01\x92\xbb\xd2\xb3\xe8\x01\x92\xbb\xd2\xb3\xe8",
			"b31536000": "1729728001000 9007154640000000",
		}
		if diff := cmp.Diff(want, r.stored(key)); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
		r.decide(key, at(5*time.Minute), one(charges[0].Limit))
		if got, want := r.stored(key)["w300"], "1729728300 1 9999999999999"; got != want {
			t.Errorf("in the next window %q, want %q", got, want)
		}
	})
}

// Whatever stands in a field, the reply is one that ReadDecision takes.
var unreadable = []struct{ field, text string }{
	{"w10", ""}, {"w10", "x"}, {"w10", "1 2"}, {"w10", "1729728000 3 0 "}, {"w10", "1729728000 3.5 0"},
	{"w10", "1729728000 -3 0"}, {"w10", "1729728001 3 0"}, {"w10", "1729728000 99999999999999999999 0"},
	{"w10", "1729728000 0 99999999999999999999"}, {"w10", strings.Repeat("9", 400) + " 1 1"}, {"w10", "1729728020 3 0"},
	{"w10", "1729728000\n3 0"}, {"w10", "nan nan nan"}, {"w10", "0x10 3 0"},
	{"l10", ""}, {"l10", "12345"}, {"l10", "zzzzzz"}, {"l10", strings.Repeat("\x00", 6006)},
	{"b10", ""}, {"b10", "5"}, {"b10", "1729728000000 -5"}, {"b10", "1729728000000 9007199254740993"},
	{"b10", "1729728000000 1e5"}, {"b10", "1729728010001 5"}, {"b10", strings.Repeat("9", 400) + " 5"},
	{"b10", "1729728000000 " + strings.Repeat("9", 400)},
}

func TestUnreadableStateIsBegunAnewAndSaysSo(t *testing.T) {
	limits := map[byte]*Limit{'w': each(3, 10*time.Second)[0], 'l': each(3, 10*time.Second)[2], 'b': each(3, 10*time.Second)[3]}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for i, tt := range unreadable {
			key := fmt.Sprint(keyOf(t), i)
			r.do("HSET", key, tt.field, tt.text)
			got := r.decide(key, base, one(limits[tt.field[0]]))
			if v := got.Verdicts[0]; !got.Allowed || !v.Restarted || v.Remaining != 2 {
				t.Errorf("%s %.40q: %+v, want a pass, a restart and 2 left", tt.field, tt.text, got)
			}
			if again := r.decide(key, base, one(limits[tt.field[0]])); again.Verdicts[0].Restarted {
				t.Errorf("%s %.40q: begun anew twice", tt.field, tt.text)
			}
		}
	})
}

// A log that is out of order is none of ours. It counts for what it is long, and tells no wait that is out of range.
func TestLogOutOfOrderTellsWaitsWithinItsWindow(t *testing.T) {
	l := each(3, 10*time.Second)[2]
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		for i, times := range [][]int64{{base, 5, 5, base}, {base, base + 3_600_000, base + 3_600_000, base}, {5, base, 5, base}} {
			key := fmt.Sprint(key, i)
			r.do("HSET", key, "l10", string(packed(times)))
			for n := int64(0); n <= 3; n++ {
				v := r.decide(key, base, cost(l, n)).Verdicts[0]
				if v.Reset < 0 || v.Reset > 20*time.Second || v.Wait < 0 || v.Wait > 20*time.Second {
					t.Errorf("%v, cost %d: %+v", times, n, v)
				}
			}
		}
	})
}

func TestAnyStateGetsAReplyThatCanBeRead(t *testing.T) {
	r := connect(t, 0)
	key := keyOf(t)
	number := rapid.OneOf(rapid.Int64Range(0, 1<<53), rapid.Int64Range(base/1000-40, base/1000+40), rapid.Int64Range(base-40000, base+40000), rapid.Int64())
	text := rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(0, 3), 6, 36), func(b []byte) string { return string(b[:len(b)/6*6]) }),
		rapid.Map(rapid.SliceOfN(number, 1, 4), func(n []int64) string { return strings.Trim(fmt.Sprint(n), "[]") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		r.do("DEL", key)
		r.do("HSET", key, "w10", text.Draw(t, "w10"), "l10", text.Draw(t, "l10"), "b10", text.Draw(t, "b10"))
		var charges []Charge
		for _, l := range each(rapid.Int64Range(0, 1000).Draw(t, "limit"), 10*time.Second) {
			charges = append(charges, cost(l, rapid.Int64Range(0, 1200).Draw(t, "cost")))
		}
		charges = append(charges, charges[:rapid.IntRange(0, 4).Draw(t, "again")]...)
		for range 3 {
			var d Decision
			r.send(AppendDecide(nil, []byte(key), base, charges))
			if err := ReadDecision(r.reply(), charges, &d); err != nil {
				t.Fatal(err)
			}
			r.send(AppendRefund(nil, []byte(key), base, base, charges))
			if err := ReadRefund(r.reply()); err != nil {
				t.Fatal(err)
			}
		}
	})
	r.do("DEL", key)
}

func TestErrorsOfRedisArePassedOnAndNotTakenForAForeignKey(t *testing.T) {
	l := Limit{Limit: 3, Window: 10 * time.Second}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		r.decide(key, base, one(&l))
		// All but reading: a failure to read must not be taken for a key to begin anew.
		r.do("ACL", "SETUSER", "narrow", "on", ">secret", "~*", "+evalsha", "+time", "+auth", "+hset", "+del", "+pttl", "+pexpire")
		r.send([]byte("AUTH narrow secret\r\n"))
		r.reply()
		for _, command := range [][]byte{
			AppendDecide(nil, []byte(key), base, []Charge{one(&l)}),
			AppendRefund(nil, []byte(key), base, base, []Charge{one(&l)}),
		} {
			r.send(command)
			v := r.reply()
			if v.Kind != resp.Error || resp.ClassifyError(v.Text) != resp.Auth {
				t.Errorf("got %v %q, want an error of kind auth", v.Kind, v.Text)
			}
		}
		if got := r.stored(key)["w10"]; got != "1729728000 1 0" {
			t.Errorf("the state became %q", got)
		}
	})
}
