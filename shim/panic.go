//go:build wasip1

package shim

import (
	"runtime/debug"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/plainfmt"
)

// OnPanic is called with what a callback panicked with. It settles what the
// callback left open and returns what the proxy does with the request, where
// the callback was one of a request. Without it a panic only reaches the log,
// and the request goes on.
var OnPanic func(callback string, contextID uint32) types.Action

// guard ends a panic at an export. It must be deferred by the export itself.
func guard() {
	if v := recover(); v != nil {
		panicked(v)
	}
}

// guardAction is guard for the callbacks whose answer says what becomes of the
// request.
func guardAction(action *types.Action) {
	if v := recover(); v != nil {
		*action = panicked(v)
	}
}

func panicked(v any) (action types.Action) {
	callback, id := running.callback, running.context
	defer func() {
		if again := recover(); again != nil {
			Log(LogCritical, plainfmt.Sprintf("routelimit: panic while recovering from a panic in %s: %v", callback, again))
		}
	}()
	ReportPanic(callback, v)
	if OnPanic == nil {
		return types.ActionContinue
	}
	return OnPanic(callback, id)
}

// ReportPanic logs a panic that was recovered, where it happened included.
func ReportPanic(during string, v any) {
	Log(LogCritical, plainfmt.Sprintf("routelimit: recovered panic in %s: %v; please report it with this stack:\n%s", during, v, debug.Stack()))
}
