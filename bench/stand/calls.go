package stand

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"routelimit/servers"
)

// Calls are what one or more Redis servers have been asked so far.
type Calls struct {
	// Decisions are calls of routelimit's scripts, and envoyproxy/ratelimit's INCRBY. Failed ones count too: a script that
	// Redis never knows, so that its text is sent each time, must not go unseen.
	Decisions int64
	// All are calls of any command, those inside of scripts among them, but not INFO, by which this is asked, and not what
	// servers say to each other.
	All int64
	// Reads are how often something was read from a connection: a message of several commands is read at once.
	Reads       int64
	Read, Wrote int64 // bytes from and to the network, those of INFO among them
}

// Less is what was asked since an earlier reading.
func (c Calls) Less(before Calls) Calls {
	return Calls{c.Decisions - before.Decisions, c.All - before.All, c.Reads - before.Reads, c.Read - before.Read, c.Wrote - before.Wrote}
}

// ReadCalls sums up over servers.
func ReadCalls(ctx context.Context, nodes ...*servers.Redis) (sum Calls, err error) {
	for _, r := range nodes {
		info, err := r.Client().Info(ctx, "commandstats", "stats").Result()
		if err != nil {
			return sum, fmt.Errorf("redis does not show its statistics: %w; see its log %s", err, r.LogFile())
		}
		one := parseCalls(info)
		sum.Decisions += one.Decisions
		sum.All += one.All
		sum.Reads += one.Reads
		sum.Read += one.Read
		sum.Wrote += one.Wrote
	}
	return sum, nil
}

// SettledCalls is ReadCalls once nothing that was cut off is on its way any more.
func SettledCalls(ctx context.Context, nodes ...*servers.Redis) (Calls, error) {
	last := int64(-1)
	for range 50 {
		now, err := ReadCalls(ctx, nodes...)
		if err != nil || now.Decisions == last {
			return now, err
		}
		last = now.Decisions
		select {
		case <-ctx.Done():
			return Calls{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return Calls{}, fmt.Errorf("redis is asked for decisions for a second after the load has ended; see who else uses %s", nodes[0].Addr())
}

// parseCalls reads INFO commandstats and stats, with lines such as
//
//	cmdstat_evalsha:calls=12,usec=120,usec_per_call=10.00,rejected_calls=0,failed_calls=0
//	total_net_input_bytes:4096
func parseCalls(info string) (c Calls) {
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		command, isCommand := strings.CutPrefix(name, "cmdstat_")
		count, _, _ := strings.Cut(strings.TrimPrefix(rest, "calls="), ",")
		n, err := strconv.ParseInt(count, 10, 64)
		switch {
		case err != nil:
		case name == "total_reads_processed":
			c.Reads = n
		case name == "total_net_input_bytes":
			c.Read = n
		case name == "total_net_output_bytes":
			c.Wrote = n
		case !isCommand || command == "info" || strings.HasPrefix(command, "cluster") || command == "ping" || command == "replconf":
		default:
			c.All += n
			if command == "evalsha" || command == "eval" || command == "incrby" {
				c.Decisions += n
			}
		}
	}
	return c
}
