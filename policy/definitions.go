package policy

import (
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// leastHashKey is the length of the shortest key for secrets, in bytes: what
// can be guessed protects nothing.
const leastHashKey = 16

// readDefinitions reads who callers are: client, identities, hash_key_env.
func (s *sections) readDefinitions(env func(string) (string, bool)) *identity.Definitions {
	client := identity.Client{TrustedHops: -1}
	if s.client != nil {
		strictjson.ReadObject(s.client, &client, clientFields)
	}
	var components []identity.Component
	if s.identities != nil {
		components = readComponents(s.identities)
	}
	var hashKey []byte
	if s.hashKeyEnv != nil {
		hashKey = readHashKey(s.hashKeyEnv, env)
	}
	return identity.NewDefinitions(components, client, hashKey)
}

var clientFields = []strictjson.Field[identity.Client]{
	{Name: "trusted_hops", Read: func(c *identity.Client, n *strictjson.Node) {
		if hops, ok := n.Whole(0, 100); ok {
			c.TrustedHops = int(hops)
		}
	}},
	{Name: "ipv6_prefix", Read: func(c *identity.Client, n *strictjson.Node) {
		bits, _ := n.Whole(1, 128)
		c.IPv6Prefix = int(bits)
	}},
}

// componentDraft is a component that may still lack its source.
type componentDraft struct {
	identity.Component
	from *strictjson.Node
}

var componentFields = []strictjson.Field[componentDraft]{
	{Name: "from", Read: func(d *componentDraft, n *strictjson.Node) {
		d.from = n
		text, ok := n.Text()
		if !ok {
			return
		}
		source, err := identity.ParseSource(text)
		if err != nil {
			n.Fail("%v", err)
		}
		d.Source = source
	}},
	{Name: "fold", Read: func(d *componentDraft, n *strictjson.Node) { d.Fold, _ = n.Bool() }},
	{Name: "secret", Read: func(d *componentDraft, n *strictjson.Node) { d.Secret, _ = n.Bool() }},
}

func readComponents(n *strictjson.Node) []identity.Component {
	var components []identity.Component
	for _, member := range n.Members(`{"api_key": {"from": "header:x-api-key"}}`) {
		if err := identity.CheckName(member.Name()); err != nil {
			member.FailName("%v", err)
		}
		var d componentDraft
		if strictjson.ReadObject(member, &d, componentFields) && d.from == nil {
			member.Fail(`"from" is missing; write where the value comes from, such as "from": "header:x-api-key"`)
		}
		d.Name = member.Name()
		components = append(components, d.Component)
	}
	return components
}

func readHashKey(n *strictjson.Node, env func(string) (string, bool)) []byte {
	name, ok := n.Text()
	if !ok {
		return nil
	}
	key, ok := env(name)
	switch {
	case !ok:
		n.Fail("the environment variable %s is not set; set it in the vm_config's environment_variables, or remove the field", n.Show())
	case len(key) < leastHashKey:
		n.Fail("the environment variable %s holds %d bytes; put a random key of at least %d into it", n.Show(), len(key), leastHashKey)
	}
	return []byte(key)
}
