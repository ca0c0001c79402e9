package policy

import (
	"time"

	"routelimit/policy/strictjson"
)

// What spares Redis, and what holds while it does not answer.

var denyCacheFields = []strictjson.Field[Policy]{
	{
		Name: "max_entries",
		Read: func(p *Policy, n *strictjson.Node) {
			most, _ := n.Whole(1, 1<<17)
			p.DenyCache.MaxEntries = int(most)
		},
		Doc: prose("how many refused callers each worker remembers; a new one takes the place of the oldest. " +
			"One takes about 300 bytes, all of it from the first refusal on, and what its key has beyond 64"),
		Default: prose(`8192`), Example: prose(`1000`),
	},
	{
		Name: "max_time",
		Read: func(p *Policy, n *strictjson.Node) {
			p.DenyCache.MaxTime, _ = n.Duration(0, 30*time.Second)
		},
		Doc: prose("for how long a refusal is repeated without asking, if Redis made the caller wait longer: so late does somebody notice whose " +
			"count an operator has reset. `0s`: every request is asked about"),
		Default: prose(`"30s"`), Example: prose(`"5s"`),
	},
}

var breakerFields = []strictjson.Field[Policy]{
	{
		Name: "failures",
		Read: func(p *Policy, n *strictjson.Node) {
			failures, _ := n.Whole(0, 1000)
			p.Breaker.Failures = int(failures)
		},
		Doc: prose("after how many failures in a row a worker stops asking: a stream that broke or could not be opened, or requests that waited " +
			"in vain. Their routes' `on_error` then holds at once. 0: it always asks"),
		Default: prose(`5`), Example: prose(`10`),
	},
	{
		Name: "max_delay",
		Read: func(p *Policy, n *strictjson.Node) {
			p.Breaker.MaxDelay, _ = n.Duration(10*time.Millisecond, time.Minute)
		},
		Doc:     prose("how long a worker waits at most until it tries again, with one request. It begins with 2 ms and doubles, a part of it by chance"),
		Default: prose(`"1s"`), Example: prose(`"5s"`),
	},
}

var localFields = []strictjson.Field[Policy]{
	{
		Name: "share_percent", Read: func(p *Policy, n *strictjson.Node) { p.Local.SharePercent, _ = n.Whole(1, 100) },
		Doc: prose("which share of each limit, in percent, each worker of each Envoy lets a caller have; at least one request. " +
			"See algorithms.md for what a fleet lets pass"),
		Default: prose(`10`), Example: prose(`5`),
	},
}
