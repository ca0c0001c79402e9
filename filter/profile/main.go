// Command profile writes filter/default.pgo, by which the compiler inlines what every request runs through.
//
// No engine that runs the module samples Go functions, so the profile is counted instead: requests go through the real
// module in host-test, which counts the calls of each function, and the compiler's listing says from which line of which
// function each call is made. The two together are a profile of calls, which is all that inlining asks of one
// (https://go.dev/doc/pgo).
//
// Run it from the project's folder, by `make profile`, when the path of a request has changed much. A profile that is
// out of date costs speed, nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const target = "filter/default.pgo"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	listing, err := build(ctx, filepath.Join(dir, "named.wasm"))
	if err != nil {
		return err
	}
	counts, err := count(ctx, filepath.Join(dir, "named.wasm"))
	if err != nil {
		return err
	}
	edges := join(listing, counts)
	if len(edges) == 0 {
		return fmt.Errorf("none of %d functions that ran is in the compiler's listing", len(counts))
	}
	fmt.Printf("%d calls in %d rounds of requests, from %d places\n", total(counts), rounds, len(edges))
	return os.WriteFile(target, encode(edges), 0o644)
}

// build compiles the module without a profile and with the names of its functions, and returns the listing.
func build(ctx context.Context, wasm string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=off", "-overlay", "build/overlay/overlay.json",
		"-buildmode=c-shared", "-gcflags=all=-S", "-o", wasm, "./filter")
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	listing, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the module does not build: %w\n%.2000s", err, listing)
	}
	return listing, nil
}
