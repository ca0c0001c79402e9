package stored

import (
	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/resp"
)

// Left asks Redis, by the script that decides and at a cost of 0, what is left of limits under a key. Where callers have
// limits of their own, it is what the default leaves.
func Left(key Key, limits []*policy.Limit, ask explain.Ask) ([]limit.Verdict, error) {
	if len(limits) == 0 {
		return nil, nil
	}
	var charges []limit.Charge
	for _, l := range limits {
		charges = append(charges, limit.Charge{Limit: &l.Limit})
	}
	return left(charges, key.Text, 0, ask)
}

func left(charges []limit.Charge, key string, nowMS int64, ask explain.Ask) ([]limit.Verdict, error) {
	command := limit.AppendDecide(nil, []byte(key), nowMS, charges)
	reply, err := ask(command)
	if err == nil && reply.Kind == resp.Error && resp.ClassifyError(reply.Text) == resp.NoScript {
		reply, err = ask(limit.AppendEval(nil, command))
	}
	if err != nil {
		return nil, err
	}
	var decision limit.Decision
	err = limit.ReadDecision(reply, charges, &decision)
	return decision.Verdicts, err
}
