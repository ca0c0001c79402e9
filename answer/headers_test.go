package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const sec = time.Second

// login and perIP are the two limits of the vectors.
func login(remaining int64, reset time.Duration) Quota {
	return Quota{Name: "POST:/login", Limit: 10, Window: 300 * sec, Remaining: remaining, Reset: reset}
}

func perIP(remaining int64, reset time.Duration) Quota {
	return Quota{Name: "per-ip", Limit: 1000, Window: 3600 * sec, Remaining: remaining, Reset: reset}
}

func refused(q Quota, wait time.Duration) Quota {
	q.Refused, q.Wait = true, wait
	return q
}

// vectors are the states that the dialects are compared on, numbered as in the
// notes on the drafts. (10 and 11 need a partition key and limits without a
// window, which this product has not.)
var vectors = []struct {
	name                         string
	quotas                       []Quota
	limit, remaining, reset      string // x-ratelimit
	limit03, policy, pair, after string
}{
	{"1 allowed", []Quota{login(7, 120*sec)},
		"10", "7", "120", "10, 10;w=300", `"POST:/login";q=10;w=300`, `"POST:/login";r=7;t=120`, ""},
	{"2 first request", []Quota{login(9, 300*sec)},
		"10", "9", "300", "10, 10;w=300", `"POST:/login";q=10;w=300`, `"POST:/login";r=9;t=300`, ""},
	{"3 refused", []Quota{refused(login(0, 120*sec), 120*sec)},
		"10", "0", "120", "10, 10;w=300", `"POST:/login";q=10;w=300`, `"POST:/login";r=0;t=120`, "120"},
	{"4 refused, over the limit", []Quota{refused(login(-3, 200*time.Millisecond), 200*time.Millisecond)},
		"10", "0", "1", "10, 10;w=300", `"POST:/login";q=10;w=300`, `"POST:/login";r=0;t=1`, "1"},
	{"5 two limits, allowed", []Quota{login(7, 120*sec), perIP(412, 1380*sec)},
		"10", "7", "120", "10, 10;w=300, 1000;w=3600", `"POST:/login";q=10;w=300, "per-ip";q=1000;w=3600`,
		`"POST:/login";r=7;t=120, "per-ip";r=412;t=1380`, ""},
	{"6 two limits, one refuses", []Quota{login(7, 120*sec), refused(perIP(0, 1380*sec), 1380*sec)},
		"1000", "0", "1380", "1000, 10;w=300, 1000;w=3600", `"POST:/login";q=10;w=300, "per-ip";q=1000;w=3600`,
		`"POST:/login";r=7;t=120, "per-ip";r=0;t=1380`, "1380"},
	{"7 two limits, both refuse", []Quota{refused(login(0, 120*sec), 120*sec), refused(perIP(0, 1380*sec), 1380*sec)},
		"1000", "0", "1380", "1000, 10;w=300, 1000;w=3600", `"POST:/login";q=10;w=300, "per-ip";q=1000;w=3600`,
		`"POST:/login";r=0;t=120, "per-ip";r=0;t=1380`, "1380"},
	{"8 quotes in the name", []Quota{{Name: `GET:/q/"x"\y`, Limit: 5, Window: sec, Remaining: 4, Reset: sec}},
		"5", "4", "1", "5, 5;w=1", `"GET:/q/\"x\"\\y";q=5;w=1`, `"GET:/q/\"x\"\\y";r=4;t=1`, ""},
	{"9 letters beyond ASCII", []Quota{refused(Quota{Name: "GET:/café", Limit: 5, Window: 60 * sec, Reset: 7010 * time.Millisecond}, 7010*time.Millisecond)},
		"5", "0", "8", "5, 5;w=60", `"GET:/caf%C3%A9";q=5;w=60`, `"GET:/caf%C3%A9";r=0;t=8`, "8"},
	{"12 cost of 3", []Quota{login(4, 120*sec)},
		"10", "4", "120", "10, 10;w=300", `"POST:/login";q=10;w=300`, `"POST:/login";r=4;t=120`, ""},
}

