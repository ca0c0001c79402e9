package servers

import (
	"fmt"
	"os"
	"path/filepath"
)

// directory is where one server keeps its files: the caller's, or one that is made here and removed with the server.
type directory struct {
	path string
	own  bool
}

func openDirectory(given, name string) (directory, error) {
	if given != "" {
		abs, err := filepath.Abs(given)
		if err == nil {
			err = os.MkdirAll(abs, 0o700)
		}
		if err != nil {
			return directory{}, fmt.Errorf("cannot use the directory %s: %w; choose another", given, err)
		}
		return directory{path: abs}, nil
	}
	path, err := os.MkdirTemp("", "routelimit-"+name+"-")
	if err != nil {
		return directory{}, fmt.Errorf("cannot make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	return directory{path: path, own: true}, nil
}

func (d directory) file(name string) string { return filepath.Join(d.path, name) }

// remove deletes what was made here. Nothing can be done about a failure, and nothing depends on it.
func (d directory) remove() {
	if d.own {
		_ = os.RemoveAll(d.path)
	}
}
