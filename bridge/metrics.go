package bridge

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"routelimit/resp"
)

// end is how a stream ended.
type end uint8

const (
	endClient end = iota
	endDrained
	endSlow
	endMalformed
	endTooLarge
	endTooMany
	endPanic
	ends
)

var endNames = [ends]string{"client", "drained", "slow", "malformed", "too_large", "too_many", "panic"}

// buckets are the bounds of the histogram of what Redis takes.
var buckets = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond,
	5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

// metrics count what an operator sees. Every command that came is counted in one of answered, errors, refused, overload.
type metrics struct {
	answered    atomic.Int64
	errors      []atomic.Int64 // by resp.Failure
	refused     [len(refusals)]atomic.Int64
	overload    atomic.Int64
	scriptsSent atomic.Int64
	inFlight    atomic.Int64
	streams     atomic.Int64
	ends        [ends]atomic.Int64
	took        [len(buckets) + 1]atomic.Int64 // messages, by the first bucket that holds them
	tookSum     atomic.Int64                   // ns
}

func newMetrics() *metrics { return &metrics{errors: make([]atomic.Int64, len(resp.Failures()))} }

func (m *metrics) failed(kind resp.Failure) { m.errors[kind].Add(1) }

// asked counts what Redis took for one message.
func (m *metrics) asked(took time.Duration) {
	i := 0
	for i < len(buckets) && took > buckets[i] {
		i++
	}
	m.took[i].Add(1)
	m.tookSum.Add(int64(took))
}

// write writes Prometheus' text format.
// https://prometheus.io/docs/instrumenting/exposition_formats/
func (m *metrics) write(w io.Writer, ready bool, connections uint32) {
	head := func(name, kind, help string) { fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind) }
	one := func(name, kind, help string, value int64) {
		head(name, kind, help)
		fmt.Fprintf(w, "%s %d\n", name, value)
	}
	const commands = "routelimit_bridge_commands_total"
	head(commands, "counter", "Commands of the module by what became of them.")
	fmt.Fprintf(w, "%s{outcome=\"answered\",kind=\"\"} %d\n", commands, m.answered.Load())
	fmt.Fprintf(w, "%s{outcome=\"overload\",kind=\"\"} %d\n", commands, m.overload.Load())
	for i := range m.errors {
		fmt.Fprintf(w, "%s{outcome=\"error\",kind=\"%v\"} %d\n", commands, resp.Failure(i), m.errors[i].Load())
	}
	for i := RefuseCommand; int(i) < len(refusals); i++ {
		fmt.Fprintf(w, "%s{outcome=\"refused\",kind=\"%v\"} %d\n", commands, i, m.refused[i].Load())
	}
	one("routelimit_bridge_commands_in_flight", "gauge", "Commands that wait for Redis.", m.inFlight.Load())
	one("routelimit_bridge_scripts_sent_total", "counter", "Commands repeated with their script's text.", m.scriptsSent.Load())
	one("routelimit_bridge_streams", "gauge", "Open streams.", m.streams.Load())
	const endedStreams = "routelimit_bridge_streams_ended_total"
	head(endedStreams, "counter", "Streams that ended, by the cause.")
	for i := range m.ends {
		fmt.Fprintf(w, "%s{cause=\"%s\"} %d\n", endedStreams, endNames[i], m.ends[i].Load())
	}
	m.writeTook(w)
	one("routelimit_bridge_redis_connections", "gauge", "Connections to Redis.", int64(connections))
	state := int64(0)
	if ready {
		state = 1
	}
	one("routelimit_bridge_ready", "gauge", "1 while Redis answers and the bridge is not ending.", state)
}

func (m *metrics) writeTook(w io.Writer) {
	const name = "routelimit_bridge_redis_seconds"
	fmt.Fprintf(w, "# HELP %s What Redis took for the commands of one message.\n# TYPE %[1]s histogram\n", name)
	sum := int64(0)
	for i, bound := range buckets {
		sum += m.took[i].Load()
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", name, bound.Seconds(), sum)
	}
	sum += m.took[len(buckets)].Load()
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]g\n%[1]s_count %[2]d\n", name, sum, time.Duration(m.tookSum.Load()).Seconds())
}
