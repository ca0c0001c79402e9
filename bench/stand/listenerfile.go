package stand

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"routelimit/bootstrap"
)

const listenersFile = "listeners.json"

// TakeListener takes the public listener out of a configuration, which reads it from a file in a folder instead, and may
// get another one from there at any time.
func TakeListener(config []byte, folder string) (rest []byte, listener map[string]any, err error) {
	c, err := bootstrap.Parse(config)
	if err != nil {
		return nil, nil, err
	}
	if listener, err = c.Listener(bootstrap.PublicListener); err != nil {
		return nil, nil, err
	}
	remove(c, "listeners", bootstrap.PublicListener)
	c.Root()["node"] = map[string]any{"id": "bench", "cluster": "bench"} // listeners from files need a name
	c.Root()["dynamic_resources"] = map[string]any{"lds_config": map[string]any{
		"resource_api_version": "V3",
		"path_config_source": map[string]any{
			"path": filepath.Join(folder, listenersFile), "watched_directory": map[string]any{"path": folder},
		},
	}}
	return c.Bytes(), listener, nil
}

// PublishListener puts a listener into the folder all at once, as Envoy's watch of files needs it.
func PublishListener(folder string, listener map[string]any) error {
	listener["@type"] = TypePrefix + "envoy.config.listener.v3.Listener"
	text, err := json.Marshal(map[string]any{"resources": []any{listener}})
	if err != nil {
		return fmt.Errorf("a listener cannot be written as JSON: %w; report this", err)
	}
	file := filepath.Join(folder, listenersFile)
	if err := os.WriteFile(file+".part", text, 0o600); err != nil {
		return fmt.Errorf("cannot write a listener: %w; make room there", err)
	}
	return os.Rename(file+".part", file)
}