func TestG29_DialectsMatchTheVectors(t *testing.T) {
	for _, v := range vectors {
		for dialect, want := range map[Dialect][][2]string{
			XRateLimit: {{"x-ratelimit-limit", v.limit}, {"x-ratelimit-remaining", v.remaining}, {"x-ratelimit-reset", v.reset}},
			Draft03:    {{"ratelimit-limit", v.limit03}, {"ratelimit-remaining", v.remaining}, {"ratelimit-reset", v.reset}},
			Draft08:    {{"ratelimit", v.pair}, {"ratelimit-policy", v.policy}},
			Draft12:    {{"ratelimit", strings.NewReplacer(";r=", ";a=", ";t=", ";w=").Replace(v.pair)}, {"ratelimit-policy", v.policy}},
			None:       nil,
		} {
			t.Run(v.name+"/"+dialect.String(), func(t *testing.T) {
				s := Style{Dialect: dialect}
				if diff := cmp.Diff(want, s.AppendQuotaHeaders(nil, v.quotas, 0)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestOtherDialects(t *testing.T) {
	first := []Quota{login(7, 120*sec)}
	sameLimit := []Quota{
		{Name: "a", Limit: 10, Window: 60 * sec, Remaining: 9, Reset: sec},
		{Name: "b", Limit: 20, Window: 60 * sec, Remaining: 19, Reset: sec},
		{Name: "c", Limit: 10, Window: 300 * sec, Remaining: 3, Reset: 2 * sec},
		{Name: "d", Limit: 20, Window: 600 * sec, Remaining: 18, Reset: sec},
	}
	for _, tt := range []struct {
		name    string
		dialect Dialect
		quotas  []Quota
		want    [][2]string
	}{
		{"epoch", XRateLimitEpoch, first,
			[][2]string{{"x-ratelimit-limit", "10"}, {"x-ratelimit-remaining", "7"}, {"x-ratelimit-reset", "1796104920"}}},
		{"draft-06", Draft06, first,
			[][2]string{{"ratelimit-limit", "10"}, {"ratelimit-remaining", "7"}, {"ratelimit-reset", "120"}, {"ratelimit-policy", "10;w=300"}}},
		{"draft-07", Draft07, first,
			[][2]string{{"ratelimit", "limit=10, remaining=7, reset=120"}, {"ratelimit-policy", "10;w=300"}}},
		{"draft-06, one policy a limit", Draft06, sameLimit,
			[][2]string{{"ratelimit-limit", "10"}, {"ratelimit-remaining", "3"}, {"ratelimit-reset", "2"}, {"ratelimit-policy", "10;w=300, 20;w=60"}}},
		{"draft-07, one policy a limit", Draft07, sameLimit,
			[][2]string{{"ratelimit", "limit=10, remaining=3, reset=2"}, {"ratelimit-policy", "10;w=300, 20;w=60"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Style{Dialect: tt.dialect}
			if diff := cmp.Diff(tt.want, s.AppendQuotaHeaders(nil, tt.quotas, 1796104800)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A limit of 0 never resets: nobody is told when to come back, but where the
// draft requires a reset (-03 to -07), and there not before a window has passed.
func TestALimitOfZeroPromisesNoReset(t *testing.T) {
	quotas := []Quota{refused(Quota{Name: "shut", Window: 60 * sec}, -1)}
	for dialect, want := range map[Dialect][][2]string{
		XRateLimit:      {{"x-ratelimit-limit", "0"}, {"x-ratelimit-remaining", "0"}},
		XRateLimitEpoch: {{"x-ratelimit-limit", "0"}, {"x-ratelimit-remaining", "0"}},
		Draft03:         {{"ratelimit-limit", "0, 0;w=60"}, {"ratelimit-remaining", "0"}, {"ratelimit-reset", "60"}},
		Draft06:         {{"ratelimit-limit", "0"}, {"ratelimit-remaining", "0"}, {"ratelimit-reset", "60"}, {"ratelimit-policy", "0;w=60"}},
		Draft07:         {{"ratelimit", "limit=0, remaining=0, reset=60"}, {"ratelimit-policy", "0;w=60"}},
		Draft08:         {{"ratelimit", `"shut";r=0`}, {"ratelimit-policy", `"shut";q=0;w=60`}},
		Draft12:         {{"ratelimit", `"shut";a=0`}, {"ratelimit-policy", `"shut";q=0;w=60`}},
	} {
		if diff := cmp.Diff(want, (&Style{Dialect: dialect}).AppendQuotaHeaders(nil, quotas, 1796104800)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dialect, diff)
		}
	}
	tooDear := []Quota{refused(login(3, 120*sec), -1)} // its count does reset, though this request never passes
	if reset, _ := value((&Style{}).AppendQuotaHeaders(nil, tooDear, 0), "x-ratelimit-reset"); reset != "120" {
		t.Errorf("a cost above the limit: x-ratelimit-reset is %q", reset)
	}
}

// Vector 13: where the counters are not known nothing is claimed.
func TestUnknownCountersGiveNoHeaders(t *testing.T) {
	before := [][2]string{{"x", "y"}}
	for d := range dialects {
		s := Style{Dialect: Dialect(d)}
		if got := s.AppendQuotaHeaders(before, nil, 1); len(got) != 1 {
			t.Errorf("%v: got %v", Dialect(d), got)
		}
	}
}

func TestTheLimitWithLeastLeftSpeaks(t *testing.T) {
	never := refused(login(0, 0), -1)
	costly := refused(Quota{Name: "costly", Limit: 4, Window: 60 * sec, Remaining: 2, Reset: sec}, 9*sec)
	for name, tt := range map[string]struct {
		quotas             []Quota
		limit, left, reset string
	}{
		"least left":               {[]Quota{perIP(3, 5*sec), login(2, sec)}, "10", "2", "1"},
		"tie: longest reset":       {[]Quota{login(2, sec), perIP(2, 5*sec)}, "1000", "2", "5"},
		"tie in both: the first":   {[]Quota{login(2, sec), perIP(2, sec)}, "10", "2", "1"},
		"the one that refused":     {[]Quota{login(1, sec), costly}, "4", "2", "9"},
		"never: at least a second": {[]Quota{never}, "10", "0", "1"},
	} {
		want := [][2]string{{"x-ratelimit-limit", tt.limit}, {"x-ratelimit-remaining", tt.left}, {"x-ratelimit-reset", tt.reset}}
		if diff := cmp.Diff(want, new(Style).AppendQuotaHeaders(nil, tt.quotas, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func drawQuota(t *rapid.T) Quota {
	large := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(-5, 1<<53), rapid.Just(int64(1)<<62))
	wait := rapid.Int64Range(-1, int64(400*24*time.Hour))
	return Quota{
		Name:      string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "name")),
		Limit:     max(1, large.Draw(t, "limit")), // 0 has no reset, and a test of its own
		Window:    time.Duration(rapid.Int64Range(1, 31_536_000).Draw(t, "window")) * sec,
		Remaining: large.Draw(t, "remaining"),
		Reset:     time.Duration(wait.Draw(t, "reset")),
		Refused:   rapid.Bool().Draw(t, "refused"),
		Wait:      time.Duration(wait.Draw(t, "wait")),
	}
}

// Whatever the limits, the fields are what the drafts' grammars ask for, read
// by a parser of structured fields that is not ours.
func TestG29_FieldsParseAsStructuredFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quotas := rapid.SliceOfN(rapid.Custom(drawQuota), 1, 4).Draw(t, "quotas")
		for _, d := range []Dialect{Draft03, Draft06, Draft07, Draft08, Draft12} {
			s := Style{Dialect: d}
			for _, h := range s.AppendQuotaHeaders(nil, quotas, 0) {
				if err := checkField(d, h[0], h[1], len(quotas)); err != nil {
					t.Fatalf("%v: %s: %q: %v", d, h[0], h[1], err)
				}
			}
		}
	})
}

// checkField reads one field by the grammar of its dialect.
func checkField(d Dialect, name, value string, quotas int) error {
	switch {
	case name == "ratelimit" && d == Draft07:
		dictionary, err := httpsfv.UnmarshalDictionary([]string{value})
		if err != nil {
			return err
		}
		return same([]string{"limit", "remaining", "reset"}, dictionary.Names())
	case name == "ratelimit-remaining", name == "ratelimit-reset", name == "ratelimit-limit" && d == Draft06:
		item, err := httpsfv.UnmarshalItem([]string{value})
		if err != nil {
			return err
		}
		if n, ok := item.Value.(int64); !ok || n < 0 {
			return fmt.Errorf("%v is no count", item.Value)
		}
		return nil
	}
	list, err := httpsfv.UnmarshalList([]string{value})
	if err != nil {
		return err
	}
	keys := map[string][]string{
		"ratelimit":        {"r", "t"},
		"ratelimit-policy": {"q", "w"},
		"ratelimit-limit":  {"w"},
	}[name]
	switch {
	case d == Draft12 && name == "ratelimit":
		keys = []string{"a", "w"}
	case d == Draft06, d == Draft07:
		keys = []string{"w"}
	case d == Draft03:
		list = list[1:] // the limit that speaks, without a window
	}
	if d != Draft06 && d != Draft07 && len(list) != quotas {
		return fmt.Errorf("%d members for %d limits", len(list), quotas)
	}
	for _, member := range list {
		item := member.(httpsfv.Item)
		if err := same(keys, item.Params.Names()); err != nil {
			return err
		}
		for _, key := range keys {
			v, _ := item.Params.Get(key)
			if n, ok := v.(int64); !ok || n < 0 {
				return fmt.Errorf("%s=%v is no count", key, v)
			}
		}
		if w, ok := item.Params.Get("w"); ok && d != Draft12 && w.(int64) < 1 {
			return fmt.Errorf("a window of %v s", w)
		}
	}
	return nil
}

func same(want, got []string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got): %s", diff)
	}
	return nil
}

// The names lead back to the configured ones where those are plain text.
func TestNamesAreReadAsTheyWereWritten(t *testing.T) {
	for _, name := range []string{`a`, `per minute`, `"`, `\`, `\"\\`, `a,b;c=d`, `GET:/users/{id}`, ``} {
		s := Style{Dialect: Draft08}
		h := s.AppendQuotaHeaders(nil, []Quota{{Name: name, Limit: 1, Window: sec}}, 0)
		list, err := httpsfv.UnmarshalList([]string{h[0][1]})
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if got := list[0].(httpsfv.Item).Value; got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
}

func TestQuotaHeadersTakeOneAllocation(t *testing.T) {
	quotas := []Quota{login(7, 120*sec), perIP(412, 1380*sec)}
	dst := make([][2]string, 0, 8)
	for d := range dialects {
		s := Style{Dialect: Dialect(d)}
		if got := testing.AllocsPerRun(50, func() { s.AppendQuotaHeaders(dst, quotas, 1796104800) }); got > 1 {
			t.Errorf("%v: %v allocations", Dialect(d), got)
		}
	}
}
