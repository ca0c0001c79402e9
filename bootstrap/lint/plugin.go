package lint

import (
	"slices"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// checkFailurePolicy: Envoy's documentation and its code differ in what holds
// where none is written.
func (e *envoy) checkFailurePolicy(p *plugin) {
	e.checkFailOpen(p)
	if p.config.At("failure_policy") == nil && !p.config.At("fail_open").True() {
		e.warn("failure-policy", p.config, "failure_policy is not set, and what a crash of the module leads to depends on the version of Envoy; write failure_policy: FAIL_RELOAD")
	}
}

// checkFailOpen: a module that has crashed is left out then.
func (e *envoy) checkFailOpen(p *plugin) {
	n := p.config.At("failure_policy")
	number, _ := n.Number()
	isOpen := n.Text() == "FAIL_OPEN" || number == failOpen
	if n == nil {
		n = p.config.At("fail_open") // what Envoy had before
		isOpen = n.True()
	}
	switch {
	case !isOpen:
	case p.placed.Gateway():
		e.warn("fail-open", n, "without the gateway's module Redis gets the frames of the stream, which it cannot read, and every decision fails; write failure_policy: FAIL_RELOAD")
	case p.policy != nil && !mayPassUnasked(p):
		e.warn("fail-open", n, "after a crash of the module every request passes, also on routes that are closed or local while Redis does not decide, and undeclared ones; write failure_policy: FAIL_RELOAD")
	}
}

// failOpen is the number of FAIL_OPEN in envoy.extensions.wasm.v3.FailurePolicy.
const failOpen = 3

// mayPassUnasked reports whether the policy would let all requests pass that nothing
// was decided about.
func mayPassUnasked(p *plugin) bool {
	refuses := func(r *policy.Route) bool { return r.NeverUnasked || r.Blocked != nil }
	return !p.policy.RefuseUndeclared && !slices.ContainsFunc(allRoutes(p), refuses)
}

// checkVM: the two roles must not go down together.
func (e *envoy) checkVM(p *plugin) {
	for _, g := range e.gateways() {
		if id := vmID(g); id == vmID(p) {
			e.fail("vm-id-shared", g.config, "the gateway has the vm_id %q as the limiting plugin has, so a crash of one takes the other along; write a vm_id of its own", id)
		}
	}
}

func vmID(p *plugin) string { return p.config.At("vm_config", "vm_id").Text() }

// checkVariables: the module sees only those variables that it is given.
func (e *envoy) checkVariables(p *plugin) {
	variables := p.config.At("vm_config", "environment_variables")
	for _, v := range [...]struct{ rule, field, name string }{
		{"hash-key-hidden", "hash_key_env", hashKeyEnv(p)},
		{"redis-password-hidden", "redis.password_env", p.policy.Redis.PasswordEnv},
		{"redis-user-hidden", "redis.username_env", p.policy.Redis.UsernameEnv},
	} {
		if v.name == "" || variables.At("key_values").At(v.name) != nil || slices.Contains(texts(variables.At("host_env_keys")), v.name) {
			continue
		}
		e.fail(v.rule, p.config, "the module does not see the environment variable %s of %s; write vm_config: {environment_variables: {host_env_keys: [%s]}}", v.name, v.field, v.name)
	}
}

// hashKeyEnv is the field hash_key_env, which is valid; "" if it is not written.
func hashKeyEnv(p *plugin) string {
	if n := strictjson.Parse([]byte(p.placed.Text)).Root().Member("hash_key_env"); n != nil {
		name, _ := n.Text()
		return name
	}
	return ""
}

func texts(list *yamltree.Node) []string {
	var all []string
	for _, item := range list.Items() {
		all = append(all, item.Text())
	}
	return all
}

// checkStatsTags: without them metrics have no labels.
func (e *envoy) checkStatsTags() {
	for _, document := range e.documents {
		if !isBootstrap(document) {
			continue
		}
		var names []string
		tags := document.At("stats_config", "stats_tags")
		for _, tag := range tags.Items() {
			names = append(names, tag.At("tag_name").Text())
		}
		for _, label := range []string{"route", "limit", "outcome", "kind"} {
			if !slices.Contains(names, label) {
				at := document
				if tags != nil {
					at = tags
				}
				e.warn("stats-tags", at, "no stats_tags make the label %q out of the names of routelimit's metrics; write stats_config as the project's envoy.yaml has it", label)
				break
			}
		}
	}
}
