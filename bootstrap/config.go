// Package bootstrap reads an Envoy configuration and changes single things in it: addresses, the module's file, the
// policy, the Redis behind it. What it does not know it leaves as it is.
//
//	c, err := bootstrap.Parse(text)
//	err = c.SetListener("public", "127.0.0.1", 0)
//	err = c.SetRedisCluster("127.0.0.1:7001")
//	envoy reads c.Bytes()
package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"routelimit/bootstrap/yamltree"
)

// Names of the listeners and clusters that envoy.yaml declares and this package looks for.
const (
	PublicListener  = "public"     // where clients come in
	UpstreamCluster = "upstream"   // what is protected
	LinkCluster     = "routelimit" // where the module opens its stream
	RedisCluster    = "redis"      // where the counts are: one Redis, or a Redis Cluster
)

// Config is an Envoy bootstrap.
type Config struct {
	root map[string]any
}

// Parse reads YAML or JSON. It checks the syntax alone: the rest is Envoy's to judge.
func Parse(text []byte) (*Config, error) {
	documents, err := yamltree.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := yamltree.CheckAliases(documents); err != nil {
		return nil, err
	}
	c := &Config{}
	if err := yaml.Unmarshal(text, &c.root); err != nil {
		return nil, yamltree.Explain(err)
	}
	if c.root == nil {
		return nil, errors.New("the Envoy configuration is empty; start from envoy.yaml")
	}
	return c, nil
}

// SyntaxError says where a file is not YAML.
type SyntaxError = yamltree.SyntaxError

// Bytes is the configuration as JSON, which Envoy reads as YAML too: no value depends on how a YAML writer quotes it.
func (c *Config) Bytes() []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c.root); err != nil {
		panic(err) // what was read from YAML, and strings and numbers, can always be written
	}
	return out.Bytes()
}

// Root is the whole configuration, for changes that have no function here.
func (c *Config) Root() map[string]any { return c.root }

// Listener is the listener of that name, for changes that have no function here.
func (c *Config) Listener(name string) (map[string]any, error) { return c.named("listeners", name) }

// Cluster is the cluster of that name, for changes that have no function here.
func (c *Config) Cluster(name string) (map[string]any, error) { return c.named("clusters", name) }

func (c *Config) named(kind, name string) (map[string]any, error) {
	for _, one := range c.all(kind) {
		if one["name"] == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("the Envoy configuration has no %q in static_resources.%s; add it, as envoy.yaml has it", name, kind)
}

// all are the static listeners or clusters.
func (c *Config) all(kind string) []map[string]any {
	var list []map[string]any
	for _, item := range items(entry(c.root, "static_resources", kind)) {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// entry follows keys down nested maps; nil where one is missing.
func entry(from any, keys ...string) any {
	for _, key := range keys {
		m, _ := from.(map[string]any)
		from = m[key]
	}
	return from
}

func text(from any, keys ...string) string {
	s, _ := entry(from, keys...).(string)
	return s
}

func items(value any) []any {
	list, _ := value.([]any)
	return list
}

// walk calls visit for every map in a tree, outer ones first.
func walk(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(v)
		for _, inner := range v {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}
