package module

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// make wasm leaves the same module in both places.
func TestTheProgramHoldsTheModuleThatWasBuilt(t *testing.T) {
	held, err := Read("")
	if err != nil {
		t.Fatalf("%v; run make wasm", err)
	}
	built, err := Read("../build/routelimit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(held, built) || !bytes.HasPrefix(held, []byte("\x00asm")) {
		t.Errorf("held are %d bytes, built were %d", len(held), len(built))
	}
}

func TestAModuleThatCannotBeReadSaysWhatToDo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.wasm")
	if _, err := Read(none); !os.IsNotExist(err) && !strings.Contains(err.Error(), "--wasm") {
		t.Errorf("error = %v", err)
	}
	for _, held := range [][]byte{nil, []byte("no gzip"), {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 1}} {
		if _, err := unpack(held); err == nil || !strings.Contains(err.Error(), "make build") {
			t.Errorf("%q: error = %v", held, err)
		}
	}
}
