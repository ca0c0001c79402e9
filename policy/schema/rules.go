package schema

import (
	"routelimit/limit"
	"routelimit/policy/strictjson"
)

// What concerns several fields is checked by hand in package policy, and
// written by hand here. Each rule is held against the bad policies there.

// limitRules hold for the fields of a limit, wherever they stand.
func limitRules() object {
	isAlgorithm := func(a limit.Algorithm) object {
		return object{
			{"required", []string{"algorithm"}},
			{"properties", object{{"algorithm", object{{"const", a.String()}}}}},
		}
	}
	most := object{{"maximum", limit.MaxLogLimit}}
	plans := object{{"default", most}, {"values", object{{"additionalProperties", most}}}}
	logLimit := object{{"properties", object{{"limit", append(most, member{"properties", plans})}}}}
	return object{
		{"dependencies", object{{"burst", isAlgorithm(limit.TokenBucket)}}},
		{"if", isAlgorithm(limit.SlidingLog)},
		{"then", logLimit},
	}
}

// routeRules: the fields of one limit, or a list of limits.
func routeRules(one *strictjson.Shape) object {
	var none object
	var required []string
	for _, field := range one.Fields {
		if len(field.Kinds) > 0 {
			none = append(none, member{field.Name, false})
		}
		if field.Required {
			required = append(required, field.Name)
		}
	}
	form := object{
		{"if", object{{"required", []string{"limits"}}}},
		{"then", object{{"properties", none}}},
		{"else", object{{"required", required}}},
	}
	return object{{"allOf", []object{form, limitRules()}}}
}

// responseRules: a body of one's own and the format "custom" need each other.
func responseRules() object {
	custom := object{{"properties", object{{"format", object{{"const", "custom"}}}}}}
	return object{
		{"dependencies", object{{"body", custom}, {"content_type", []string{"body"}}}},
		{"if", append(object{{"required", []string{"format"}}}, custom...)},
		{"then", object{{"required", []string{"body"}}}},
	}
}

// redisRules: a user needs a password.
func redisRules() object {
	return object{{"dependencies", object{{"username_env", []string{"password_env"}}}}}
}

// rootRules: beside routes a default, or the refusal of what they do not cover.
func rootRules() object {
	refuse := object{
		{"required", []string{"undeclared"}},
		{"properties", object{{"undeclared", object{{"const", "refuse"}}}}},
	}
	return object{
		{"if", object{{"required", []string{"routes"}}}},
		{"then", object{{"anyOf", []object{{{"required", []string{"default"}}}, refuse}}}},
	}
}
