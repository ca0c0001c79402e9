// Command overlay derives from the Go installation in use the two runtime files
// that make a module safe on Envoy up to 1.38, and writes them with an
// overlay.json for go build -overlay.
//
// Those Envoys answer WASI's poll_oneoff with ENOSYS, and trap it where a
// collection may start inside proxy_on_memory_allocate. Go's runtime dies of
// either once any timer was armed, and its own heap scavenger arms one. So in
// this build netpoll returns at once when it would poll the clock alone, and
// usleep does not sleep: a module has one thread and nobody to wait for.
// See golang/go#78513.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A replacement changes one place of one file of package runtime.
type replacement struct{ file, old, new string }

var replacements = []replacement{
	{
		file: "netpoll_wasip1.go",
		old:  "func netpoll(delay int64) (gList, int32) {\n\tlock(&mtx)\n",
		new:  "func netpoll(delay int64) (gList, int32) {\n\tif len(subs) <= 1 {\n\t\treturn gList{}, 0\n\t}\n\tlock(&mtx)\n",
	},
	{
		file: "os_wasip1.go",
		old: `func usleep(usec uint32) {
	var in subscription
	var out event
	var nevents size

	eventtype := in.u.eventtype()
	*eventtype = eventtypeClock

	subscription := in.u.subscriptionClock()
	subscription.id = clockMonotonic
	subscription.timeout = timestamp(usec) * 1e3
	subscription.precision = 1e3

	if poll_oneoff(&in, &out, 1, &nevents) != 0 {
		throw("wasi_snapshot_preview1.poll_oneoff")
	}
}`,
		new: "func usleep(usec uint32) {}",
	},
}

func main() {
	out := flag.String("out", "build/overlay", "folder to write to")
	flag.Parse()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err == nil {
		err = write(filepath.Join(strings.TrimSpace(string(goroot)), "src", "runtime"), *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

// write derives every file of replacements from the folder runtime and writes
// it with an overlay.json to the folder out.
func write(runtime, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, r := range replacements {
		original := filepath.Join(runtime, r.file)
		text, err := os.ReadFile(original)
		if err != nil {
			return err
		}
		derived, err := derive(string(text), r)
		if err != nil {
			return err
		}
		replaced := filepath.Join(out, r.file)
		if err := os.WriteFile(replaced, []byte(derived), 0o644); err != nil {
			return err
		}
		overlay.Replace[original] = replaced
	}
	b, err := json.MarshalIndent(overlay, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "overlay.json"), append(b, '\n'), 0o644)
}

// derive makes the one replacement r in text. That its place occurs exactly
// once is what shows that the runtime is the one that was looked at.
func derive(text string, r replacement) (string, error) {
	if n := strings.Count(text, r.old); n != 1 {
		return "", errors.New(r.file + " of this Go version has changed: the text to replace occurs " + fmt.Sprint(n) +
			" times, not once; build with the Go version of go.mod, or adapt shim/overlay and run its tests on Envoy 1.36")
	}
	return strings.Replace(text, r.old, r.new, 1), nil
}
