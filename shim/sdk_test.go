package shim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// methodsOf returns the names and parameter counts of an interface's methods.
func methodsOf(t *testing.T, file, name string) map[string]int {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]int{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, m := range spec.Type.(*ast.InterfaceType).Methods.List {
			methods[m.Names[0].Name] = m.Type.(*ast.FuncType).Params.NumFields()
		}
		return false
	})
	return methods
}

// The SDK calls our host through an interface table that the compiler has laid
// out for sdkHost. One method more or less and it would call the wrong one.
func TestSDKHostHasTheMethodsOfTheSDK(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/proxy-wasm-go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	sdk := methodsOf(t, filepath.Join(strings.TrimSpace(string(dir)), "proxywasm", "internal", "abi_hostcalls_mock.go"), "ProxyWasmHost")
	ours := methodsOf(t, "sdk.go", "sdkHost")
	if len(sdk) == 0 {
		t.Fatal("the SDK's interface was not found")
	}
	if diff := cmp.Diff(sdk, ours); diff != "" {
		t.Fatalf("the SDK's host (-) and ours (+) differ:\n%s", diff)
	}
}

// Each method of sdkHost stands in sdkCalls, or the linker drops it.
func TestSDKCallsNameEveryMethod(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "sdk.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "sdkHost" {
				kept[s.Sel.Name] = true
			}
		}
		return true
	})
	for name := range methodsOf(t, "sdk.go", "sdkHost") {
		if !kept[name] {
			t.Errorf("sdkCalls does not name sdkHost.%s", name)
		}
	}
}
