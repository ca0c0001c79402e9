// Image packs routelimit.wasm as OCI images; see package image.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"routelimit/deploy/tools/image"
)

func main() {
	wasm := flag.String("wasm", "../../build/routelimit.wasm", "the module")
	out := flag.String("out", "../../build/image", "folder for the image layouts")
	version := flag.String("version", "", "the module's version, for the annotations")
	push := flag.String("push", "", "name with a tag in a registry, to push to; empty: none")
	flag.Parse()
	if err := run(*wasm, *out, *version, *push); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(wasm, out, version, push string) error {
	module, err := os.ReadFile(wasm)
	if err != nil {
		return fmt.Errorf("%w; build it with: make wasm", err)
	}
	variants, err := image.Build(module, version)
	if err != nil {
		return err
	}
	if err := image.Write(out, variants, version); err != nil {
		return err
	}
	for _, v := range variants {
		digest, err := v.Image.Digest()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", filepath.Join(filepath.Base(filepath.Dir(out)), filepath.Base(out), v.Name), digest)
	}
	if push == "" {
		return nil
	}
	pushed, err := image.Push(context.Background(), push, variants)
	for _, p := range pushed {
		fmt.Println("pushed", p)
	}
	return err
}
