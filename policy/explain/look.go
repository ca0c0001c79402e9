package explain

import (
	"fmt"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/resp"
)

// Ask sends one command to Redis and returns its reply.
type Ask func(command []byte) (resp.Value, error)

// Look asks Redis what is left of every limit, at a cost of 0, which charges
// nothing, and settles the outcome.
func (report *Report) Look(ask Ask) error {
	if report.Outcome != Asks {
		return nil
	}
	outcome, why := Passes, "every limit has enough left"
	for i := range report.Keys {
		key := &report.Keys[i]
		decision, err := look(key.group, ask)
		if err != nil {
			return fmt.Errorf("key %s: %w", key.Key, err)
		}
		for j, verdict := range decision.Verdicts {
			passes := verdict.Remaining >= limit.Price(key.group.Charges, j)
			key.Left = append(key.Left, Left{verdict.Remaining, verdict.Reset.Milliseconds(), passes})
			if !passes && key.group.Charges[j].Limit.Refuses() && outcome == Passes {
				outcome, why = Refused, fmt.Sprintf("limit %q has %d left", key.Limits[j], verdict.Remaining)
			}
		}
	}
	report.Outcome, report.Why = outcome, why
	return nil
}

// look asks about one key.
func look(g *policy.Group, ask Ask) (*limit.Decision, error) {
	var charges []limit.Charge
	for _, c := range g.Charges {
		charges = append(charges, limit.Charge{Limit: c.Limit})
	}
	command := limit.AppendDecide(nil, g.Key, 0, charges)
	reply, err := ask(command)
	if err == nil && reply.Kind == resp.Error && resp.ClassifyError(reply.Text) == resp.NoScript {
		reply, err = ask(limit.AppendEval(nil, command))
	}
	if err != nil {
		return nil, err
	}
	decision := new(limit.Decision)
	return decision, limit.ReadDecision(reply, charges, decision)
}
