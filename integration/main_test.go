// Package integration tests what ships: the module in a real Envoy with the project's envoy.yaml, in front of a real
// Redis and of a three-primary Cluster. ENVOY_VERSION chooses another Envoy than the default one.
//
// Starting an Envoy costs seconds, since it compiles the module, so the tests share a few (stage_test.go). Each test has
// listeners of its own in them, with a policy of its own: it declares them with listen (listeners_test.go). Windows run
// in real time here; what happens at their boundaries is tested elsewhere, under a clock that the test moves.
package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	logging.Disable() // a bridge's clients would tell each time that a Redis is dead
	remove, err := makeDynamicFolder()
	if err != nil {
		fmt.Fprintf(os.Stderr, "before the tests: %v\n", err)
		return 1
	}
	defer remove()
	defer stopShared()
	code := m.Run()
	if err := checkWhatIsLeft(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "after all tests: %v\n", err)
		return 1
	}
	return code
}
