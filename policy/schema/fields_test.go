package schema

import (
	"strings"

	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// level is one kind of object in a configuration.
type level struct {
	name string // in the reference
	*strictjson.Shape
	// context is a policy with such an object, %s where its fields go.
	context string
	// Fields that an object needs, and those that one of its fields needs.
	needs map[string]string
	// elsewhere are fields that another level has already.
	elsewhere *strictjson.Shape
}

func levels() []level {
	root := policy.Outline()
	route := root.Field("routes").Member
	limit := route.Field("limits").Element
	const identities = `"identities": {"user_id": {"from": "header:x-user"}}`
	return []level{
		{name: "top", Shape: root, context: `{%s}`, needs: map[string]string{"routes": `"default": null`}},
		{name: "client", Shape: root.Field("client"), context: `{"client": {%s}}`},
		{name: "identity", Shape: root.Field("identities").Member, context: `{"identities": {"x": {%s}}}`,
			needs: map[string]string{"": `"from": "header:x"`}},
		{name: "route", Shape: route, context: `{"default": null, "routes": {"POST /login": {%s}}}`, elsewhere: limit,
			needs: map[string]string{"": `"limits": []`}},
		{name: "limit", Shape: limit, context: `{` + identities + `, "default": null, "routes": {"POST /login": {"limits": [{%s}]}}}`,
			needs: map[string]string{"": `"identity": "ip", "limit": 100, "window": "1m"`, "burst": `"algorithm": "token_bucket"`}},
		{name: "plans", Shape: limit.Field("limit"), context: `{"default": {"identity": "ip", "window": "1m", "limit": {%s}}}`,
			needs: map[string]string{"": `"by": "header:x-plan", "values": {"gold":30}, "default": 3`}},
		{name: "default", Shape: root.Field("default"), context: `{"default": {%s}}`, elsewhere: route,
			needs: map[string]string{"": `"limits": []`}},
		{name: "response", Shape: root.Field("response"), context: `{"response": {%s}}`,
			needs: map[string]string{"content_type": `"body": "x"`}},
		{name: "redis", Shape: root.Field("redis"), context: `{"redis": {%s}}`,
			needs: map[string]string{"username_env": `"password_env": "REDIS_PASSWORD"`}},
		{name: "body", Shape: root.Field("body"), context: `{"body": {%s}}`},
		{name: "log", Shape: root.Field("log"), context: `{"log": {%s}}`},
		{name: "deny_cache", Shape: root.Field("deny_cache"), context: `{"deny_cache": {%s}}`},
		{name: "breaker", Shape: root.Field("breaker"), context: `{"breaker": {%s}}`},
		{name: "local", Shape: root.Field("local"), context: `{"local": {%s}}`},
	}
}

// documented is a field of a level.
type documented struct {
	strictjson.FieldShape
	level level
}

// fields are those of a level that no other has, without those that are known
// and refused.
func (l level) fields() []documented {
	var all []documented
	for _, f := range l.Fields {
		if len(f.Kinds) > 0 && (l.elsewhere == nil || l.elsewhere.Field(f.Name) == nil) {
			all = append(all, documented{f, l})
		}
	}
	return all
}

func everyField() []documented {
	var all []documented
	for _, l := range levels() {
		all = append(all, l.fields()...)
	}
	return all
}

func (f documented) place() string { return f.level.name + "." + f.Name }

// with is a policy in which the field has a value; "" leaves it out.
func (f documented) with(value string) string {
	var fields []string
	for _, needed := range []string{f.level.needs[""], f.level.needs[f.Name]} {
		for _, one := range strings.Split(needed, ", ") {
			if one != "" && (value == "" || !strings.HasPrefix(one, `"`+f.Name+`":`)) {
				fields = append(fields, one)
			}
		}
	}
	if value != "" {
		fields = append(fields, `"`+f.Name+`": `+value)
	}
	return strings.Replace(f.level.context, "%s", strings.Join(fields, ", "), 1)
}
