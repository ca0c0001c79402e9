// Bench measures what a limiter adds to a request: routelimit in several ways, envoyproxy/ratelimit, Envoy's own local
// limiter and no limiter at all, side by side, on one Envoy binary with one worker, one Redis and one upstream, in several
// rounds that take turns.
//
//	go run ./bench [-rounds 5] [-seconds 2] [-connections 1,8,64,256] [-rates 1000,4000] [-identities hot,many,mix]
//	               [-columns …] [-json FILE] [-svg FILE]
//	go run ./bench -overshoot [-rounds 5] [-seconds 2] [-json FILE]
//
// With -overshoot it measures instead how many more requests than a limit allows get through four Envoys at once; see
// overshoot.go. bench/scaling and bench/startup measure other things.
//
// RATELIMIT_BIN names a binary of envoyproxy/ratelimit; without it those columns are left out. ENVOY and REDIS name the
// servers, as for `make run`. Needs Linux, for the load and the processor times.
//
// The load is a closed loop, where each connection sends its next request when the last one is answered, or a fixed rate,
// where a request's time runs from the moment at which it was to be sent: see package load.
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

	"routelimit/bench/figure"
	"routelimit/bench/stand"
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
	for _, text := range s.left {
		fmt.Fprintf(progress, "left out: %s\n", text)
	}
	machine := stand.DescribeMachine()
	rig, err := startRig(ctx, s, progress)
	if err != nil {
		return err
	}
	defer rig.stop()
	versions, err := rig.project.DescribeVersions(ctx, rig.redis, rig.serviceBinary(s))
	if err != nil {
		return err
	}
	cells, err := measure(ctx, s, rig, progress)
	if err != nil {
		return err
	}
	r := newReport(machine, versions, s, cells)
	if err := r.write(os.Stdout); err != nil {
		return err
	}
	return errors.Join(figure.WriteJSON(s.JSON, r), figure.WriteFile(s.SVG, r.plot()))
}
