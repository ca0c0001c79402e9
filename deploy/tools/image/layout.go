package image

import (
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Write makes an OCI image layout of each variant, in a folder of its name under dir. What stood there is replaced.
func Write(dir string, variants []Variant, version string) error {
	for _, v := range variants {
		folder := filepath.Join(dir, v.Name)
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		path, err := layout.Write(folder, empty.Index)
		if err != nil {
			return err
		}
		name := map[string]string{"org.opencontainers.image.ref.name": version}
		if err := path.AppendImage(v.Image, layout.WithAnnotations(name)); err != nil {
			return err
		}
	}
	return nil
}
