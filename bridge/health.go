package bridge

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// watchPeriod is how often Redis is asked whether it answers, and how long it may take.
const watchPeriod = time.Second

// watch asks Redis again and again until ctx ends, and says by health whether the bridge is of use.
func (b *Bridge) watch(ctx context.Context) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, watchPeriod)
		err := b.asker.redis.Ping(asking).Err()
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.warn("redis", "Redis does not answer PING: "+err.Error())
		}
		b.setReady(err == nil)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// setReady notes whether the bridge is of use, by the gRPC service's own name and for the server as a whole.
func (b *Bridge) setReady(ready bool) {
	if was := b.ready.Swap(ready); ready && !was {
		b.log.Info("Redis answers")
	}
	state := healthpb.HealthCheckResponse_NOT_SERVING
	if ready {
		state = healthpb.HealthCheckResponse_SERVING
	}
	b.health.SetServingStatus("", state)
	b.health.SetServingStatus(service, state)
}
