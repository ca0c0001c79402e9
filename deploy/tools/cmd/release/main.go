// Release makes the files of a release; see package release.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"routelimit/deploy/tools/release"
)

func main() {
	root := flag.String("root", "../..", "the project's folder")
	version := flag.String("version", "", "v1.2.3")
	flag.Parse()
	out := filepath.Join(*root, "build", "release")
	err := release.Make(context.Background(), release.Options{Root: *root, Out: out, Version: *version, Targets: release.Targets})
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	fmt.Println("build/release:", *version)
}
