package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// module is the real one.
func module(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../../../build/routelimit.wasm")
	if err != nil {
		t.Fatalf("%v; build it with: make wasm", err)
	}
	return wasm
}

// built is what all tests but one look at: packing takes a second.
var built []Variant

func build(t *testing.T) []Variant {
	t.Helper()
	if built == nil {
		built = buildAnew(t)
	}
	return built
}

func buildAnew(t *testing.T) []Variant {
	t.Helper()
	variants, err := Build(module(t), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return variants
}

// fetched does with an image what Istio (pkg/wasm/imagefetcher.go) and Envoy Gateway (internal/wasm/imagefetcher.go) do, in
// their order: the last layer as tar and gzip with a plugin.wasm, else two layers of which one is the module.
func fetched(image v1.Image) (variant string, wasm []byte, err error) {
	manifest, err := image.Manifest()
	if err != nil {
		return "", nil, err
	}
	if manifest.MediaType == types.DockerManifestSchema2 {
		return "", nil, errors.New("a Docker manifest, whose layers would have to be Docker's, too")
	}
	layers, err := image.Layers()
	if err != nil || len(layers) == 0 {
		return "", nil, fmt.Errorf("%d layers, %v", len(layers), err)
	}
	if wasm, err = fromTar(layers[len(layers)-1]); err == nil {
		return "compat", wasm, nil
	}
	if len(layers) != 2 {
		return "", nil, fmt.Errorf("%d layers, and as compat: %w", len(layers), err)
	}
	for _, l := range layers {
		if kind, err := l.MediaType(); err == nil && kind == "application/vnd.module.wasm.content.layer.v1+wasm" {
			wasm, err = content(l)
			return "oci", wasm, err
		}
	}
	return "", nil, errors.New("no layer is a module")
}

func content(l v1.Layer) ([]byte, error) {
	r, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func fromTar(l v1.Layer) ([]byte, error) {
	if kind, err := l.MediaType(); err != nil || kind != types.OCILayer {
		return nil, fmt.Errorf("a layer of type %s, %v", kind, err)
	}
	packed, err := content(l)
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("no plugin.wasm: %w", err)
		}
		if filepath.Base(h.Name) == "plugin.wasm" {
			wasm := make([]byte, h.Size)
			_, err := io.ReadFull(files, wasm)
			return wasm, err
		}
	}
}

func TestTheModuleComesOutWhole(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, build(t), "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"compat", "oci"} {
		image := readLayout(t, filepath.Join(dir, variant))
		if err := validate.Image(image); variant == "compat" && err != nil { // it unpacks layers, which the other's are not
			t.Errorf("%s: %v", variant, err)
		}
		checkFetched(t, image, variant)
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"org.opencontainers.image.title": "routelimit", "org.opencontainers.image.version": "v1.2.3", "org.opencontainers.image.licenses": "Apache-2.0"}
		if variant == "compat" {
			want["module.wasm.image/variant"] = "compat"
		}
		delete(manifest.Annotations, "org.opencontainers.image.description")
		if diff := cmp.Diff(want, manifest.Annotations); diff != "" || manifest.MediaType != types.OCIManifestSchema1 {
			t.Errorf("%s: %s, annotations %s", variant, manifest.MediaType, diff)
		}
	}
}

func checkFetched(t *testing.T, image v1.Image, want string) {
	t.Helper()
	variant, wasm, err := fetched(image)
	if err != nil || variant != want || !bytes.Equal(wasm, module(t)) {
		t.Errorf("fetched as %q, want %q: %d bytes of %d, %v", variant, want, len(wasm), len(module(t)), err)
	}
}

// readLayout is the one image in a layout.
func readLayout(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	if got := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "v1.2.3" {
		t.Errorf("the layout names its image %q", got)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestTheSameSourceGivesTheSameDigest writes twice, the second time over what was there, and compares every file.
func TestTheSameSourceGivesTheSameDigest(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(second, "compat", "blobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "compat", "blobs", "old"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, second} {
		if err := Write(dir, buildAnew(t), "v1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(files(t, first), files(t, second)); diff != "" {
		t.Errorf("(- first, + second)\n%s", diff)
	}
	other, err := Build(append(module(t), 0), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range build(t) {
		if digest(t, v.Image) == digest(t, other[i].Image) {
			t.Errorf("%s: another module has the same digest", v.Name)
		}
	}
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// files are the contents of all files under a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS(dir)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		all[name] = string(text)
		return err
	})
	if err != nil || len(all) < 8 {
		t.Fatalf("%d files in %s, %v", len(all), dir, err)
	}
	return all
}

func TestPushedImagesAreFetchedWhole(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/routelimit:1.0"
	pushed, err := Push(t.Context(), reference, build(t))
	if err != nil || len(pushed) != 2 {
		t.Fatalf("%v, %v", pushed, err)
	}
	for i, want := range []string{"compat", "oci"} {
		by, err := name.ParseReference(strings.Split(pushed[i], "@")[0])
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(by)
		if err != nil {
			t.Fatal(err)
		}
		checkFetched(t, image, want)
		if d := digest(t, image); !strings.HasSuffix(pushed[i], "@"+d) {
			t.Errorf("pushed as %s, fetched with the digest %s", pushed[i], d)
		}
	}
}

func TestWhatCannotBePackedOrPushedIsSaid(t *testing.T) {
	if _, err := Build([]byte("\x7fELF"), ""); err == nil || !strings.Contains(err.Error(), "make wasm") {
		t.Errorf("no module: %v", err)
	}
	server := httptest.NewServer(registry.New())
	server.Close()
	for reference, want := range map[string]string{
		"registry.example/routelimit":                               "no name with a tag",
		"Registry/Routelimit:1":                                     "no name with a tag",
		strings.TrimPrefix(server.URL, "http://") + "/routelimit:1": "docker login",
	} {
		if _, err := Push(context.Background(), reference, build(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", reference, err, want)
		}
	}
}
