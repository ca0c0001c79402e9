package release

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// licenses are the texts under which others' code is used, which most of them want to be handed on with a program.
func licenses(modules []module) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "The program and the module of routelimit contain code of these Go modules, under these licenses.")
	for _, m := range modules {
		texts, err := licenseTexts(m.Dir)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s has no license in %s; find out under which it may be used, or do without it", m.Path, m.Dir)
		}
		fmt.Fprintf(&out, "\n%s\n%s %s\n\n", strings.Repeat("=", 72), m.Path, m.Version)
		for _, text := range texts {
			out.Write(bytes.TrimSpace(text))
			out.WriteString("\n\n")
		}
	}
	return out.Bytes(), nil
}

// licenseTexts are the files in a module's folder that are a license or a notice, by name.
func licenseTexts(dir string) (texts [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		isText := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "NOTICE")
		if !isText || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
