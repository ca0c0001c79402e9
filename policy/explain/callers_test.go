package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

const varied = `{"identities": {"user": {"from": "header:x-user"}}, "default": {"limits": [
	{"name": "plan", "identity": "user", "window": "1m", "cost": "header:x-cost",
		"limit": {"by": "header:x-plan", "values": {"gold": 3000, "trial": 0}, "default": 300}},
	{"name": "tried", "identity": "ip", "window": "1h", "limit": 50, "enforce_percent": 50}]}}`

// from is the same request from another address.
func (r Request) from(address string) Request {
	r.Attributes.(table).properties["source\x00address"] = address + ":40000"
	return r
}

func TestLimitsAreThoseOfTheCaller(t *testing.T) {
	type own struct {
		Terms, PlanBy, Plan string
		Cost                int64
		CostFrom            string
		Enforced            bool
	}
	const by, header = "header:x-plan", "header:x-cost"
	for name, c := range map[string]struct {
		request Request
		want    [2]own
	}{
		"a plan": {request("GET", "/", "x-user", "u", "x-plan", "gold", "x-cost", "60").from("203.0.113.7"), [2]own{
			{"3000 in 1m by sliding_window", by, "gold", 60, header, true}, {"50 in 1h by sliding_window", "", "", 1, "", true}}},
		"none": {request("GET", "/", "x-user", "u").from("203.0.113.8"), [2]own{
			{"300 in 1m by sliding_window", by, "", 1, header, true}, {"50 in 1h by sliding_window", "", "", 1, "", false}}},
		"one that is not listed": {request("GET", "/", "x-user", "u", "x-plan", "s3cr3t", "x-cost", "x").from("203.0.113.8"), [2]own{
			{"300 in 1m by sliding_window", by, "", 1, header, true}, {"50 in 1h by sliding_window", "", "", 1, "", false}}},
	} {
		report := Explain(mustParse(t, varied), c.request)
		var got [2]own
		for i, l := range report.Limits {
			got[i] = own{l.Terms, l.PlanBy, l.Plan, l.Cost, l.CostFrom, l.Enforced}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || report.Outcome != Asks {
			t.Errorf("%s: %s\n%s", name, report.Outcome, diff)
		}
	}
}

func TestAPlanOfZeroIsKnownWithoutRedis(t *testing.T) {
	report := Explain(mustParse(t, varied), request("GET", "/", "x-user", "u", "x-plan", "trial"))
	if report.Outcome != Refused || report.Why != `limit "plan" is 0 for this caller` || len(report.Limits) != 2 {
		t.Errorf("%s: %s, %+v", report.Outcome, report.Why, report.Limits)
	}
}

// Redis is asked by the caller's own numbers, and only enforced limits refuse.
func TestLookGoesByTheCallersOwnNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		left    [2]int64
		outcome Outcome
		why     string
	}{
		"spared":             {request("GET", "/", "x-user", "u", "x-plan", "gold", "x-cost", "60").from("203.0.113.8"), [2]int64{2999, 0}, Passes, "every limit has enough left"},
		"enforced":           {request("GET", "/", "x-user", "u", "x-plan", "gold", "x-cost", "60").from("203.0.113.7"), [2]int64{2999, 0}, Refused, `limit "tried" has 0 left`},
		"a cost above it":    {request("GET", "/", "x-user", "u", "x-plan", "gold", "x-cost", "60").from("203.0.113.7"), [2]int64{59, 50}, Refused, `limit "plan" has 59 left`},
		"a cost that is not": {request("GET", "/", "x-user", "u", "x-plan", "gold", "x-cost", "x").from("203.0.113.7"), [2]int64{59, 50}, Passes, "every limit has enough left"},
	} {
		report := Explain(mustParse(t, varied), c.request)
		n := 0
		err := report.Look(func(command []byte) (resp.Value, error) {
			n++
			return decided(passes(c.left[n-1], 0)), nil
		})
		if err != nil || report.Outcome != c.outcome || report.Why != c.why {
			t.Errorf("%s: %v, %s: %s", name, err, report.Outcome, report.Why)
		}
	}
}
