package integration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
var dynamicFolder string

// makeDynamicFolder makes the folder, with nothing in the files.
func makeDynamicFolder() (remove func(), err error) {
	if dynamicFolder, err = os.MkdirTemp("", "routelimit-integration-"); err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dynamicFolder) }, errors.Join(publish(listenersFile), publish(routesFile))
}

// fromFile makes Envoy read a file and watch it.
func fromFile(name string) tree {
	return tree{
		"resource_api_version": "V3",
		"path_config_source": tree{
			"path": filepath.Join(dynamicFolder, name), "watched_directory": tree{"path": dynamicFolder},
		},
	}
}

// publish puts resources into place all at once, as Envoy's file watch needs it.
func publish(name string, resources ...tree) error {
	text, err := json.Marshal(tree{"resources": append([]tree{}, resources...)})
	if err != nil {
		return err
	}
	part := filepath.Join(dynamicFolder, name+".part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dynamicFolder, name))
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
	publishTree(t, l)
}

// publishText gives Envoy a listener whose plugin has that text for a configuration, whatever it is.
func publishText(t *testing.T, name, text string) {
	t.Helper()
	c, err := configuration(upstream.get(t).Addr(), func(*bootstrap.Config) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&place{name: name}).listener(c)
	if err != nil {
		t.Fatal(err)
	}
	pluginOf(managerOf(l)).SetConfiguration(text)
	publishTree(t, l)
}

func publishTree(t *testing.T, listener tree) {
	t.Helper()
	listener["@type"] = listenerType
	if err := publish(listenersFile, listener); err != nil {
		t.Fatal(err)
	}
}
