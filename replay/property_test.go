package replay

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/identity"
)

// byPlan gives a limit to each plan of its own.
var byPlan = strings.NewReplacer(`"limit": `, `"limit": {"by": "header:user", "values": {"a": 4, "b": 0}, "default": `, `, "window"`, `}, "window"`)

// table is a request as identities ask for it, made by hand.
type table struct {
	headers map[string]string
	source  string
}

func (r table) Header(name string, line int) (string, bool) {
	value, ok := r.headers[name]
	return value, ok && line == 0
}

func (r table) Property(path string) ([]byte, bool) { return []byte(r.source), path == sourceAddress }

// Playing a log gives the verdicts that the same requests get from the policy and the
// model directly, with nothing forgotten and nothing but what the filter does.
func TestVerdictsAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom(limit.AlgorithmNames())
		number := rapid.Int64Range(1, 4)
		window := rapid.SampledFrom([]string{"1s", "2s", "5s", "1m"})
		one := func(label, id, more string) string {
			return fmt.Sprintf(`{"name": %q, "identity": %q, "limit": %d, "window": %q, "algorithm": %q %s}`,
				label, id, number.Draw(t, label), window.Draw(t, label+" window"), algorithm.Draw(t, label+" algorithm"), more)
		}
		p := parse(t, `{"identities": {"user": {"from": "header:user"}}, "routes": {"* /a": {"limits": [`+
			one("both", "ip+user", "")+","+one("user", "user", `, "count": [401]`)+","+one("address", "ip", `, "enforce_percent": 50`)+","+
			one("second", "ip", `, "cost": "header:cost"`)+","+one("shadow", "ip", `, "shadow": true`)+"]}},"+`"default": `+byPlan.Replace(one("rest", "user|ip", `, "cost": 2`))+"}")

		player := New(p, Settings{Uses: rapid.Bool().Draw(t, "uses")})
		player.callers.sweepEach = rapid.SampledFrom([]int{1, 3, leastSweep}).Draw(t, "sweep")
		var model limit.Model
		layout := full("header:user", "header:cost")
		var now int64
		for range rapid.IntRange(1, 80).Draw(t, "requests") {
			now += rapid.SampledFrom([]int64{0, 1, 100, 900, 1000, 4999, 120_000}).Draw(t, "later")
			user := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "user")
			cost := rapid.SampledFrom([]string{"", "1", "2", "x"}).Draw(t, "cost")
			e := entry(layout, now, "GET", rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "path"), user, cost)
			e.Client = rapid.SampledFrom([]string{"203.0.113.7:1", "203.0.113.8:1"}).Draw(t, "client")
			e.Status = rapid.SampledFrom([]int{200, 401}).Draw(t, "status")

			attrs := table{map[string]string{}, e.Client}
			for name, value := range map[string]string{"user": user, "cost": cost} {
				if value != "" {
					attrs.headers[name] = value
				}
			}
			want := direct(p, &model, attrs, e.Path, e.TimeMS, e.Status)
			if got := player.Play(e); (got.Outcome == Passed) != want || !want && got.Outcome != Refused {
				t.Fatalf("at %d ms: %v, want %v", now, got.Outcome, want)
			}
		}
	})
}

// direct decides one request: all keys are asked, a refusal gives back the rest, and
// so does a status that does not count.
func direct(p *policy.Policy, model *limit.Model, attrs table, path string, ms int64, status int) bool {
	var matched policy.Matched
	var plan policy.Plan
	p.Match("GET", "h", path, &matched).Plan(&identity.Request{Attrs: attrs, Params: matched.Params}, &plan)
	if plan.Blocked != nil {
		return false
	}
	allowed := true
	var decisions []limit.Decision
	for _, g := range plan.Groups {
		d := model.Decide(string(g.Key), ms, g.Charges)
		decisions = append(decisions, d)
		allowed = allowed && d.Allowed
	}
	for i, g := range plan.Groups {
		d := &decisions[i]
		charged := d.Charged(nil, g.Charges)
		if allowed {
			charged = nil
			for j, l := range g.Limits {
				if d.Verdicts[j].Pass && !l.Counts(status) && !keptBy(&g, j, status) {
					charged = append(charged, limit.Charge{Limit: g.Charges[j].Limit, Cost: limit.Price(g.Charges, j)})
				}
			}
		}
		if len(charged) > 0 {
			model.Refund(string(g.Key), d.AtMS, ms, charged)
		}
	}
	return allowed
}

