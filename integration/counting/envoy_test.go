package counting

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"routelimit/bootstrap"
	"routelimit/limit"
)

// Each caller has 5 requests a second on each of two routes for each algorithm. On /counted a second limit, which is never
// reached, counts all that the first one lets through.
const (
	shortLimit = 5
	totalField = "w86400"
)

func shortLimits(algorithm string) limit.Limit {
	a, err := limit.ParseAlgorithm(algorithm)
	if err != nil {
		panic(err) // it is one of limit.AlgorithmNames
	}
	return limit.Limit{Algorithm: a, Limit: shortLimit, Window: time.Second}
}

// policy limits through a link, which it waits for so long.
func policy(link *bootstrap.Link, timeout string) string {
	routes := map[string]any{}
	for _, algorithm := range limit.AlgorithmNames() {
		short := map[string]any{"name": "short", "identity": "caller", "limit": shortLimit, "window": "1s", "algorithm": algorithm}
		total := map[string]any{"name": "total", "identity": "caller", "limit": 1_000_000, "window": "24h", "algorithm": "fixed_window"}
		routes["GET /short/"+algorithm] = map[string]any{"on_error": "closed", "limits": []any{short}}
		routes["GET /counted/"+algorithm] = map[string]any{"on_error": "closed", "limits": []any{short, total}}
	}
	raw, err := json.Marshal(map[string]any{
		"redis":      map[string]any{"cluster": link.Cluster, "timeout": timeout},
		"identities": map[string]any{"caller": map[string]any{"from": "header:x-caller"}},
		"routes":     routes, "default": nil,
	})
	if err != nil {
		panic(err) // maps, texts and numbers can be written
	}
	return string(raw)
}

// configuration is envoy.yaml with two listeners for each store: a patient one, for which a busy machine is no failed
// Redis, and a hasty one, with the deadlines of the link that ships.
func configuration(stores []*store, upstream string) ([]byte, error) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		return nil, err
	}
	c, err := bootstrap.Parse(text)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("../../build/routelimit.wasm"); err != nil {
		return nil, fmt.Errorf("%w; build it with: make wasm", err)
	}
	c.RemoveAccessLogs()
	c.SetAdmin("127.0.0.1", 0)
	if err := c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0); err != nil {
		return nil, err
	}
	if err := c.SetUpstream(upstream); err != nil {
		return nil, err
	}
	for _, s := range stores {
		if err := addStore(c, s); err != nil {
			return nil, err
		}
	}
	return c.Bytes(), nil
}

func addStore(c *bootstrap.Config, s *store) error {
	useRedis := func() error { return c.SetRedisCluster(s.nodes.Addrs()[:2]...) }
	if s.nodes == nil {
		useRedis = func() error { return c.SetRedis(s.single.Addr()) }
	}
	if err := useRedis(); err != nil {
		return err
	}
	link, err := c.AddLink(s.hasty())
	if err != nil {
		return err
	}
	if err := addListener(c, s.hasty(), policy(link, "50ms")); err != nil {
		return err
	}
	if link, err = c.AddLink(s.patient()); err != nil {
		return err
	}
	link.Proxy["op_timeout"] = "8s"
	cluster, err := c.Cluster(link.Store)
	if err != nil {
		return err
	}
	cluster["connect_timeout"] = "5s"
	return addListener(c, s.patient(), policy(link, "10s"))
}

// patient and hasty are the names of a store's listeners.
func (s *store) patient() string { return s.name + "_patient" }
func (s *store) hasty() string   { return s.name + "_hasty" }

func addListener(c *bootstrap.Config, name, policy string) error {
	l, err := c.CopyListener(bootstrap.PublicListener, name)
	if err != nil {
		return err
	}
	for _, plugin := range bootstrap.PluginsIn(l) {
		plugin.SetConfiguration(policy)
	}
	c.Add("listeners", l)
	return nil
}
