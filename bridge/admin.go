package bridge

import (
	"io"
	"net/http"
)

// admin serves /healthz, which says that the process lives, /readyz, which says that it is of use, and /metrics.
func (b *Bridge) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !b.ready.Load() {
			http.Error(w, "Redis does not answer, or the bridge is ending; its log has more", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/plain; version=0.0.4")
		b.metrics.write(w, b.ready.Load(), b.asker.redis.PoolStats().TotalConns)
	})
	return mux
}
