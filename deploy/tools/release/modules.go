package release

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// module is a Go module whose code is part of what is released.
type module struct{ Path, Version, Dir string }

// linked are the modules in the program, by its own word. A program for another target may hold less: the list is of all.
func (o Options) linked(ctx context.Context) ([]module, error) {
	found := map[string]module{}
	for _, t := range o.Targets {
		info, err := buildinfo.ReadFile(filepath.Join(o.Out, t.program()))
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			found[d.Path] = module{Path: d.Path, Version: d.Version}
		}
	}
	return o.located(ctx, found)
}

// inModule are the modules whose packages are in routelimit.wasm: a WebAssembly module does not tell, so the go command has to.
func (o Options) inModule(ctx context.Context) ([]module, error) {
	list, err := o.goes(ctx, []string{"GOOS=wasip1", "GOARCH=wasm"}, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./filter")
	if err != nil {
		return nil, err
	}
	found := map[string]module{}
	for line := range strings.Lines(list) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[path] = module{Path: path, Version: version}
		}
	}
	return o.located(ctx, found)
}

// located finds where the source of modules is, and sorts them.
func (o Options) located(ctx context.Context, found map[string]module) ([]module, error) {
	var list []module
	for _, m := range found {
		text, err := o.goes(ctx, nil, "mod", "download", "-json", m.Path+"@"+m.Version)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return nil, fmt.Errorf("%s: %w; check the version of go", m.Path, err)
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// standard is Go's own library, which is in both.
func (o Options) standard(ctx context.Context) (module, error) {
	text, err := o.goes(ctx, nil, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return module{}, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return module{Path: "std", Version: strings.TrimPrefix(version, "go"), Dir: root}, nil
}

// thirdParties writes down what others' code is in the release, and under which licenses.
func (o Options) thirdParties(ctx context.Context) error {
	program, err := o.linked(ctx)
	if err != nil {
		return err
	}
	wasm, err := o.inModule(ctx)
	if err != nil {
		return err
	}
	std, err := o.standard(ctx)
	if err != nil {
		return err
	}
	bill, err := billOfMaterials(o.Version, append(program, std), append(wasm, std))
	if err != nil {
		return err
	}
	if err := o.write(billFile, bill); err != nil {
		return err
	}
	text, err := licenses(append(union(program, wasm), std))
	if err != nil {
		return err
	}
	return o.write(licensesFile, text)
}

func union(a, b []module) []module {
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b module) bool { return a.Path == b.Path })
}
