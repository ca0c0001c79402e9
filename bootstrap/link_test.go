package bootstrap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddLinkCopiesTheWayToRedis(t *testing.T) {
	c := shipped(t)
	if err := c.SetRedis("127.0.0.1:7001"); err != nil {
		t.Fatal(err)
	}
	link, err := c.AddLink("other")
	if err != nil {
		t.Fatal(err)
	}
	link.Proxy["op_timeout"] = "5s"
	if err := c.SetRedis("127.0.0.1:7002"); err != nil {
		t.Fatal(err)
	}

	got := reread(t, c)
	leads := map[string]string{}
	for _, kind := range []string{"listeners", "clusters"} {
		for _, one := range got.all(kind) {
			if name := text(one, "name"); strings.HasPrefix(name, "other_") {
				walk(one, func(m map[string]any) {
					for _, key := range []string{"cluster", "server_listener_name", "port_value", "op_timeout"} {
						switch v := m[key].(type) {
						case nil:
						case string:
							leads[name+" "+key] = v
						default:
							leads[name+" "+key] = fmt.Sprint(v)
						}
					}
				})
			}
		}
	}
	want := map[string]string{
		"other_routelimit server_listener_name": "other_routelimit_redis",
		"other_routelimit_redis cluster":        "other_redis",
		"other_routelimit_redis op_timeout":     "5s",
		"other_redis port_value":                "7001",
	}
	if diff := cmp.Diff(want, leads); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&Link{Cluster: "other_routelimit", Store: "other_redis", Proxy: link.Proxy}, link); diff != "" {
		t.Error(diff)
	}
	original, err := c.Listener("routelimit_redis")
	if err != nil {
		t.Fatal(err)
	}
	walk(original, func(m map[string]any) {
		if m["op_timeout"] == "5s" {
			t.Error("the original changed with its copy")
		}
	})
}

func TestCopyListenerLeavesTheOriginal(t *testing.T) {
	c := shipped(t)
	l, err := c.CopyListener(PublicListener, "mine")
	if err != nil {
		t.Fatal(err)
	}
	l["address"] = nil
	c.Add("listeners", l)
	got := reread(t, c)
	if _, err := got.Listener("mine"); err != nil {
		t.Error(err)
	}
	if l, err := got.Listener(PublicListener); err != nil || l["address"] == nil {
		t.Errorf("%v, %v", l["address"], err)
	}
}

func TestAddLinkOfAFileWithoutOne(t *testing.T) {
	c, err := Parse([]byte("static_resources: {listeners: []}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddLink("x"); err == nil || !strings.Contains(err.Error(), `no "routelimit_redis"`) {
		t.Errorf("error = %v", err)
	}
}

func TestALinkCanLeadToRedisItself(t *testing.T) {
	c := shipped(t)
	if err := c.SetRedis("127.0.0.1:7001"); err != nil {
		t.Fatal(err)
	}
	link, err := c.AddLink("other")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LeadDirectly(link.Cluster, link.Store); err != nil {
		t.Fatal(err)
	}
	got, err := reread(t, c).Cluster(link.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if got["transport_socket"] != nil {
		t.Errorf("transport socket %v, want none: Redis is no listener of this Envoy", got["transport_socket"])
	}
	ports := map[string]bool{}
	walk(got["load_assignment"], func(m map[string]any) {
		if m["port_value"] != nil {
			ports[fmt.Sprint(m["port_value"])] = true
		}
	})
	if name := text(got, "load_assignment", "cluster_name"); name != link.Cluster || !ports["7001"] || len(ports) != 1 {
		t.Errorf("%s leads to ports %v, want %s to 7001", name, ports, link.Cluster)
	}
	for _, names := range [][2]string{{"none", link.Store}, {link.Cluster, "none"}} {
		if err := c.LeadDirectly(names[0], names[1]); err == nil || !strings.Contains(err.Error(), `no "none"`) {
			t.Errorf("%v: error %v, want it to name the cluster", names, err)
		}
	}
}