// keptBy says whether a limit that counts the status shares its count with limit j.
func keptBy(g *policy.Group, j, status int) bool {
	for _, other := range g.Limits {
		if other.Counts(status) && other.SharesState(&g.Limits[j].Limit) {
			return true
		}
	}
	return false
}

// The peak of Use is by definition the smallest limit that never refuses: played under
// it, nothing is refused, and under one less something is. Of a bucket it is the burst.
func TestPeakUseIsTheSmallestLimitThatNeverRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom(limit.AlgorithmNames()).Draw(t, "algorithm")
		cost := rapid.Int64Range(1, 3).Draw(t, "cost")
		policyOf := func(number int64) *policy.Policy {
			numbers := fmt.Sprintf(`"limit": %d`, number)
			if algorithm == "token_bucket" {
				numbers = fmt.Sprintf(`"limit": 3, "burst": %d`, number)
			}
			return parse(t, fmt.Sprintf(`{"default": {"identity": "ip", %s, "window": "10s", "algorithm": %q, "cost": %d, "count": [200]}}`, numbers, algorithm, cost))
		}
		var at []int64
		var statuses []int
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			later := rapid.SampledFrom([]int64{0, 1, 100, 3000, 9999, 10_000, 25_000}).Draw(t, "later")
			if len(at) > 0 {
				later += at[len(at)-1]
			}
			at = append(at, later)
			statuses = append(statuses, rapid.SampledFrom([]int{200, 404}).Draw(t, "status"))
		}
		play := func(number int64) (refused int, peak int64) {
			player := New(policyOf(number), Settings{Uses: true})
			for i := range at {
				e := entry(full(), at[i], "GET", "/")
				e.Status = statuses[i]
				played := player.Play(e)
				if played.Outcome == Refused {
					refused++
				}
				peak = max(peak, played.Groups[0].Limits[0].Use)
			}
			return refused, peak
		}
		_, peak := play(rapid.Int64Range(cost, 9).Draw(t, "played under"))
		if refused, again := play(peak); refused != 0 || again != peak {
			t.Fatalf("under %d, %d were refused, and the peak is %d", peak, refused, again)
		}
		if peak == 1 {
			return
		}
		if refused, _ := play(peak - 1); refused == 0 {
			t.Fatalf("under %d nobody was refused either", peak-1)
		}
	})
}

func TestMoreThanCanBeCountedIsOneMore(t *testing.T) {
	p := parse(t, `{"default": {"identity": "ip", "limit": 5, "window": "1m", "algorithm": "sliding_log"}}`)
	player := New(p, Settings{Uses: true})
	var peak int64
	for i := range 1500 {
		peak = player.Play(entry(full(), int64(i), "GET", "/")).Groups[0].Limits[0].Use
	}
	if peak != limit.MaxLogLimit+1 {
		t.Errorf("got %d", peak)
	}
}

func TestIdentitiesThatHaveGoneTakeNoMemory(t *testing.T) {
	p := parse(t, `{"identities": {"user": {"from": "header:user"}}, "default": {"identity": "user", "limit": 5, "window": "1s"}}`)
	player := New(p, Settings{Uses: true})
	layout := full("header:user")
	for i := range 200_000 {
		player.Play(entry(layout, int64(i), "GET", "/", fmt.Sprint(i)))
	}
	if len(player.callers.known) > 20_000 {
		t.Errorf("%d keys are kept", len(player.callers.known))
	}
	if player.callers.sweep(midnight + 200_000); len(player.callers.known) > 4000 {
		t.Errorf("%d keys live", len(player.callers.known))
	}
}
