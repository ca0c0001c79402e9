package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/load"
)

// loading is one kind of load.
type loading struct {
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate,omitempty"` // requests a second; 0: a closed loop
	Identities  string  `json:"identities"`     // load.Hot, load.Many or load.Mix
}

const (
	openConnections = 256 // at a fixed rate: more than are ever on their way, unless something is stuck
	severalAt       = 64  // connections of a closed loop of several callers, if measured at all
)

// loadings are a closed loop at each number of connections with the first kind of identities; with each other kind, at one
// number of connections; and fixed rates with the last kind.
func loadings(connections []int, rates []float64, identities []string) (list []loading) {
	for _, n := range connections {
		list = append(list, loading{Connections: n, Identities: identities[0]})
	}
	at := connections[len(connections)-1]
	if slices.Contains(connections, severalAt) {
		at = severalAt
	}
	for _, kind := range identities[1:] {
		list = append(list, loading{Connections: at, Identities: kind})
	}
	for _, rate := range rates {
		list = append(list, loading{Connections: openConnections, Rate: rate, Identities: identities[len(identities)-1]})
	}
	return list
}

// open says that requests come at a fixed rate.
func (l loading) open() bool { return l.Rate > 0 }

func (l loading) String() string {
	name := figure.Plural(l.Connections, "connection")
	if l.open() {
		name = fmt.Sprintf("%g requests a second", l.Rate)
	}
	switch l.Identities {
	case load.Many:
		name += fmt.Sprintf(", %d callers", callers)
	case load.Mix:
		name += fmt.Sprintf(", %d callers, few busy", callers)
	}
	return name
}

// run puts the load on a column. Each column of a round meets the same callers at the same moments.
func (l loading) run(ctx context.Context, c *column, length time.Duration, seed uint64) (*load.Result, error) {
	caller, err := load.Callers(l.Identities, callers, seed)
	if err != nil {
		return nil, err
	}
	return load.Run(ctx, load.Plan{
		Addrs: []string{c.addr}, Connections: l.Connections, Rate: l.Rate, Length: length, Seed: seed,
		Speak: &load.HTTP{Path: measuredPath, Header: callerHeader, Caller: caller, Status: c.answers()},
	})
}
