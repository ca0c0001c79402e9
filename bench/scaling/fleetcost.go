package main

import (
	"fmt"
	"math"

	"routelimit/bench/figure"
)

// cost says what a decision costs one Redis in processor time, in microseconds. A Redis that is nearly idle wakes up for
// each message. The busier it is, the more messages have come by the time it looks, and share the waking: of the share of
// a core that it is busy, just as large a share of messages finds it awake. So a decision costs
//
//	alone - wake * share = alone / (1 + wake * rate)
//
// with a rate in decisions a microsecond, and Redis is fully busy at 1 / (alone - wake).
type cost struct {
	Alone float64 `json:"alone_us"`
	Wake  float64 `json:"wake_us"`
}

// fitCost takes the cost from measured points: 1 / CPU is a straight line over the rate, found by least squares. Points
// whose answers were late are left out, and so is the lowest rate, at which the processor itself falls asleep.
func fitCost(points []fleetPoint) (c cost, ok bool) {
	var n, x, y, xx, xy float64
	for _, p := range points {
		if p.Late || p.Rate == fleetRates[0] || p.CPU.Median <= 0 {
			continue
		}
		rate, inverse := p.PerSecond.Median/1e6, 1/p.CPU.Median
		n, x, y, xx, xy = n+1, x+rate, y+inverse, xx+rate*rate, xy+rate*inverse
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	c.Alone = n / (y - slope*x)
	c.Wake = slope * c.Alone
	return c, n >= 2 && c.Alone > c.Wake && c.Wake >= 0 && !math.IsInf(c.Alone, 0)
}

// at is what a decision costs at so many of them a second.
func (c cost) at(perSecond float64) float64 { return c.Alone / (1 + c.Wake*perSecond/1e6) }

// perSecond is how many decisions a second keep one Redis busy for this share of a core.
func (c cost) perSecond(share float64) float64 { return share * 1e6 / (c.Alone - share*c.Wake) }

// need is what a fleet asks of Redis.
type need struct {
	Envoys     int     `json:"envoys"`
	PerEnvoy   int     `json:"requests_a_second_for_each"`
	PerSecond  float64 `json:"decisions_a_second"`
	Together   float64 `json:"decisions_a_message"`
	Cores      float64 `json:"redis_cores"` // of one Redis; above 1 it does not keep up
	Primaries  int     `json:"primaries"`   // busy for planShare of a core at most
	EachHas    int     `json:"connections_for_each_primary"`
	MegabitsIn float64 `json:"megabits_a_second_to_redis"` // without TCP's and IP's own
	MegabitsTo float64 `json:"megabits_a_second_from_redis"`
}

const (
	planShare = 0.6 // of a core, of each primary: what is left is for peaks, and for a failover
	// linkTime is about what a question and its answer take from the worker to Redis and back, when both are well, in
	// seconds: what comes meanwhile goes together.
	linkTime = 500e-6
)

// needs calculates what fleets ask, at one decision a request, from the cost of a decision and its bytes.
func needs(c cost, read, wrote float64) (list []need) {
	for _, perEnvoy := range []int{100, 1000} {
		for _, envoys := range fleetEnvoys {
			n := need{Envoys: envoys, PerEnvoy: perEnvoy, PerSecond: float64(envoys * perEnvoy), EachHas: envoys * fleetWorkers}
			n.Together = together(float64(perEnvoy) / fleetWorkers)
			n.Cores = n.PerSecond * c.at(n.PerSecond) / 1e6
			if full := c.perSecond(1); n.PerSecond > full {
				n.Cores = n.PerSecond / full
			}
			n.Primaries = int(math.Ceil(n.PerSecond / c.perSecond(planShare)))
			n.MegabitsIn, n.MegabitsTo = n.PerSecond*read*8/1e6, n.PerSecond*wrote*8/1e6
			list = append(list, n)
		}
	}
	return list
}

// together is how many decisions a worker's message holds on average, at a rate of the worker: those that came, by chance,
// while the last one was on its way, and one if none did.
func together(perSecond float64) float64 {
	meanwhile := perSecond * linkTime
	return meanwhile + math.Exp(-meanwhile)
}

func needRows(c cost, list []need) [][]string {
	rows := [][]string{
		{fmt.Sprintf("Calculated: a decision costs Redis %.1f us alone, of which %.1f us are shared the busier it is; each primary busy for %.0f%% of a core at most",
			c.Alone, c.Wake, 100*planShare)},
		{"Envoys", "requests/s each", "decisions/s", "a message", "cores of one Redis", "primaries", "connections to each", "Mbit/s to Redis", "from Redis"},
	}
	for _, n := range list {
		rows = append(rows, []string{
			fmt.Sprint(n.Envoys), fmt.Sprint(n.PerEnvoy), figure.Whole(n.PerSecond), fmt.Sprintf("%.2f", n.Together), fmt.Sprintf("%.2f", n.Cores),
			fmt.Sprint(n.Primaries), fmt.Sprint(n.EachHas), figure.Whole(n.MegabitsIn), figure.Whole(n.MegabitsTo),
		})
	}
	return rows
}
