// Package chaos does harm to everything around the module, one fault after another at random times, while requests come in
// at a steady rate through two Envoys, and looks from outside at what became of each request.
//
//	go test ./integration/chaos                    every fault but the slow ones once, in an order that is always the same
//	go test ./integration/chaos -v -for 5m -seed 0 for five minutes, in an order of its own, which the log names
//	go test ./integration/chaos -v -fault freeze   that one alone
//
// What always holds is in checks_test.go.
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"routelimit/servers"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "of the order and the times of the faults; 0: another one each time")
	forFlag   = flag.Duration("for", 0, "how long to go on; 0: every fault once, but the slow ones")
	faultFlag = flag.String("fault", "", "the only faults, by their names, with commas between")
)

// rig is what all tests share.
var rig struct {
	single   *servers.Redis
	nodes    *servers.Cluster
	upstream *upstream
	envoys   [2]*servers.Envoy
	files    files
}

const (
	workers   = 2 // of each Envoy
	drainTime = time.Second
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := start(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "before the tests: %v\n", err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		for i, e := range rig.envoys {
			lines := strings.Split(e.Log(), "\n")
			fmt.Fprintf(os.Stderr, "the last of the log of envoy %d:\n%s\n", i, strings.Join(lines[max(0, len(lines)-100):], "\n"))
		}
	}
	return code
}

func start(ctx context.Context) error {
	tools := servers.NewToolbox(os.Stderr)
	redis, err := tools.Redis(ctx, "")
	if err != nil {
		return err
	}
	envoy, err := tools.Envoy(ctx, os.Getenv("ENVOY_VERSION"))
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	var module string
	var failed [3]error
	wait.Go(func() { rig.single, failed[0] = servers.StartRedis(ctx, servers.RedisOptions{Binary: redis}) })
	wait.Go(func() {
		rig.nodes, failed[1] = servers.StartCluster(ctx, servers.ClusterOptions{
			Binary: redis, Primaries: 3, Replicas: 1, Args: []string{"--cluster-require-full-coverage", "no"},
		})
	})
	wait.Go(func() { module, failed[2] = buildInjected(ctx) })
	wait.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	if rig.upstream, err = startUpstream(); err != nil {
		return err
	}
	if rig.files, err = makeFiles(rig.upstream.addr, module); err != nil {
		return err
	}
	for i := range rig.envoys {
		wait.Go(func() {
			rig.envoys[i], failed[i] = servers.StartEnvoy(ctx, servers.EnvoyOptions{
				Binary: envoy, Config: rig.files.bootstrap, WorkDir: "../..", Concurrency: workers,
				Args: []string{
					"--drain-time-s", fmt.Sprint(drainTime.Seconds()),
					"--service-node", "chaos", "--service-cluster", "chaos", // listeners from files need a name
				},
			})
		})
	}
	wait.Wait()
	return errors.Join(failed[:]...)
}

func stop() {
	for _, e := range rig.envoys {
		if e != nil {
			e.Stop()
		}
	}
	if rig.upstream != nil {
		rig.upstream.server.Close()
	}
	if rig.single != nil {
		rig.single.Stop()
	}
	if rig.nodes != nil {
		rig.nodes.Stop()
	}
	rig.files.remove()
}
