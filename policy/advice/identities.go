package advice

import (
	"slices"
	"strings"

	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// The built-in components.
const (
	address  = "ip"
	everyone = "all"
)

// vouched reports whether a caller cannot choose the component's value.
func vouched(c identity.Component) bool {
	return c.Name == address || c.Name == everyone || c.Source.Verified()
}

// vouchedFor reports whether a caller cannot choose whom the limit counts.
func vouchedFor(l limitAt) bool { return !slices.ContainsFunc(l.identities(), not(vouched)) }

func not(is func(identity.Component) bool) func(identity.Component) bool {
	return func(c identity.Component) bool { return !is(c) }
}

// pairOnly: a login whose limits all join the address to a name of the caller's
// choice. One address may then try every name, and many addresses one name.
func pairOnly(c *checker, r routeAt) {
	if !isPairOnly(r) {
		return
	}
	c.warn("login-pair-only", r.node, `every limit is for an address and a name together, so one address may go through all names, `+
		`and one name be tried from many addresses; add a limit for "ip" alone and one for the name alone`)
}

func isPairOnly(r routeAt) bool {
	enforced := r.enforced()
	for _, l := range enforced {
		for _, alternative := range l.Identity.Alternatives() {
			named := slices.ContainsFunc(alternative, not(vouched))
			if !named || !slices.ContainsFunc(alternative, isAddress) {
				return false
			}
		}
	}
	return len(enforced) > 0 && isLogin(r)
}

func isAddress(c identity.Component) bool { return c.Name == address }

// Words in the path of a login, and names of the fields that one takes.
var (
	loginPaths  = []string{"login", "logon", "signin", "sign-in", "log-in", "auth", "authenticate", "authorize", "session", "sessions", "token", "password", "otp", "verify"}
	loginFields = []string{"user", "username", "user_name", "login", "email", "e-mail", "mail", "account", "phone"}
)

func isLogin(r routeAt) bool {
	for word := range strings.SplitSeq(strings.ToLower(r.Template), "/") {
		if slices.Contains(loginPaths, word) {
			return true
		}
	}
	for _, l := range r.limits {
		for _, component := range l.identities() {
			field := strings.ToLower(component.Source.Argument())
			field = field[strings.LastIndexByte(field, '.')+1:]
			if component.Source.Kind() == "body" && slices.Contains(loginFields, field) {
				return true
			}
		}
	}
	return false
}

// unverified: whoever may choose his identity gets a fresh count for each. Only
// a limit that he cannot choose his way around holds then.
func unverified(c *checker, r routeAt) {
	enforced := r.enforced()
	if isPairOnly(r) || slices.ContainsFunc(enforced, vouchedFor) {
		return
	}
	for _, l := range enforced {
		i := slices.IndexFunc(l.identities(), not(vouched))
		chosen := l.identities()[i]
		fix := `add a limit for "ip" beside it, or take the identity`
		if l.Lease != 0 { // whose route has one identity
			fix = `a route with "lease" has one identity, so no limit for "ip" can stand beside it: leave "lease" out and add one, or take the identity`
		}
		c.warn("unverified-identity", l.at("identity"), `nobody verifies %q (%s), so a caller has a fresh count with each value that he makes up; `+
			`%s from what a filter before this one has verified, such as "metadata:…" of jwt_authn`, chosen.Name, chosen.Source, fix)
	}
}

// addressFirst: there nearly always is an address.
func addressFirst(c *checker, r routeAt) {
	for _, l := range r.limits {
		alternatives := l.Identity.Alternatives()
		for i, alternative := range alternatives[:len(alternatives)-1] {
			if len(alternative) != 1 || alternative[0].Name != address {
				continue
			}
			parts := strings.Split(l.Identity.String(), "|")
			c.warn("address-first", l.at("identity"), `there nearly always is an address, so %q hardly ever counts; write %q`,
				strings.Join(parts[i+1:], "|"), strings.Join(append(slices.Delete(parts, i, i+1), address), "|"))
			break
		}
	}
}

// parameterMissing: a component takes a parameter that the route does not have.
func parameterMissing(c *checker, r routeAt) {
	var params []string
	if pattern, err := c.policy.Paths.ParsePattern(r.Template); err == nil {
		params = pattern.Params()
	}
	missing := func(s identity.Source) bool { return s.Kind() == "path" && !slices.Contains(params, s.Argument()) }
	for _, l := range r.limits {
		if l.Plans != nil && missing(l.Plans.By) {
			c.fail("path-parameter", l.at("limit"), `the plan is told by %s, which %s does not have, so the default always holds; name the parameter in the route, or write another source`,
				l.Plans.By, routeName(r))
		}
		for _, component := range l.identities() {
			if !missing(component.Source) {
				continue
			}
			c.fail("path-parameter", l.at("identity"), `%q is %s, which %s does not have, so it is never present; name the parameter in the route, or write another identity`,
				component.Name, component.Source, routeName(r))
		}
	}
}

func routeName(r routeAt) string {
	if r.Template == "" {
		return "the default"
	}
	return `"` + r.Template + `"`
}

// bodyWithoutBody: requests of these methods bring no body.
func bodyWithoutBody(c *checker, r routeAt) {
	method, _, _ := strings.Cut(r.Template, " ")
	if !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"}, strings.ToUpper(method)) {
		return
	}
	for _, l := range r.limits {
		if l.Identity.NeedsBody() {
			c.warn("body-without-body", l.at("identity"), `a %s request has no body as a rule, so %q is hardly ever present; take the identity from elsewhere`,
				strings.ToUpper(method), l.Identity)
		}
	}
}

// unusedIdentities: declared, and in no limit.
func unusedIdentities(c *checker) {
	used := map[string]bool{}
	for _, r := range c.allRoutes() {
		for _, component := range r.Components() {
			used[component.Name] = true
		}
	}
	for _, node := range members(c.root.Member("identities")) {
		if !used[node.Name()] {
			c.warn("identity-unused", node, "no limit uses it; remove it, or write the limit that it was meant for")
		}
	}
}

func members(n *strictjson.Node) []*strictjson.Node {
	if n == nil {
		return nil
	}
	return n.Children()
}
