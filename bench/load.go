package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

//go:embed wrk.lua
var wrkScript []byte

// load is wrk, a closed-loop load generator.
type load struct {
	binary string
	script string // file
}

// loadResult is what wrk saw of one run. Times are in microseconds.
type loadResult struct {
	Requests int64 `json:"requests"` // answered whole
	Duration int64 `json:"duration"`
	P50      int64 `json:"p50"`
	P90      int64 `json:"p90"`
	P99      int64 `json:"p99"`
	Max      int64 `json:"max"`
	loadErrors
}

type loadErrors struct {
	Connect int64 `json:"connect"`
	Read    int64 `json:"read"`
	Write   int64 `json:"write"`
	Status  int64 `json:"status"` // 400 and above
	Timeout int64 `json:"timeout"`
}

// newLoad finds wrk.
func newLoad() (*load, error) {
	binary, err := exec.LookPath("wrk")
	if err != nil {
		return nil, errors.New("wrk, which makes the load, is not on the PATH; install it (apt-get install wrk, or brew install wrk)")
	}
	f, err := os.CreateTemp("", "routelimit-wrk-*.lua")
	if err != nil {
		return nil, fmt.Errorf("cannot write a temporary file: %w; set TMPDIR to a folder that can be written", err)
	}
	_, err = f.Write(wrkScript)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("cannot write %s: %w; make room there", f.Name(), err)
	}
	return &load{binary: binary, script: f.Name()}, nil
}

func (l *load) close() { os.Remove(l.script) }

// run loads one column for some seconds. A request that failed is an error.
func (l *load) run(ctx context.Context, url string, connections, seconds int) (loadResult, error) {
	cmd := exec.CommandContext(ctx, l.binary, "--threads", "1", "--connections", strconv.Itoa(connections),
		"--duration", strconv.Itoa(seconds)+"s", "--timeout", "2s", "--script", l.script,
		"--header", callerHeader+": "+measuredCaller, url+measuredPath)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return loadResult{}, ctx.Err()
	}
	if err != nil {
		return loadResult{}, fmt.Errorf("wrk failed: %w: %s; run it by hand: %s", err, bytes.TrimSpace(out), cmd)
	}
	return parseLoad(out)
}

// parseLoad reads the line that wrk.lua writes after wrk's own text.
func parseLoad(out []byte) (loadResult, error) {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	d := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	d.DisallowUnknownFields()
	var r loadResult
	if err := d.Decode(&r); err != nil {
		return loadResult{}, fmt.Errorf("wrk's output cannot be read: %w: %q; check that it is wrk 4", err, out)
	}
	if r.loadErrors != (loadErrors{}) {
		return loadResult{}, fmt.Errorf("requests failed: %+v of %d; quiet the machine, or look into the limiter", r.loadErrors, r.Requests)
	}
	if r.Requests < 1 || r.Duration < 1 {
		return loadResult{}, fmt.Errorf("wrk made no request: %q; check that the machine is not overloaded", out)
	}
	return r, nil
}
