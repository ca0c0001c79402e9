//go:build wasip1

package shim

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

// Plugin is what Handle wants of a plugin context beyond the SDK's interface.
// The calls come with the plugin's own context in effect.
type Plugin interface {
	// NewHttpContext returns the context of a request.
	NewHttpContext(id uint32) types.HttpContext
	// OnReceive says that a message of size bytes can be read by Received.
	OnReceive(token uint32, size int)
	// OnClose says that the other end, or the way to it, has closed. It also
	// comes for tokens that OpenStream never told, after it failed.
	OnClose(token uint32, status uint32)
}

// The SDK keeps plugin contexts, and would keep those of requests as well. They
// are kept here: its maps were 40 of the 330 functions that a request ran.
var (
	plugins  = map[uint32]Plugin{}
	requests table[types.HttpContext]
)

// Handle makes p the plugin of the plugin context id, until that is deleted. A
// plugin context must be handled before its first request.
func Handle(id uint32, p Plugin) { plugins[id] = p }

// request returns the context of a request that the proxy has created before.
func request(id uint32) types.HttpContext {
	r, ok := requests.get(id)
	if !ok {
		panic("the proxy calls back for a request that it has not created")
	}
	return r
}
