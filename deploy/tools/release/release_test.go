package release

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

// host is the only target here: the others differ by two variables, and cost a minute each.
var host = Target{runtime.GOOS, runtime.GOARCH}

func makeRelease(t *testing.T) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	if err := os.MkdirAll(filepath.Join(out, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), Options{Root: "../../..", Out: out, Version: "v1.2.3", Targets: []Target{host}}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func TestAReleaseIsTheSameEachTime(t *testing.T) {
	first, second := makeRelease(t), makeRelease(t)
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s: %d bytes, then %d others", name, len(text), len(second[name]))
		}
	}
	names := func(files map[string]string) (list []string) {
		for name := range files {
			list = append(list, name)
		}
		slices.Sort(list)
		return list
	}
	want := []string{"SHA256SUMS", host.program(), "routelimit-image-compat.tar", "routelimit-image-oci.tar", "routelimit.cdx.json",
		"routelimit.schema.json", "routelimit.wasm", "routelimit.wasm.sha256", "third-party-licenses.txt"}
	slices.Sort(want)
	if diff := cmp.Diff([][]string{want, want}, [][]string{names(first), names(second)}); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	checkSums(t, first)
	checkVersion(t, first[host.program()])
	checkBill(t, first[billFile])
	checkLicenses(t, first)
	checkLayout(t, first["routelimit-image-compat.tar"])
}

// checkSums wants to see every file in the list, with its sum.
func checkSums(t *testing.T, files map[string]string) {
	t.Helper()
	listed := map[string]string{}
	for line := range strings.Lines(files[checksumsFile]) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = sum
	}
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		if name != checksumsFile && listed[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: listed with %q, its sum is %x", name, listed[name], sum)
		}
	}
	if files["routelimit.wasm.sha256"] != listed["routelimit.wasm"]+"  routelimit.wasm\n" {
		t.Errorf("routelimit.wasm.sha256 is %q", files["routelimit.wasm.sha256"])
	}
}

func checkVersion(t *testing.T, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "routelimit")
	if err := os.WriteFile(file, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "routelimit v1.2.3 (go") {
		t.Errorf("version says %q, %v", out, err)
	}
	if dir, _ := filepath.Abs("../../.."); strings.Contains(program, dir+"/") {
		t.Errorf("the program holds the name of the folder that it was built in, %s", dir)
	}
}

// checkBill reads the bill of materials back and looks for modules that must be, and must not be, in each part.
func checkBill(t *testing.T, text string) {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(strings.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{bom.Metadata.Component.BOMRef: true}
	for _, c := range *bom.Components {
		if known[c.BOMRef] {
			t.Errorf("%s stands twice", c.BOMRef)
		}
		known[c.BOMRef] = true
	}
	parts := map[string]string{}
	for _, d := range *bom.Dependencies {
		for _, ref := range *d.Dependencies {
			if !known[ref] || !known[d.Ref] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, ref)
			}
		}
		parts[d.Ref] = strings.Join(*d.Dependencies, "\n")
	}
	for part, modules := range map[string]map[string]bool{
		"routelimit":      {"pkg:golang/std@": true, "github.com/tetratelabs/wazero@": true, "github.com/spf13/cobra@": true, "routelimit.wasm": true, "go-cmp": false},
		"routelimit.wasm": {"pkg:golang/std@": true, "github.com/tetratelabs/proxy-wasm-go-sdk@": true, "wazero": false, "cobra": false},
	} {
		for module, want := range modules {
			if strings.Contains(parts[part], module) != want {
				t.Errorf("%s: %s in it is %v, want %v:\n%s", part, module, !want, want, parts[part])
			}
		}
	}
}

func checkLicenses(t *testing.T, files map[string]string) {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(strings.NewReader(files[billFile]), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	for _, c := range *bom.Components {
		if c.PackageURL != "" && !strings.Contains(files[licensesFile], "\n"+c.Name+" "+c.Version+"\n\n") {
			t.Errorf("%s %s has no license in %s", c.Name, c.Version, licensesFile)
		}
	}
}

// checkLayout wants the files that make a folder, or a tar of it, an OCI image layout.
func checkLayout(t *testing.T, archive string) {
	t.Helper()
	var names []string
	for files := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if !slices.Contains(names, "oci-layout") || !slices.Contains(names, "index.json") || len(names) != 5 {
		t.Errorf("the layout holds %v", names)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for want, o := range map[string]Options{
		"VERSION=":  {Root: "../../..", Out: t.TempDir()},
		"make wasm": {Root: t.TempDir(), Out: t.TempDir(), Version: "v1"},
	} {
		if err := Make(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := licenses([]module{{Path: "example/none", Dir: t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "example/none has no license") {
		t.Errorf("no license: %v", err)
	}
}

func TestArchivesHoldNothingOfThisMachine(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for i, dir := range []string{first, second} {
		for _, name := range []string{"b", "a"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600+os.FileMode(i)*0o44); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, err := archived(first)
	if err != nil {
		t.Fatal(err)
	}
	other, err := archived(second)
	if err != nil || !bytes.Equal(one, other) {
		t.Errorf("%d and %d bytes, %v", len(one), len(other), err)
	}
}
