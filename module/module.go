// Package module holds routelimit.wasm for the programs that run it themselves. The Makefile puts it there, gzipped; a
// program that was built otherwise holds none.
package module

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
)

//go:embed all:built
var built embed.FS

const packed = "built/routelimit.wasm.gz"

// ErrNone says that the program holds no module.
var ErrNone = errors.New("this program was built without the module; build it with make build, or give the module with --wasm build/routelimit.wasm")

// Read returns the module's bytes: those of a file, or, without a name, those that the program holds.
func Read(file string) ([]byte, error) {
	if file != "" {
		wasm, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w; give the name of a routelimit.wasm, or leave --wasm away", err)
		}
		return wasm, nil
	}
	held, err := built.ReadFile(packed)
	if err != nil {
		return nil, ErrNone
	}
	return unpack(held)
}

func unpack(held []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(held))
	if err != nil {
		return nil, fmt.Errorf("the module in this program cannot be read: %w; build it anew with make build", err)
	}
	wasm, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the module in this program cannot be read: %w; build it anew with make build", err)
	}
	return wasm, nil
}
