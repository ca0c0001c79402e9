// Fetch brings the servers that routelimit is run and tested with into the project's folder .tools: the default Envoy
// and Redis, unless they are given by ENVOY= and REDIS= or found on PATH, or with -all every version that tests use.
//
//	go run ./servers/fetch [-all]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"routelimit/servers"
)

func main() {
	all := flag.Bool("all", false, "fetch every version")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := fetch(ctx, *all); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

func fetch(ctx context.Context, all bool) error {
	box := servers.NewToolbox(os.Stderr)
	if all {
		return box.FetchAll(ctx)
	}
	envoy, err := box.Envoy(ctx, "")
	if err != nil {
		return err
	}
	redis, err := box.Redis(ctx, "")
	if err != nil {
		return err
	}
	fmt.Printf("envoy %s\nredis %s\n", envoy, redis)
	return nil
}
