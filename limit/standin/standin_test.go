package standin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routelimit/limit"
	"routelimit/resp"
)

const start = 1_729_771_200_000

// words cuts a command as a Redis does.
func words(t rapid.TB, command []byte) [][]byte {
	var d resp.Decoder
	d.Write(command)
	v, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	for _, e := range v.Elems {
		list = append(list, append([]byte(nil), e.Text...))
	}
	return list
}

func reply(t rapid.TB, b []byte) resp.Value {
	var d resp.Decoder
	d.Write(b)
	v, err := d.Next()
	if err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}

func charges(t *rapid.T) []limit.Charge {
	drawn := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) limit.Charge {
		l := &limit.Limit{
			Algorithm: limit.Algorithm(rapid.IntRange(0, 3).Draw(t, "algorithm")),
			Limit:     rapid.Int64Range(0, 6).Draw(t, "limit"),
			Window:    time.Duration(rapid.IntRange(1, 3).Draw(t, "window")) * time.Second,
		}
		if l.Algorithm == limit.TokenBucket {
			l.Burst = rapid.Int64Range(0, 8).Draw(t, "burst")
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			l.Shadow = true
		case 1:
			l.Unenforced = true
		}
		return limit.Charge{Limit: l, Cost: rapid.Int64Range(0, 3).Draw(t, "cost")}
	}), 1, 4).Draw(t, "charges")
	return drawn
}

// What a command says is what its limits would: the stand-in's replies are the model's decisions.
func TestTheStandInDecidesAsTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var model limit.Model
		var redis Redis
		set, now := charges(t), int64(start)
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			now += rapid.Int64Range(0, 1500).Draw(t, "ms")
			most := rapid.Int64Range(0, 4).Draw(t, "most")
			if most > 0 {
				want, taken := model.Lease("k", now, most, set)
				var got limit.Decision
				read, err := limit.ReadLease(reply(t, redis.Do(words(t, limit.AppendLease(nil, []byte("k"), 0, most, set)), now)), set, most, &got)
				if diff := cmp.Diff(want, got); err != nil || diff != "" || read != taken {
					t.Fatalf("%d taken, want %d, %v (-model +stand-in)\n%s", read, taken, err, diff)
				}
				continue
			}
			want := model.Decide("k", now, set)
			command := limit.AppendDecide(nil, []byte("k"), 0, set)
			if rapid.Bool().Draw(t, "eval") {
				command = limit.AppendEval(nil, command)
			}
			var got limit.Decision
			if err := limit.ReadDecision(reply(t, redis.Do(words(t, command), now)), set, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("-model +stand-in\n%s", diff)
			}
			if charged := want.Charged(nil, set); len(charged) > 0 && rapid.Bool().Draw(t, "refund") {
				model.Refund("k", want.AtMS, now, charged)
				back := redis.Do(words(t, limit.AppendRefund(nil, []byte("k"), want.AtMS, 0, charged)), now)
				if err := limit.ReadRefund(reply(t, back)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestATimeInTheCommandGoesBeforeTheClock(t *testing.T) {
	set := []limit.Charge{{Limit: &limit.Limit{Algorithm: limit.FixedWindow, Limit: 1, Window: time.Minute}, Cost: 1}}
	var redis Redis
	var got limit.Decision
	if err := limit.ReadDecision(reply(t, redis.Do(words(t, limit.AppendDecide(nil, []byte("k"), start+5, set)), start)), set, &got); err != nil || got.AtMS != start+5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Anything else gets an error reply, however it is cut.
func FuzzCommands(f *testing.F) {
	set := []limit.Charge{{Limit: &limit.Limit{Limit: 3, Window: time.Minute}, Cost: 1}}
	decide, refund := limit.AppendDecide(nil, []byte("k"), 0, set), limit.AppendRefund(nil, []byte("k"), start, 0, set)
	lease := limit.AppendLease(nil, []byte("k"), 0, 1<<56-1, set)
	for _, seed := range []string{string(decide), string(refund), string(lease), "*1\r\n$4\r\nPING\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d resp.Decoder
		d.Write(raw)
		v, err := d.Next()
		if err != nil || v.Kind != resp.Array {
			return
		}
		var list [][]byte
		for _, e := range v.Elems {
			list = append(list, append([]byte(nil), e.Text...))
		}
		var redis Redis
		if b := redis.Do(list, start); len(b) == 0 {
			t.Error("no reply")
		}
	})
}

func TestWhatIsNoScriptCallGetsAnErrorReply(t *testing.T) {
	set := []limit.Charge{{Limit: &limit.Limit{Limit: 3, Window: time.Minute}, Cost: 1}}
	well := words(t, limit.AppendDecide(nil, []byte("k"), 0, set))
	for name, change := range map[string]func(c [][]byte) [][]byte{
		"another command": func([][]byte) [][]byte { return [][]byte{[]byte("PING")} },
		"another script":  func(c [][]byte) [][]byte { c[1] = []byte("0123"); return c },
		"two keys":        func(c [][]byte) [][]byte { c[2] = []byte("2"); return c },
		"short numbers":   func(c [][]byte) [][]byte { c[4] = c[4][:20]; return c },
		"long numbers":    func(c [][]byte) [][]byte { c[4] = append(c[4], 0); return c },
		"a lease of none": func(c [][]byte) [][]byte { c[4] = append(c[4], make([]byte, 7)...); return c },
		"another field":   func(c [][]byte) [][]byte { c[5] = []byte("w61"); return c },
		"no field's name": func(c [][]byte) [][]byte { c[5] = nil; return c },
	} {
		c := change(append([][]byte(nil), well...))
		var redis Redis
		if got := reply(t, redis.Do(c, start)); got.Kind != resp.Error {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
