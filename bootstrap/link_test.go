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
		"other_routelimit server_listener_name":       "other_routelimit_gateway",
		"other_routelimit_gateway cluster":            "other_routelimit_redis",
		"other_routelimit_redis server_listener_name": "other_routelimit_redis",
		"other_routelimit_redis cluster":              "other_redis",
		"other_routelimit_redis op_timeout":           "5s",
		"other_redis port_value":                      "7001",
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
	if _, err := c.AddLink("x"); err == nil || !strings.Contains(err.Error(), `no "routelimit_gateway"`) {
		t.Errorf("error = %v", err)
	}
}
