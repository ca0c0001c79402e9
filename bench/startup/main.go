// Startup measures what happens around requests: how long Envoy takes from its start to its first decision, how large the
// module is, what memory it takes for each worker, and by how much a request is delayed while Envoy takes over another
// policy. Each beside an Envoy without a limiter.
//
//	go run ./bench/startup [-rounds 5] [-seconds 8] [-rate 500] [-json FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// settings say how often and for how long to measure.
type settings struct {
	Rounds  int    `json:"rounds"`
	Seconds int    `json:"seconds"` // of each load, with and without updates
	Rate    int    `json:"rate"`    // requests a second meanwhile
	JSON    string `json:"-"`       // file; "": none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parseSettings(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(2)
	}
	if err := run(ctx, s, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func parseSettings(args []string, usage io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("startup", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&s.Rounds, "rounds", 5, "how often Envoy is started in each way")
	f.IntVar(&s.Seconds, "seconds", 8, "how long the load lasts, with updates and without")
	f.IntVar(&s.Rate, "rate", 500, "requests a second meanwhile")
	f.StringVar(&s.JSON, "json", "", "file for all figures as JSON")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag; see -help", f.Arg(0))
	}
	for name, n := range map[string]int{"rounds": s.Rounds, "seconds": s.Seconds, "rate": s.Rate} {
		if n < 1 || n > 10_000 {
			return s, fmt.Errorf("-%s %d is out of range; give 1 to 10,000", name, n)
		}
	}
	return s, figure.CheckWritable(s.JSON)
}

// run measures and reports. Whatever it started has ended when it returns.
func run(ctx context.Context, s settings, out, progress io.Writer) error {
	r := report{Machine: stand.DescribeMachine(), Settings: s}
	project, err := stand.OpenProject(ctx, ".", progress)
	if err != nil {
		return err
	}
	redis, err := project.StartRedis(ctx)
	if err != nil {
		return err
	}
	defer redis.Stop()
	if r.Versions, err = project.DescribeVersions(ctx, redis, ""); err != nil {
		return err
	}
	if r.Size, err = moduleSize(project.Module); err != nil {
		return err
	}
	b := &bench{project: project, redis: redis, settings: s, progress: progress}
	if r.Starts, err = b.measureStarts(ctx); err != nil {
		return err
	}
	if r.Memory, err = b.measureMemory(ctx); err != nil {
		return err
	}
	if r.Updates, err = b.measureUpdates(ctx); err != nil {
		return err
	}
	if _, err := io.WriteString(out, r.text()); err != nil {
		return err
	}
	return figure.WriteJSON(s.JSON, r)
}
