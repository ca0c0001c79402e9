package chaos

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"routelimit/bootstrap"
)

// proxyListener is the name of redis_proxy's listener in envoy.yaml.
const proxyListener = "routelimit_redis"

// appliedTime is within what time an Envoy takes in a file.
const appliedTime = 10 * time.Second

// publish gives the Envoys other listeners or clusters and waits until both have taken them in.
func (c *chaos) publish(name string, resources []any) error {
	stat := "listener_manager.lds.update_success"
	if name == clustersFile {
		stat = "cluster_manager.cds.update_success"
	}
	var before [len(rig.envoys)]int64
	for i := range rig.envoys {
		before[i] = c.stat(i, stat)
	}
	if err := rig.files.publish(name, resources); err != nil {
		return err
	}
	return c.within(appliedTime, func() error {
		for i := range rig.envoys {
			if c.stat(i, stat) == before[i] {
				return fmt.Errorf("envoy %d has not taken in %s", i, name)
			}
		}
		return nil
	})
}

// stat is one of an Envoy's own counters or gauges.
func (c *chaos) stat(envoy int, name string) int64 {
	c.t.Helper()
	stats, err := rig.envoys[envoy].Stats(c.t.Context(), "^"+name+"$")
	if err != nil {
		c.t.Fatal(err)
	}
	return stats[name]
}

// removeProxies takes away the listeners that the links lead to, for longer than their connections drain.
func removeProxies(c *chaos) error {
	return c.without(listenersFile, rig.files.listeners, "_"+proxyListener, drainTime+c.between(300, 900))
}

// removeLinks takes away the clusters on which the links begin, with the gateways in them.
func removeLinks(c *chaos) error {
	return c.without(clustersFile, rig.files.clusters, "_"+bootstrap.LinkCluster, c.between(300, 900))
}

// without gives the Envoys a file without the resources whose names end so, for a time.
func (c *chaos) without(file string, resources []any, suffix string, d time.Duration) error {
	var rest []any
	for _, r := range resources {
		if !strings.HasSuffix(fmt.Sprint(r.(tree)["name"]), suffix) {
			rest = append(rest, r)
		}
	}
	if err := c.publish(file, rest); err != nil {
		return err
	}
	c.wait(d)
	return c.publish(file, resources)
}

// updateListeners gives all listeners another configuration, and the first one again, and waits until the connections of
// those that were replaced are drained.
func updateListeners(c *chaos) error {
	var other []any
	for i, l := range rig.files.listeners {
		changed := clone(l).(tree)
		for _, chain := range changed["filter_chains"].([]any) {
			chain.(tree)["name"] = fmt.Sprint("updated-", i, "-", c.random.Uint32())
		}
		for _, p := range bootstrap.PluginsIn(changed) {
			if !p.Gateway() {
				p.SetConfiguration(strings.Replace(p.Configuration(), "{", fmt.Sprintf(`{"deny_cache":{"max_entries":%d},`, 1000+c.random.IntN(1000)), 1))
			}
		}
		other = append(other, changed)
	}
	err := c.publish(listenersFile, other)
	c.wait(c.between(100, 600))
	return errors.Join(err, c.publish(listenersFile, rig.files.listeners), c.within(appliedTime, func() error {
		for i := range rig.envoys {
			n := c.stat(i, "listener_manager.total_listeners_draining") + c.stat(i, "listener_manager.total_filter_chains_draining")
			if n != 0 {
				return fmt.Errorf("envoy %d still drains %d", i, n)
			}
		}
		return nil
	}))
}

// updateClusters replaces all clusters of the links, and so cuts these.
func updateClusters(c *chaos) error {
	for i := range 3 {
		var other []any
		for _, one := range rig.files.clusters {
			changed := clone(one).(tree)
			if strings.Contains(fmt.Sprint(changed["name"]), "_") {
				changed["connect_timeout"] = fmt.Sprintf("0.%03ds", 25+i)
			}
			other = append(other, changed)
		}
		if err := c.publish(clustersFile, other); err != nil {
			return err
		}
		c.wait(c.between(20, 300))
	}
	return c.publish(clustersFile, rig.files.clusters)
}

func clone(value any) any {
	switch v := value.(type) {
	case tree:
		c := tree{}
		for key, inner := range v {
			c[key] = clone(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = clone(inner)
		}
		return c
	}
	return value
}

// injectPanics makes requests panic at each place of their own callbacks. They go by on_error, others are decided.
func injectPanics(c *chaos) error {
	var wrong []error
	for range 4 {
		for _, place := range []string{"headers", "ask", "conclude"} {
			for path, want := range map[string]int{"/closed/sliding_window": http.StatusServiceUnavailable, "/open": http.StatusOK} {
				envoy := c.random.IntN(len(rig.envoys))
				who := subject{listener: injected, path: path, caller: c.phase.name + place}
				s := c.load.ask(c.t.Context(), envoy, who, map[string]string{"x-inject": place})
				c.panics[envoy]++
				if err := s.check(); err != nil || s.status != want || s.decided {
					wrong = append(wrong, fmt.Errorf("a panic at %s: %v, want %d: %v", place, s, want, err))
				}
				s = c.load.ask(c.t.Context(), envoy, subject{listener: injected, path: "/calm", caller: "calm"}, nil)
				if err := s.check(); err != nil || !s.decided {
					wrong = append(wrong, fmt.Errorf("after a panic at %s: %v: %v", place, s, err))
				}
			}
		}
	}
	return errors.Join(wrong...)
}
