package policy

import (
	"slices"
	"strings"

	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

const (
	mostPlans = 100
	mostPlan  = 128 // bytes of a plan's name
)

var planFields = []strictjson.Field[limitDraft]{
	{
		Name: "by", Read: (*limitDraft).readPlanSource,
		Missing: `write what tells a caller's plan, such as "by": "metadata:envoy.filters.http.jwt_authn/payload/plan"`,
		Doc: prose("what tells a caller's plan: a source as in `from` of an identity, but no `body:`. " +
			"Take one that callers cannot write themselves"),
		Example: prose(`"metadata:envoy.filters.http.jwt_authn/payload/plan"`),
	},
	{
		Name: "values", Read: (*limitDraft).readPlanValues,
		Missing: `write the plans and their limits, such as "values": {"gold": 3000}`,
		Doc:     prose("the limit of each plan by its exact name; 0 refuses every request of its callers"),
		Example: prose(`{"gold": 3000, "free": 300}`),
	},
	{
		Name:    "default",
		Read:    func(d *limitDraft, n *strictjson.Node) { d.limit.Limit.Limit = d.readQuotaValue(n) },
		Missing: `write the limit of callers whose plan is missing or not listed, such as "default": 300`,
		Doc:     prose("the limit of callers whose plan is missing or not listed"),
		Example: prose(`300`),
	},
}

// planSources are the kinds of sources that a plan may come from.
func planSources() []string {
	return slices.DeleteFunc(identity.SourceKinds(), func(kind string) bool { return kind == "body" })
}

func (d *limitDraft) readPlans(n *strictjson.Node) {
	d.limit.Plans = new(Plans)
	strictjson.ReadObject(n, d, planFields)
}

func (d *limitDraft) readPlanSource(n *strictjson.Node) {
	stateSource(n, planSources)
	text, ok := n.Text()
	if !ok {
		return
	}
	source, err := identity.ParseSource(text)
	switch {
	case err != nil:
		n.Fail("%v", err)
	case source.Kind() == "body":
		n.Fail(`%s is in the body, which is the caller's own and would have to be waited for; take the plan from elsewhere, such as "metadata:…" of jwt_authn`, n.Show())
	}
	d.limit.Plans.By = source
}

func (d *limitDraft) readPlanValues(n *strictjson.Node) {
	n.State(func(f *strictjson.Facts) {
		f.Names = prose(`^\S([^\r\n]*\S)?$`)
		f.LeastItems, f.MostItems = 1, mostPlans
	})
	members := n.Members(`{"gold": 3000, "free": 300}`)
	switch {
	case n.Kind() == strictjson.Object && len(members) == 0:
		n.Fail(`no plan is listed; write one, such as {"gold": 3000}, or a number as the limit`)
	case len(members) > mostPlans:
		n.Fail("there are %d plans; write at most %d", len(members), mostPlans)
		return
	}
	for _, member := range members {
		name := member.Name()
		if len(name) > mostPlan || name != strings.TrimSpace(name) || strings.ContainsAny(name, "\r\n") || name == "" {
			member.FailName("%q is no plan; write 1 to %d bytes, in one line and no blank at either end", name, mostPlan)
		}
		d.limit.Plans.Values = append(d.limit.Plans.Values, PlanValue{name, d.readQuotaValue(member)})
	}
}
