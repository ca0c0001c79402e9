package release

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
)

// archived is a folder as a tar in the order of names, without owners and at time 0.
func archived(dir string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
