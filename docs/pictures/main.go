// Pictures draws what each algorithm admits around a window's boundary, as the
// reference model decides it. The pages show the files; a test compares them.
//
//	go run ./docs/pictures
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, s := range scenes {
		if err := os.WriteFile(filepath.Join("docs", "pictures", s.file()), []byte(s.draw()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
