package policy

import (
	"strings"

	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// LeastHashKey is the length of the shortest key for secrets, in bytes: what
// can be guessed protects nothing.
const LeastHashKey = 16

// readDefinitions reads who callers are: client, identities, hash_key_env.
func (s *sections) readDefinitions(env func(string) (string, bool)) *identity.Definitions {
	client := identity.Client{TrustedHops: -1, IPv6Prefix: 64}
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
	{
		Name: "trusted_hops",
		Read: func(c *identity.Client, n *strictjson.Node) {
			if hops, ok := n.Whole(0, 100); ok {
				c.TrustedHops = int(hops)
			}
		},
		Doc: prose("how many entries from the right of X-Forwarded-For, as this filter sees it, the client's is: the number of your proxies " +
			"that append, this Envoy included where `use_remote_address` is true. 0 ignores the header. Not set: the address that Envoy itself trusts"),
		Example: prose(`1`),
	},
	{
		Name: "ipv6_prefix",
		Read: func(c *identity.Client, n *strictjson.Node) {
			bits, _ := n.Whole(1, 128)
			c.IPv6Prefix = int(bits)
		},
		Doc:     prose("how many bits of an IPv6 address are one client; IPv4 addresses stay whole"),
		Default: prose(`64`), Example: prose(`56`),
	},
}

var componentFields = []strictjson.Field[identity.Component]{
	{
		Name: "from", Read: readSource,
		Missing: `write where the value comes from, such as "from": "header:x-api-key"`,
		Doc: prose("where the value comes from: `header:`, `cookie:`, `query:` and a name; `body:` and a dotted path in a JSON body, or a form field; " +
			"`path:` and a parameter of the route; `metadata:` and a namespace and keys, with slashes between; `jwt_unverified:` and a claim; " +
			"`property:` and a dotted Envoy attribute"),
		Example: prose(`"header:x-api-key"`),
	},
	{
		Name: "fold", Read: func(c *identity.Component, n *strictjson.Node) { c.Fold, _ = n.Bool() },
		Doc:     prose("whether spellings that people take for one are one: blanks around it, letter case and Unicode's compatible forms take no part"),
		Default: prose(`false`), Example: prose(`true`),
	},
	{
		Name: "secret", Read: func(c *identity.Component, n *strictjson.Node) { c.Secret, _ = n.Bool() },
		Doc:     prose("whether only a hash of the value may stand in keys, logs and metrics"),
		Default: prose(`false`), Example: prose(`true`),
	},
}

// stateSource tells an outline that a source of one of some kinds is read.
func stateSource(n *strictjson.Node, kinds func() []string) {
	n.State(func(f *strictjson.Facts) { f.Pattern = prose("^(" + strings.Join(kinds(), "|") + "):.+$") })
}

func readSource(c *identity.Component, n *strictjson.Node) {
	stateSource(n, identity.SourceKinds)
	text, ok := n.Text()
	if !ok {
		return
	}
	source, err := identity.ParseSource(text)
	if err != nil {
		n.Fail("%v", err)
	}
	c.Source = source
}

func readComponents(n *strictjson.Node) []identity.Component {
	n.State(func(f *strictjson.Facts) {
		f.Names = prose("^[a-z][a-z0-9_]{0,63}$")
		f.NotNames = identity.BuiltIn()
	})
	var components []identity.Component
	for _, member := range n.Members(`{"api_key": {"from": "header:x-api-key"}}`) {
		if err := identity.CheckName(member.Name()); err != nil {
			member.FailName("%v", err)
		}
		c := identity.Component{Name: member.Name()}
		strictjson.ReadObject(member, &c, componentFields)
		components = append(components, c)
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
		n.Fail("the environment variable %s is not set; set it where Envoy starts, and let the module see it by vm_config: {environment_variables: {host_env_keys: [%s]}}, or remove the field", n.Show(), name)
	case len(key) < LeastHashKey:
		n.Fail("the environment variable %s holds %d bytes; put a random key of at least %d into it", n.Show(), len(key), LeastHashKey)
	}
	return []byte(key)
}
