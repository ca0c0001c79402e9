package standalone

import (
	"context"
	"encoding/json"
	"time"

	hosttest "routelimit/host-test"
)

// The one request of a VM that has served nobody yet. Its key ends by itself after a few seconds.
const (
	warmRoute   = "GET /routelimit-start"
	warmPath    = "/routelimit-start"
	warmAddress = "127.0.0.1"
	warmKey     = ":{GET:/routelimit-start|ip:" + warmAddress + "}"
)

const (
	warmPatience = 2 * time.Second
	warmPoll     = 2 * time.Millisecond
)

// warm has the VM decide once, by a policy of its own, so that no caller pays for what happens the first time: memory that
// grows, a connection and a script that Redis does not have yet. What it has counted is forgotten. Where Redis does not
// answer, callers will be told, as ever.
func (w *worker) warm(ctx context.Context) error {
	o := &w.server.options
	var plugin *hosttest.Plugin
	var stream *hosttest.Stream
	var err error
	if ended := w.do(func() {
		if plugin, err = w.vm.NewPlugin(warmPolicy(o)); err != nil {
			return
		}
		stream = plugin.NewStream()
		stream.SetProperty([]byte(warmAddress+":1"), "source", "address")
		stream.SendHeaders(hosttest.Headers{{":method", "GET"}, {":path", warmPath}, {":authority", "localhost"}, {":scheme", "http"}}, true)
	}); ended != nil || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, warmPatience)
	defer cancel()
	for waits := true; waits && ctx.Err() == nil; {
		select {
		case <-time.After(warmPoll):
		case <-ctx.Done():
		}
		_ = w.do(func() { waits = stream.Paused() }) // nobody else ends the worker now
	}
	o.Redis.Del(ctx, o.KeyPrefix+warmKey)
	return w.do(func() {
		plugin.Close()
		w.host.ForgetMetrics()
		clear(w.histogram)
	})
}

// warmPolicy counts in the same Redis, under the same prefix.
func warmPolicy(o *Options) []byte {
	type object = map[string]any
	text, err := json.Marshal(object{
		"redis":   object{"cluster": o.Cluster, "key_prefix": o.KeyPrefix, "timeout": "1s"},
		"routes":  object{warmRoute: object{"identity": "ip", "limit": 1000, "window": "1s", "algorithm": "fixed_window"}},
		"default": nil,
	})
	if err != nil {
		panic(err) // of texts and numbers
	}
	return text
}
