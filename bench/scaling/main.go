// Scaling measures how the cost of a request changes as things grow, one at a time: routes, limits of a route, identities,
// requests a second, workers, Envoys, Cluster primaries. And it measures what a fleet asks of Redis, by connections that
// send what so many workers would send.
//
//	go run ./bench/scaling [-axes routes,limits,…] [-rounds 3] [-seconds 2] [-json FILE] [-svg FOLDER]
//
// The values of an axis take turns over the rounds, and what is compared is taken within a round. Processor time is worth
// more than speed where other programs run: it changes less with what they do.
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
	s, err := parseSettings(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(2)
	}
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

// run measures and reports. Whatever it started has ended when it returns.
func run(ctx context.Context, s settings) error {
	progress := os.Stderr
	r := report{Machine: stand.DescribeMachine(), Settings: s}
	project, err := stand.OpenProject(ctx, ".", progress)
	if err != nil {
		return err
	}
	if r.Versions, err = versions(ctx, project); err != nil {
		return err
	}
	for _, a := range axes() {
		if !s.measures(a.name) {
			continue
		}
		fmt.Fprintf(progress, "%s: %d values, %s of %d s\n", a.title, len(a.values), figure.Plural(s.Rounds, "round"), s.Seconds)
		points, err := a.measure(ctx, s, project, progress)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		r.Axes = append(r.Axes, axisReport{Name: a.name, Points: points})
	}
	if s.measures(fleetName) {
		if r.Fleet, err = measureFleet(ctx, s, project, progress); err != nil {
			return fmt.Errorf("%s: %w", fleetName, err)
		}
		r.calculate()
	}
	if _, err := os.Stdout.WriteString(r.text()); err != nil {
		return err
	}
	return errors.Join(figure.WriteJSON(s.JSON, r), r.draw(s.SVG))
}

// versions asks a Redis that is started for it.
func versions(ctx context.Context, p *stand.Project) (stand.Versions, error) {
	redis, err := p.StartRedis(ctx)
	if err != nil {
		return stand.Versions{}, err
	}
	defer redis.Stop()
	return p.DescribeVersions(ctx, redis, "")
}
