package hosttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// compiled is shared by all modules of the process: the same bytes are
// compiled once, however often Compile is asked.
var compiled = sync.OnceValue(wazero.NewCompilationCache)

// memoryPages is Envoy's limit of 1 GiB a VM, in pages of 64 KiB.
const memoryPages = 1 << 14

// Module is a compiled plugin. Any number of VMs can be made from it.
type Module struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

// Compile compiles a plugin and checks it as Envoy does when it loads one: it
// may import nothing but the 18 WASI functions that Envoy has had since 1.33
// and the hostcalls of ABI 0.2.1, must name that ABI, and must give each
// callback the signature that Envoy calls it with. The error names what is
// wrong.
//
// Compiling takes a second for a module of 3 MB, so a test does it once.
func Compile(ctx context.Context, wasm []byte) (*Module, error) {
	return compile(ctx, wasm, compiled())
}

// CompileIn is Compile for a program that is started anew each time: what was compiled is kept in a directory of the
// user's own, for the next time. Where that cannot be written, it compiles all the same.
func CompileIn(ctx context.Context, wasm []byte, directory string) (*Module, error) {
	cache, err := wazero.NewCompilationCacheWithDir(directory)
	if err != nil {
		return Compile(ctx, wasm)
	}
	return compile(ctx, wasm, cache)
}

func compile(ctx context.Context, wasm []byte, cache wazero.CompilationCache) (*Module, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().
		WithCompilationCache(cache).
		WithMemoryLimitPages(memoryPages))
	m := &Module{runtime: r}
	if err := m.compile(ctx, wasm); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return m, nil
}

// Close frees the module and ends every VM made from it.
func (m *Module) Close(ctx context.Context) error { return m.runtime.Close(ctx) }

func (m *Module) compile(ctx context.Context, wasm []byte) error {
	if err := offer(ctx, m.runtime, "env", envFunctions); err != nil {
		return err
	}
	if err := offer(ctx, m.runtime, wasiModule, wasiFunctions); err != nil {
		return err
	}
	code, err := m.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), wasm)
	if err != nil {
		return fmt.Errorf("compile the plugin: %w; build it with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared", err)
	}
	m.code = code
	return errors.Join(checkImports(code), checkExports(code))
}

// offer makes a module of host functions. Each finds the VM that calls it in
// the context of the call.
func offer(ctx context.Context, r wazero.Runtime, module string, functions []hostFunction) error {
	b := r.NewHostModuleBuilder(module)
	for _, f := range functions {
		call := func(ctx context.Context, _ api.Module, stack []uint64) {
			in := ctx.Value(instanceKey{}).(*instance)
			in.enter(module, f.name)
			for i, t := range f.params {
				if t == i32 {
					stack[i] = uint64(uint32(stack[i]))
				}
			}
			answer := f.run(in, stack)
			if !f.void {
				stack[0] = uint64(answer)
			}
		}
		results := ints(1)
		if f.void {
			results = nil
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), f.params, results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func checkImports(code wazero.CompiledModule) error {
	offered := map[string][]hostFunction{"env": envFunctions, wasiModule: wasiFunctions}
	var missing []string
	for _, f := range code.ImportedFunctions() {
		module, name, _ := f.Import()
		if !slices.ContainsFunc(offered[module], func(h hostFunction) bool { return h.name == name }) {
			missing = append(missing, module+"."+name)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the plugin imports %s, which Envoy up to 1.38 does not offer; remove what needs it (package net and net/http need fd_filestat_get and path_filestat_get)",
		strings.Join(missing, ", "))
}

func checkExports(code wazero.CompiledModule) error {
	exported := code.ExportedFunctions()
	if exported["proxy_abi_version_0_2_1"] == nil {
		return errors.New("the plugin exports no proxy_abi_version_0_2_1; Envoy refuses a module that does not name its ABI")
	}
	if exported["proxy_on_memory_allocate"] == nil {
		return errors.New("the plugin exports no proxy_on_memory_allocate; Envoy needs it to hand over bytes")
	}
	var errs []error
	for name, want := range exports {
		f := exported[name]
		if f == nil {
			continue
		}
		if !slices.Equal(f.ParamTypes(), ints(want.params)) || !slices.Equal(f.ResultTypes(), ints(want.results)) {
			errs = append(errs, fmt.Errorf("the plugin's %s takes %d and returns %d values; Envoy calls it with %d 32-bit integers and expects %d",
				name, len(f.ParamTypes()), len(f.ResultTypes()), want.params, want.results))
		}
	}
	return errors.Join(errs...)
}
