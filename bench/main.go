// Bench measures what a limiter adds to a request: routelimit, envoyproxy/ratelimit and no limiter at all, side by side,
// on one Envoy binary with one worker, one Redis and one upstream, in several rounds that take turns.
//
//	go run ./bench [-rounds 5] [-seconds 3] [-connections 1,8,64] [-columns …] [-json FILE]
//	go run ./bench -overshoot [-rounds 5] [-seconds 3] [-json FILE]
//
// With -overshoot it measures instead how many more requests than a limit allows get through four Envoys at once; see
// overshoot.go.
//
// RATELIMIT_BIN names a binary of envoyproxy/ratelimit; without it that column is left out. ENVOY and REDIS name the
// servers, as for `make run`. Needs wrk, and Linux for the processor times.
//
// The load is a closed loop: each connection sends its next request when the last one is answered. wrk corrects its
// latencies for what a closed loop hides, with the mean latency as the expected interval, so a p99 here is somewhat above
// the raw one, for all columns alike.
//
// Before anything is measured each column must refuse a request that is over its limit, and after each cell the number of
// decisions that Redis took and the status of every response are checked: a broken limiter cannot look fast.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parseSettings(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	err = run(ctx, s)
	if ctx.Err() != nil {
		err = errors.New("interrupted; nothing was measured to the end")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures and reports. Whatever it started has ended when it returns.
func run(ctx context.Context, s settings) error {
	progress := os.Stderr
	if s.Overshoot {
		return overshoot(ctx, s, os.Stdout, progress)
	}
	load, err := newLoad()
	if err != nil {
		return err
	}
	defer load.close()
	machine := describeMachine()
	rig, err := startRig(ctx, s, progress)
	if err != nil {
		return err
	}
	defer rig.stop()
	versions, err := describeVersions(ctx, s, rig, load)
	if err != nil {
		return err
	}
	cells, err := measure(ctx, s, rig, load, progress)
	if err != nil {
		return err
	}
	r := newReport(machine, versions, s, cells)
	if err := r.write(os.Stdout); err != nil {
		return err
	}
	return writeJSON(s.JSON, r)
}
