package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checksums writes the sums of all files, as sha256sum --check reads them.
func (o Options) checksums() error {
	entries, err := os.ReadDir(o.Out) // sorted by name
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(o.Out, e.Name()))
		if err != nil {
			return err
		}
		list.WriteString(checksumLine(e.Name(), text))
	}
	return o.write(checksumsFile, []byte(list.String()))
}

func checksumLine(name string, text []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name)
}
