package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// place is a listener: the one of envoy.yaml with another policy and, perhaps, other settings.
type place struct {
	name   string
	policy string             // JSON; "": envoy.yaml's
	redis  tree               // of the policy, before its own: another link
	change func(manager tree) // of the HTTP connection manager; nil: none
	socket tree               // the transport socket; nil: plain text
}

// places are what listen was called for.
var places []*place

// listen gives every Envoy a listener with that policy. Its link to Redis is patient: see addPatientLink. Unless the policy
// has a deny_cache, every request is asked about.
func listen(name, policy string, change ...func(manager tree)) *place {
	p := &place{name: name, policy: policy}
	if len(change) > 0 {
		p.change = change[0]
	}
	places = append(places, p)
	return p
}

// public is envoy.yaml's listener as it ships, with its policy, its deadlines and its link.
var public = &place{name: bootstrap.PublicListener}

// address is where the place is in an Envoy.
func (p *place) address(t testing.TB, e *servers.Envoy) string {
	t.Helper()
	addr, err := e.Address(t.Context(), p.name)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// tree is a part of a configuration.
type tree = map[string]any

func shipped() (*bootstrap.Config, error) {
	text, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		return nil, err
	}
	return bootstrap.Parse(text)
}

// configuration is envoy.yaml with addresses for this test, and a listener for each place.
func configuration(upstream string, useRedis func(*bootstrap.Config) error) (*bootstrap.Config, error) {
	c, err := shipped()
	if err != nil {
		return nil, err
	}
	for _, p := range c.Plugins() { // looked at here, go test knows that its cached results depend on it
		if _, err := os.Stat(filepath.Join("..", p.Module())); err != nil {
			return nil, fmt.Errorf("%w; build it with: make wasm", err)
		}
	}
	c.SetAdmin("127.0.0.1", 0)
	if err := c.SetListener(public.name, "127.0.0.1", 0); err != nil {
		return nil, err
	}
	if err := c.SetUpstream(upstream); err != nil {
		return nil, err
	}
	if err := useRedis(c); err != nil {
		return nil, err
	}
	if _, replaced := c.ReplacePlaceholderKeys(issuerKeys()); !replaced {
		return nil, fmt.Errorf("envoy.yaml trusts other keys than the one that nobody owns")
	}
	if err := errors.Join(addPatientLink(c), addScriptedLink(c), addStraightLink(c), addBridges(c)); err != nil {
		return nil, err
	}
	for _, p := range places {
		l, err := p.listener(c)
		if err != nil {
			return nil, err
		}
		c.Add("listeners", l)
	}
	c.Root()["dynamic_resources"] = tree{"lds_config": fromFile(listenersFile)}
	return c, nil
}

// listener is the place's listener, made from the public one of c.
func (p *place) listener(c *bootstrap.Config) (tree, error) {
	l, err := c.CopyListener(public.name, p.name)
	if err != nil {
		return nil, err
	}
	l["stat_prefix"] = p.name
	manager := managerOf(l)
	if err := setPolicy(manager, p.policy, p.redis); err != nil {
		return nil, fmt.Errorf("listener %s: %w", p.name, err)
	}
	if p.change != nil {
		p.change(manager)
	}
	if p.socket != nil {
		l["filter_chains"].([]any)[0].(tree)["transport_socket"] = p.socket
	}
	return l, nil
}

func managerOf(listener tree) tree {
	chain := listener["filter_chains"].([]any)[0].(tree)
	return chain["filters"].([]any)[0].(tree)["typed_config"].(tree)
}

// setPolicy puts a policy on the patient link, or the one that redis says, and into a connection manager. An empty text
// stands for the manager's own.
func setPolicy(manager tree, text string, link tree) error {
	if text == "" {
		text = pluginOf(manager).Configuration()
	}
	var policy tree
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return err
	}
	redis := tree{"cluster": patient + "_routelimit", "timeout": "10s"}
	maps.Copy(redis, link)
	if own, ok := policy["redis"].(tree); ok {
		maps.Copy(redis, own)
	}
	policy["redis"] = redis
	if policy["deny_cache"] == nil {
		// A test begins with an empty Redis, and workers would remember for 30 s who was refused before.
		policy["deny_cache"] = tree{"max_time": "0s"}
	}
	raw, err := json.Marshal(policy)
	pluginOf(manager).SetConfiguration(string(raw))
	return err
}

// pluginOf is the one in a connection manager.
func pluginOf(manager tree) bootstrap.Plugin { return bootstrap.PluginsIn(manager)[0] }

// patient is the prefix to the names of the patient link's listeners and clusters.
const patient = "patient"

// addPatientLink adds a copy of the link to Redis that waits for seconds: on a busy machine the shipped one, with its
// deadlines of some tens of milliseconds, may call a healthy Redis silent. Tests of what is decided use the patient one,
// tests of what happens without a decision the shipped one.
func addPatientLink(c *bootstrap.Config) error {
	link, err := c.AddLink(patient)
	if err != nil {
		return err
	}
	link.Proxy["op_timeout"] = "5s"
	store, err := c.Cluster(link.Store)
	if err != nil {
		return err
	}
	store["connect_timeout"] = "5s"
	return nil
}
