// Package image packs routelimit.wasm as Istio, Envoy Gateway and Higress fetch it from a registry, without a container
// engine. The same module and version give the same digests.
//
// There are two variants, both of the Wasm Image Specification (github.com/solo-io/wasm, spec). The readers take either:
//
//	compat  one layer of tar and gzip that holds plugin.wasm, as any container tool can copy it
//	oci     the module and its runtime's configuration as two layers of types of their own
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Variant is one form of the image.
type Variant struct {
	Name  string // "compat" or "oci"
	Image v1.Image
}

// The file names and types of the specification.
const (
	moduleFile  = "plugin.wasm"
	runtimeFile = "runtime-config.json"

	runtimeType types.MediaType = "application/vnd.module.wasm.config.v1+json"
	moduleType  types.MediaType = "application/vnd.module.wasm.content.layer.v1+wasm"
)

// runtime says what the module is for.
const runtime = `{"type": "envoy_proxy", "abiVersions": ["0.2.1"], "config": {}}
`

// Build packs a module. The version is written into the manifests' annotations.
func Build(wasm []byte, version string) ([]Variant, error) {
	if !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil, errors.New("that is no WebAssembly module; build it with: make wasm")
	}
	var packed bytes.Buffer
	if err := pack(&packed, wasm); err != nil {
		return nil, err
	}
	files, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	compat, err := assemble(map[string]string{"module.wasm.image/variant": "compat"}, version, mutate.Addendum{Layer: files})
	if err != nil {
		return nil, err
	}
	oci, err := assemble(nil, version, titled(runtimeFile, static.NewLayer([]byte(runtime), runtimeType)),
		titled(moduleFile, static.NewLayer(wasm, moduleType)))
	return []Variant{{"compat", compat}, {"oci", oci}}, err
}

func titled(name string, layer v1.Layer) mutate.Addendum {
	return mutate.Addendum{Layer: layer, Annotations: map[string]string{"org.opencontainers.image.title": name}}
}

// pack writes the files of the compat variant as a tar: without owners and at time 0, so that nothing of this machine is
// in it.
func pack(w io.Writer, wasm []byte) error {
	out := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		body []byte
	}{{runtimeFile, []byte(runtime)}, {moduleFile, wasm}} {
		if err := out.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.body)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := out.Write(f.body); err != nil {
			return err
		}
	}
	return out.Close()
}

// assemble puts layers under an OCI manifest.
func assemble(annotations map[string]string, version string, layers ...mutate.Addendum) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "wasip1", "wasm"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	all := map[string]string{
		"org.opencontainers.image.title":       "routelimit",
		"org.opencontainers.image.description": "Rate limits for each route of an Envoy, shared through Redis",
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	for name, value := range annotations {
		all[name] = value
	}
	annotated, ok := mutate.Annotations(image, all).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("annotations made another thing than an image of %T; check go-containerregistry's version", image)
	}
	return annotated, nil
}
