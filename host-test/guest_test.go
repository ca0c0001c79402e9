package hosttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The guest is a plugin that does what its configuration says (testdata/guest).
// It is built twice: as Go builds it, and with the overlay of the product.
var plainGuest, overlaidGuest *Module

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "routelimit-guest")
	if err == nil {
		defer os.RemoveAll(dir)
		err = buildGuests(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the test guest:", err)
		return 1
	}
	return m.Run()
}

func buildGuests(dir string) (err error) {
	if err := command("go", "run", "../shim/overlay", "-out", dir); err != nil {
		return err
	}
	if plainGuest, err = buildGuest(filepath.Join(dir, "plain.wasm")); err != nil {
		return err
	}
	overlaidGuest, err = buildGuest(filepath.Join(dir, "overlaid.wasm"), "-overlay", filepath.Join(dir, "overlay.json"))
	return err
}

func buildGuest(out string, flags ...string) (*Module, error) {
	args := append([]string{"build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out}, flags...)
	if err := command("go", append(args, "./testdata/guest")...); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return Compile(context.Background(), wasm)
}

// command runs a command; the guest is built for wasip1, everything else here.
func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	if args[0] == "build" {
		c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}

// start returns a root of the overlaid guest with a script.
func start(t *testing.T, o Options, script string) *Plugin {
	t.Helper()
	return plugin(t, startVM(t, overlaidGuest, o), script)
}

func startVM(t *testing.T, m *Module, o Options) *VM {
	t.Helper()
	vm, err := NewHost(m, o).NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vm.Close() })
	return vm
}

func plugin(t *testing.T, vm *VM, script string) *Plugin {
	t.Helper()
	p, err := vm.NewPlugin([]byte(script))
	if err != nil {
		t.Fatalf("%v\n%s", err, vm.LogText())
	}
	return p
}

// said returns what the guest has logged since the last call, of the lines that
// begin with a prefix, without it.
func said(vm *VM, prefix string) []string {
	var lines []string
	for _, line := range vm.Logs(LogInfo) {
		if rest, ok := strings.CutPrefix(line.Text, prefix); ok {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return lines
}

// noFaults fails the test if the plugin did what Envoy does not survive.
func noFaults(t *testing.T, vm *VM) {
	t.Helper()
	if len(vm.Faults()) > 0 {
		t.Errorf("faults: %q", vm.Faults())
	}
	if vm.Dead() != nil {
		t.Errorf("the VM died: %v", vm.Dead())
	}
}

func get(lines ...string) Headers {
	return RequestHeaders("GET", "api.example.com", "/orders/5?x=1", lines...)
}

func ok(body string) Response {
	return Response{Headers: Headers{{":status", "200"}}, Body: []byte(body)}
}
