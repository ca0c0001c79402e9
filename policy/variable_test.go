package policy

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routelimit/limit"
	"routelimit/policy/identity"
)

const varied = `{"identities": {"user_id": {"from": "header:x-user"}}, "default": {"identity": "user_id|ip", "window": "1m", %s}}`

// chargeOf is what a request is charged under the only limit of a policy.
func chargeOf(t testing.TB, fields string, attrs *fakeRequest) (limit.Charge, identity.Noted, *Plan) {
	t.Helper()
	p := mustParse(t, fmt.Sprintf(varied, fields))
	req, plan := requestOf(attrs, nil, ""), new(Plan)
	p.Default.Plan(req, plan)
	if len(plan.Groups) != 1 || len(plan.Groups[0].Charges) != 1 {
		t.Fatalf("%v, want one limit", plan.shape())
	}
	return plan.Groups[0].Charges[0], req.Noted, plan
}

func TestPlanGivesTheCallersOwnLimit(t *testing.T) {
	const plans = `"limit": {"by": "%s", "values": {"gold": 3000, "free": 300, "2": 20, "Größe": 7}, "default": 60}`
	property := func(value string) *fakeRequest {
		f := from("203.0.113.7")
		f.properties["metadata\x00filter_metadata\x00auth\x00plan"] = value
		return f
	}
	number := binary.LittleEndian.AppendUint64(nil, math.Float64bits(2))
	const header, metadata = "header:x-plan", "metadata:auth/plan"
	for name, c := range map[string]struct {
		by    string
		attrs *fakeRequest
		want  int64
		noted identity.Noted
	}{
		"gold":                  {header, from("203.0.113.7", "x-plan", "gold"), 3000, 0},
		"with blanks":           {header, from("203.0.113.7", "x-plan", " free\t"), 300, 0},
		"another letter case":   {header, from("203.0.113.7", "x-plan", "Gold"), 60, identity.PlanUnknown},
		"not listed":            {header, from("203.0.113.7", "x-plan", "platinum"), 60, identity.PlanUnknown},
		"not ASCII":             {header, from("203.0.113.7", "x-plan", "Größe"), 7, 0},
		"bytes that are no UTF": {header, from("203.0.113.7", "x-plan", "gold\xff"), 60, identity.PlanUnknown},
		"missing":               {header, from("203.0.113.7"), 60, 0},
		"empty":                 {header, from("203.0.113.7", "x-plan", ""), 60, 0},
		"twice":                 {header, from("203.0.113.7", "x-plan", "gold", "x-plan", "gold"), 60, identity.Ambiguous},
		"a claim":               {metadata, property("gold"), 3000, 0},
		"a claim that counts":   {metadata, property(string(number)), 20, 0},
		"a claim that is true":  {metadata, property("\x01"), 60, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.attrs.headers["x-user"] = []string{"u1"}
			got, noted, plan := chargeOf(t, fmt.Sprintf(plans, c.by), c.attrs)
			if got.Limit.Limit != c.want || got.Cost != 1 || !got.Limit.Refuses() || noted != c.noted {
				t.Errorf("limit %d, cost %d, noted %b; want %d, 1 and %b", got.Limit.Limit, got.Cost, noted, c.want, c.noted)
			}
			if got, want := string(plan.Groups[0].Key), "rl:{default|user_id:u1}"; got != want {
				t.Errorf("key %s, want %s, whatever the plan", got, want)
			}
		})
	}
}

func TestPlansOfABucketHoldTheirOwnTokensUnlessABurstIsWritten(t *testing.T) {
	const plans = `"algorithm": "token_bucket", "limit": {"by": "header:x-plan", "values": {"gold": 3000}, "default": 60}`
	for fields, want := range map[string][2]int64{plans: {3000, 60}, plans + `, "burst": 20`: {20, 20}} {
		gold, _, _ := chargeOf(t, fields, from("203.0.113.7", "x-plan", "gold"))
		other, _, _ := chargeOf(t, fields, from("203.0.113.7"))
		if got := [2]int64{gold.Limit.Capacity(), other.Limit.Capacity()}; got != want {
			t.Errorf("%s: capacities %v, want %v", fields, got, want)
		}
		if !gold.Limit.SharesState(other.Limit) {
			t.Errorf("%s: the state depends on the plan", fields)
		}
	}
}

func TestCostIsWhatTheHeaderSays(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  int64 // 0: cannot be read, so 1 counts
	}{
		{[]string{"7"}, 7}, {[]string{" 7\t"}, 7}, {[]string{"1"}, 1}, {[]string{"007"}, 7}, {[]string{"1000001"}, 1_000_001},
		{[]string{"9007199254740991"}, mostLimit}, {[]string{"9007199254740992"}, mostLimit},
		{[]string{"99999999999999999999999999999999999999"}, mostLimit},
		{nil, 0}, {[]string{""}, 0}, {[]string{"0"}, 0}, {[]string{"000"}, 0}, {[]string{"-1"}, 0}, {[]string{"+1"}, 0}, {[]string{"1.5"}, 0},
		{[]string{"1e3"}, 0}, {[]string{"0x10"}, 0}, {[]string{"1 2"}, 0}, {[]string{"1,2"}, 0}, {[]string{"seven"}, 0}, {[]string{"٧"}, 0},
		{[]string{"7", "7"}, 0}, {[]string{"7\x00"}, 0},
	} {
		attrs := from("203.0.113.7")
		attrs.headers["x-cost"] = c.lines
		got, noted, _ := chargeOf(t, `"limit": 10, "cost": "header:X-Cost"`, attrs)
		if got.Cost != max(1, c.want) || noted.Has(identity.CostUnread) != (c.want == 0) {
			t.Errorf("%q: cost %d, noted %b; want %d", c.lines, got.Cost, noted, c.want)
		}
	}
}

