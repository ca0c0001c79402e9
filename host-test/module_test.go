package hosttest

import (
	"strings"
	"testing"
)

// wasmModule assembles a module with one import and one empty function, which
// it exports under every name given. All take and return nothing.
func wasmModule(importModule, importName string, exported ...string) []byte {
	text := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	section := func(id byte, entries ...[]byte) []byte {
		body := []byte{byte(len(entries))}
		for _, e := range entries {
			body = append(body, e...)
		}
		return append([]byte{id, byte(len(body))}, body...)
	}
	var imports, exports [][]byte
	function := byte(0)
	if importName != "" {
		imports = append(imports, append(append(text(importModule), text(importName)...), 0, 0))
		function = 1
	}
	for _, name := range exported {
		exports = append(exports, append(text(name), 0, function))
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, section(1, []byte{0x60, 0, 0})...) // type: func()
	b = append(b, section(2, imports...)...)
	b = append(b, section(3, []byte{0})...)
	b = append(b, section(7, exports...)...)
	return append(b, section(10, []byte{2, 0, 0x0b})...)
}

func TestCompileRefusesWhatEnvoyRefuses(t *testing.T) {
	abi, alloc := "proxy_abi_version_0_2_1", "proxy_on_memory_allocate"
	for name, c := range map[string]struct {
		wasm []byte
		want string
	}{
		"no wasm":              {[]byte("hello"), "GOOS=wasip1"},
		"wasi of later Envoys": {wasmModule("wasi_snapshot_preview1", "fd_filestat_get", abi), "wasi_snapshot_preview1.fd_filestat_get, which Envoy up to 1.38 does not offer"},
		"unknown hostcall":     {wasmModule("env", "proxy_brew_coffee", abi), "env.proxy_brew_coffee"},
		"unknown module":       {wasmModule("gojs", "runtime.wasmExit", abi), "gojs.runtime.wasmExit"},
		"no ABI":               {wasmModule("", "", alloc), "proxy_abi_version_0_2_1"},
		"no allocation":        {wasmModule("", "", abi), "proxy_on_memory_allocate"},
		"wrong callback":       {wasmModule("", "", abi, alloc, "proxy_on_tick"), "proxy_on_tick takes 0"},
		"wrong allocation":     {wasmModule("", "", abi, alloc), "proxy_on_memory_allocate takes 0 and returns 0 values; Envoy calls it with 1 32-bit integers and expects 1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(t.Context(), c.wasm)
			if err == nil {
				m.Close(t.Context())
				t.Fatal("compiled")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

func TestCompileOffersThe18FunctionsOfWASI(t *testing.T) {
	if len(wasiFunctions) != 18 {
		t.Errorf("%d WASI functions", len(wasiFunctions))
	}
}

func TestStartAllowsNoOtherHostcall(t *testing.T) {
	for _, g := range []Generation{Old, Current} {
		allowed := allowedAtStart(g)
		for _, f := range envFunctions {
			if allowed["env."+f.name] != (f.name == "proxy_log") {
				t.Errorf("%s: %s allowed: %v", g, f.name, allowed["env."+f.name])
			}
		}
		if allowed[wasiModule+".poll_oneoff"] != (g == Current) {
			t.Errorf("%s: poll_oneoff allowed: %v", g, g == Old)
		}
	}
}
