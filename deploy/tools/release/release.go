// Package release makes the files of a release, from a module that was built already: the same source and version give the
// same bytes.
package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"routelimit/deploy/tools/image"
	"routelimit/policy/schema"
)

// Options say what to release.
type Options struct {
	Root    string   // the project's folder, with build/routelimit.wasm in it
	Out     string   // what stands there is replaced
	Version string   // v1.2.3
	Targets []Target // the program's
}

// Target is what a program is built for, as Go names it.
type Target struct{ OS, Arch string }

// Targets are those of a release.
var Targets = []Target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// The files, beside one program for each target.
const (
	moduleFile    = "routelimit.wasm"
	schemaFile    = "routelimit.schema.json"
	billFile      = "routelimit.cdx.json"
	licensesFile  = "third-party-licenses.txt"
	checksumsFile = "SHA256SUMS"
)

// Make writes all files. On an error the folder holds what was made so far.
func Make(ctx context.Context, o Options) error {
	if o.Version == "" {
		return fmt.Errorf("no version is given; tag the commit, or write VERSION=v1.2.3")
	}
	if err := os.RemoveAll(o.Out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	wasm, err := os.ReadFile(filepath.Join(o.Root, "build", moduleFile))
	if err != nil {
		return fmt.Errorf("%w; build it with: make wasm", err)
	}
	if err := o.write(moduleFile, wasm); err != nil {
		return err
	}
	if err := o.write(moduleFile+".sha256", []byte(checksumLine(moduleFile, wasm))); err != nil {
		return err
	}
	if err := o.write(schemaFile, schema.Document()); err != nil {
		return err
	}
	if err := o.images(wasm); err != nil {
		return err
	}
	if err := o.programs(ctx); err != nil {
		return err
	}
	if err := o.thirdParties(ctx); err != nil {
		return err
	}
	return o.checksums()
}

func (o Options) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(o.Out, name), text, 0o644)
}

// images writes each variant's layout as one file.
func (o Options) images(wasm []byte) error {
	variants, err := image.Build(wasm, o.Version)
	if err != nil {
		return err
	}
	layouts, err := os.MkdirTemp("", "routelimit-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(layouts)
	if err := image.Write(layouts, variants, o.Version); err != nil {
		return err
	}
	for _, v := range variants {
		archive, err := archived(filepath.Join(layouts, v.Name))
		if err != nil {
			return err
		}
		if err := o.write("routelimit-image-"+v.Name+".tar", archive); err != nil {
			return err
		}
	}
	return nil
}