func TestAPlanOfZeroBlocksItsCallersAlone(t *testing.T) {
	const plans = `"limit": {"by": "header:x-plan", "values": {"trial": 0, "gold": 5}, "default": 3}`
	for name, c := range map[string]struct {
		fields, plan string
		blocked      bool
	}{
		"the plan":         {plans, "trial", true},
		"another":          {plans, "gold", false},
		"the default":      {plans, "", false},
		"a default of 0":   {`"limit": {"by": "header:x-plan", "values": {"gold": 5}, "default": 0}`, "", true},
		"shadow":           {plans + `, "shadow": true`, "trial", false},
		"enforced for all": {plans + `, "enforce_percent": 100`, "trial", true},
		"for nobody":       {plans + `, "enforce_percent": 0`, "trial", false},
		"0 for nobody":     {`"limit": 0, "enforce_percent": 0`, "", false},
	} {
		p := mustParse(t, fmt.Sprintf(varied, c.fields))
		if p.Default.Blocked != nil {
			t.Errorf("%s: blocked for everybody", name)
		}
		_, _, plan := chargeOf(t, c.fields, from("203.0.113.7", "x-plan", c.plan))
		if got := plan.Blocked != nil; got != c.blocked {
			t.Errorf("%s: blocked %v", name, got)
		}
		if plan.Blocked != nil && string(plan.Groups[plan.BlockedIn].Identity()) != "ip:203.0.113.7" {
			t.Errorf("%s: blocked in the wrong group", name)
		}
	}
	plan := new(Plan)
	p := mustParse(t, fmt.Sprintf(varied, plans))
	for i, want := range []bool{true, false, true} {
		p.Default.Plan(requestOf(from("203.0.113.7", "x-plan", []string{"trial", "gold"}[i%2]), nil, ""), plan)
		if got := plan.Blocked != nil; got != want {
			t.Errorf("request %d with one Plan: blocked %v", i, got)
		}
	}
}

// A higher percentage adds callers and takes none away, and the numbers come out.
func TestEnforcePercentIsStableAndOnlyEverAddsCallers(t *testing.T) {
	var policies [101]*Policy
	for percent := range policies {
		policies[percent] = mustParse(t, fmt.Sprintf(varied, fmt.Sprintf(`"limit": 10, "enforce_percent": %d`, percent)))
	}
	enforced := func(percent int, user string) bool {
		plan := new(Plan)
		policies[percent].Default.Plan(requestOf(from("203.0.113.7", "x-user", user), nil, ""), plan)
		return plan.Groups[0].Charges[0].Limit.Refuses()
	}
	rapid.Check(t, func(t *rapid.T) {
		user := rapid.StringMatching(`[a-zA-Z0-9@.-]{1,40}`).Draw(t, "user")
		less, more := rapid.IntRange(0, 100).Draw(t, "less"), rapid.IntRange(0, 100).Draw(t, "more")
		less, more = min(less, more), max(less, more)
		if enforced(less, user) && !enforced(more, user) {
			t.Fatalf("%q is enforced at %d%% and not at %d%%", user, less, more)
		}
		if enforced(0, user) || !enforced(100, user) {
			t.Fatalf("%q is enforced at 0%%, or not at 100%%", user)
		}
		if enforced(more, user) != enforced(more, user) {
			t.Fatalf("%q is once in and once out", user)
		}
	})
	const users = 20_000
	for _, percent := range []int{1, 10, 50, 90} {
		n := 0
		for i := range users {
			if enforced(percent, fmt.Sprintf("user-%d", i)) {
				n++
			}
		}
		if share := 100 * float64(n) / users; math.Abs(share-float64(percent)) > 1.2 {
			t.Errorf("%d%%: %.1f%% of the users", percent, share)
		}
	}
}

// Who is enforced must not change with a release, nor between hosts.
func TestCohortsNeverChange(t *testing.T) {
	want := map[string]uint64{"ip:203.0.113.7": 12, "ip:203.0.113.8": 77, "user_id:alice": 76, "all": 49, "": 45}
	got := map[string]uint64{}
	for caller := range want {
		got[caller] = cohort([]byte(caller))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever a policy does not use, its charges are those prepared.
func TestALimitThatVariesInNothingIsPrepared(t *testing.T) {
	for fields, want := range map[string]bool{
		`"limit": 10`: false, `"limit": 10, "cost": 5`: false, `"limit": 10, "enforce_percent": 100`: false,
		`"limit": 10, "enforce_percent": 5, "shadow": true`: false, `"limit": 10, "enforce_percent": 99`: true,
		`"limit": 10, "cost": "header:x"`: true, `"limit": {"by": "header:x", "values": {"a": 1}, "default": 1}`: true,
	} {
		if got := mustParse(t, fmt.Sprintf(varied, fields)).Default.Limits[0].Varies(); got != want {
			t.Errorf("%s: varies %v", fields, got)
		}
	}
}

func TestPlansAndCostsFromHeadersDoNotAllocate(t *testing.T) {
	p := mustParse(t, fmt.Sprintf(varied, `"limit": {"by": "header:x-plan", "values": {"gold": 3000}, "default": 60}, "cost": "header:x-cost", "enforce_percent": 50`))
	attrs := &preallocated{fakeRequest: from("", "x-user", "u1", "x-plan", "gold", "x-cost", "7")}
	var plan Plan
	var req identity.Request
	allocations := testing.AllocsPerRun(100, func() {
		req = identity.Request{Attrs: attrs}
		p.Default.Plan(&req, &plan)
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
	if got := plan.Groups[0].Charges[0]; got.Limit.Limit != 3000 || got.Cost != 7 {
		t.Errorf("charged %+v", got)
	}
}
