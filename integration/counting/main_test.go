// Package counting tests that counts stay right while things happen to Redis: four Envoys, each with envoy.yaml and the
// module that ships, send load at known identities, and afterwards what they let through is compared with what the
// algorithms allow and with what Redis has stored.
//
//	go test ./integration/counting          one Redis and one Cluster
//	go test ./integration/counting -all -v  every server that can be fetched, and the one that REDIS= names
//
// Windows run in real time here; what an algorithm admits is tested elsewhere, under a clock that the test moves.
package counting

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"routelimit/servers"
)

var all = flag.Bool("all", false, "count on every server, not only on the default ones")

// stores are the servers that this run counts on.
var stores []*store

// rig is what all tests share.
var rig struct {
	upstream *servers.Upstream
	envoys   [4]*servers.Envoy
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if err := start(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "before the tests: %v\n", err)
		return 1
	}
	code := m.Run()
	if err := checkEnvoys(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "after all tests: %v\n", err)
		return 1
	}
	return code
}

// startTime is for the busiest of machines: four Envoys compile the module at once.
const startTime = 5 * time.Minute

func start(ctx context.Context) error {
	tools := servers.NewToolbox(os.Stderr)
	var err error
	if stores, err = choose(ctx, tools); err != nil {
		return err
	}
	for _, s := range stores {
		if err := s.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if rig.upstream, err = servers.StartUpstream(servers.UpstreamOptions{}); err != nil {
		return err
	}
	config, err := configuration(stores, rig.upstream.Addr())
	if err != nil {
		return err
	}
	binary, err := tools.Envoy(ctx, os.Getenv("ENVOY_VERSION"))
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	var failed [len(rig.envoys)]error
	for i := range rig.envoys {
		wait.Go(func() {
			rig.envoys[i], failed[i] = servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: binary, Config: config, WorkDir: "../.."})
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
		rig.upstream.Stop()
	}
	for _, s := range stores {
		s.stop()
	}
}

// checkEnvoys finds that no module panicked and that none died.
func checkEnvoys(ctx context.Context) error {
	var wrong []error
	for i, e := range rig.envoys {
		stats, err := e.Stats(ctx, `routelimit_panics_total|routelimit_state_restarted_total|vm_reload`)
		if err != nil {
			return err
		}
		for name, n := range stats {
			if n != 0 {
				wrong = append(wrong, fmt.Errorf("envoy %d: %s is %d", i, name, n))
			}
		}
	}
	return errors.Join(wrong...)
}

// eachStore runs a test on every server, or on every one of those for which it makes sense.
func eachStore(t *testing.T, test func(t *testing.T, s *store), fit ...func(*store) bool) {
	for _, s := range stores {
		if len(fit) > 0 && !fit[0](s) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // each server has callers of its own
			test(t, s)
		})
	}
}
