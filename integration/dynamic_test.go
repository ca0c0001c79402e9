package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"routelimit/bootstrap"
)

// What Envoy reads from files while it runs: a listener, and the routes of another one.
const (
	listenersFile = "listeners.json"
	routesFile    = "routes.json"

	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routesType   = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

// dynamicFolder holds the files. All Envoys read the same.
var dynamicFolder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "routelimit-dynamic-") })

// folder ends with the tests.
type folder string

func (f folder) Stop() { _ = os.RemoveAll(string(f)) } // temporary files; nothing depends on it

// addDynamic makes an Envoy read its listeners from a file as well.
func addDynamic(c *bootstrap.Config) error {
	dir, err := dynamicFolder()
	if err != nil {
		return err
	}
	started = append(started, folder(dir))
	for _, name := range []string{listenersFile, routesFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			if err := publish(name); err != nil {
				return err
			}
		}
	}
	c.Root()["dynamic_resources"] = tree{"lds_config": fromFile(dir, listenersFile)}
	return nil
}

func fromFile(dir, name string) tree {
	return tree{
		"resource_api_version": "V3",
		"path_config_source":   tree{"path": filepath.Join(dir, name), "watched_directory": tree{"path": dir}},
	}
}

// publish puts resources into place all at once, as Envoy's file watch needs it.
func publish(name string, resources ...tree) error {
	dir, err := dynamicFolder()
	if err != nil {
		return err
	}
	text, err := json.Marshal(tree{"resources": append([]tree{}, resources...)})
	if err != nil {
		return err
	}
	part := filepath.Join(dir, name+".part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, name))
}

// publishListener gives Envoy the place as a listener from the file.
func publishListener(t *testing.T, p *place) {
	t.Helper()
	c, err := configuration(upstream.get(t).Addr(), func(*bootstrap.Config) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.listener(c)
	if err != nil {
		t.Fatal(err)
	}
	l["@type"] = listenerType
	if err := publish(listenersFile, l); err != nil {
		t.Fatal(err)
	}
}
