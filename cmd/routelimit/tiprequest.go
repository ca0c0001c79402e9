package main

import (
	"encoding/json"
	"slices"
	"strings"

	"routelimit/policy"
	"routelimit/policy/identity"
)

// tipRequest makes a request for a route that has in it whatever the limits' identities are read from; false where a command
// line cannot say it.
func tipRequest(pattern string, r *policy.Route, token string) (tip, bool) {
	method, place, _ := strings.Cut(pattern, " ")
	slash := strings.IndexByte(place, '/')
	t := tip{method: strings.ToUpper(method), path: examplePath(place[slash:])}
	if t.method == "*" {
		t.method = "GET"
	}
	if host := place[:slash]; host != "" {
		t.headers = append(t.headers, "host: "+host)
	}
	values := tipValues{token: token, body: map[string]any{}}
	for _, l := range r.Limits {
		if !slices.ContainsFunc(l.Identity.Alternatives(), values.putAll) {
			return tip{}, false
		}
	}
	t.headers = append(t.headers, values.headers...)
	if len(values.cookies) > 0 {
		t.headers = append(t.headers, "cookie: "+strings.Join(values.cookies, "; "))
	}
	if len(values.query) > 0 {
		t.path += "?" + strings.Join(values.query, "&")
	}
	if place == "/login" && t.method == "POST" && values.body["password"] == nil {
		values.body["password"] = "guess"
	}
	if len(values.body) > 0 {
		body, err := json.Marshal(values.body)
		if err != nil {
			return tip{}, false
		}
		t.body = string(body)
	}
	return t, t.method != "HEAD" && t.method != "CONNECT" && !strings.Contains(t.path+t.body+strings.Join(t.headers, ""), "'")
}

// examplePath has values for the parameters of a template.
func examplePath(template string) string {
	segments := strings.Split(template, "/")
	for i, s := range segments {
		switch {
		case strings.HasPrefix(s, ":"), strings.HasPrefix(s, "{"):
			segments[i] = "1"
		case s == "*":
			segments[i] = "x"
		}
	}
	return strings.Join(segments, "/")
}

// tipValues is what a request is to hold, each value once.
type tipValues struct {
	token                   string
	headers, cookies, query []string
	body                    map[string]any
}

// putAll puts in what an identity is read from; false where the caller cannot give it.
func (v *tipValues) putAll(alternative []identity.Component) bool {
	for _, c := range alternative {
		if !v.put(c.Source.Kind(), c.Source.Argument()) {
			return false
		}
	}
	return true
}

func (v *tipValues) put(kind, argument string) bool {
	switch kind {
	case "header":
		if argument != "host" && !strings.HasPrefix(argument, ":") {
			v.headers = with(v.headers, argument+": demo-key")
		}
	case "cookie":
		v.cookies = with(v.cookies, argument+"=demo")
	case "query":
		v.query = with(v.query, argument+"=demo")
	case "body":
		return putField(v.body, strings.Split(argument, "."))
	case "metadata":
		if v.token == "" || !strings.HasSuffix(argument, "/sub") {
			return false
		}
		v.headers = with(v.headers, "authorization: Bearer "+v.token)
	case "jwt_unverified", "property":
		return false
	}
	return true
}

func with(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// putField gives a field at a path a value, unless one that is there stands in the way.
func putField(object map[string]any, path []string) bool {
	name := path[0]
	if len(path) == 1 {
		if _, isObject := object[name].(map[string]any); isObject {
			return false
		}
		object[name] = "alice"
		return true
	}
	if object[name] == nil {
		object[name] = map[string]any{}
	}
	inner, isObject := object[name].(map[string]any)
	return isObject && putField(inner, path[1:])
}
