package policy

import (
	"strings"
	"time"

	"routelimit/limit"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

const (
	mostLimit = 1<<53 - 1 // the largest integer that Redis' Lua holds exactly
	mostCost  = 1_000_000
	maxName   = 64
)

// limitDraft is a limit that is being read, with the places of what is checked
// across fields.
type limitDraft struct {
	reader *reader
	limit  *Limit

	window, burst, lease *strictjson.Node
	quotas               []quotaAt // all that the limit may be
}

// quotaAt is a limit's number, or that of a plan, and where it stands.
type quotaAt struct {
	node  *strictjson.Node
	value int64
}

var limitFields = []strictjson.Field[limitDraft]{
	{
		Name: "name", Read: (*limitDraft).readName,
		Doc: prose("what the limit is called in metrics, logs and headers, unique in its route whatever the letter case; " +
			"if not set, the text of its identity, with the window behind it where there are two"),
		Example: prose(`"per minute"`),
	},
	{
		Name: "identity", Read: (*limitDraft).readIdentity,
		Missing: `write who shares a count, such as "identity": "ip", or "all" for everybody`,
		Doc: prose("who shares a count: names with `+` between them are all needed, of alternatives with `|` between them the first counts that is present. " +
			"`ip` is the client's address, `all` everybody. Where nothing is present, `ip` counts"),
		Example: prose(`"user_id|ip"`),
	},
	{
		Name: "limit", Read: (*limitDraft).readQuota,
		Missing: `write how many requests pass in a window, such as "limit": 100`,
		Doc: prose("how many requests pass in a window, more exactly how much cost; 0 refuses every request without asking Redis. " +
			"Multiplied by the window in ms it must stay below 2^53, and a sliding log takes at most 1,000. " +
			"An object gives each plan a limit of its own"),
		Example: prose(`100`),
	},
	{
		Name: "window",
		Read: func(d *limitDraft, n *strictjson.Node) {
			d.window = n
			d.limit.Window, _ = n.Duration(limit.MinWindow, limit.MaxWindow)
		},
		Missing: `write a duration, such as "window": "1m"`,
		Doc:     prose("the time in which `limit` holds, a whole number of seconds"),
		Example: prose(`"1h30m"`),
	},
	{
		Name: "algorithm",
		Read: func(d *limitDraft, n *strictjson.Node) {
			names := limit.AlgorithmNames()
			choice, _ := n.OneOf(names...)
			d.limit.Algorithm, _ = limit.ParseAlgorithm(names[choice])
		},
		Doc:     prose("how it is counted; see algorithms.md"),
		Default: prose(`"sliding_window"`), Example: prose(`"token_bucket"`),
	},
	{
		Name: "burst",
		Read: func(d *limitDraft, n *strictjson.Node) {
			d.burst = n
			d.limit.Burst, _ = n.Whole(1, mostLimit)
		},
		Doc:     prose("how many tokens a token bucket holds, so how much passes at once; if not set, as many as `limit`"),
		Example: prose(`20`),
	},
	{
		Name: "cost", Read: (*limitDraft).readCost,
		Doc:     prose("how much of the limit one request takes; `header:` and a name for what a filter before this one says in a header"),
		Default: prose(`1`), Example: prose(`5`),
	},
	{
		Name: "shadow", Read: func(d *limitDraft, n *strictjson.Node) { d.limit.Shadow, _ = n.Bool() },
		Doc:     prose("whether the limit refuses nobody and only counts, on its own, what it would have refused"),
		Default: prose(`false`), Example: prose(`true`),
	},
	{
		Name: "bucket", Read: func(d *limitDraft, n *strictjson.Node) { d.limit.Bucket = readLabel(n) },
		Doc:     prose("a name: limits with the same one, on whatever route, share their counts; if not set, the route has its own"),
		Example: prose(`"search"`),
	},
	{
		Name: "count", Read: (*limitDraft).readCount,
		Doc: prose("only responses with these status codes stay counted, the others are given back; if not set, all. " +
			"A client that leaves before the response stays counted, and a request that Redis did not answer in time may"),
		Example: prose(`[401, 403]`),
	},
	{
		Name: "enforce_percent",
		Read: func(d *limitDraft, n *strictjson.Node) {
			if percent, ok := n.Whole(0, everybody); ok {
				d.limit.EnforcePercent = int(percent)
			}
		},
		Doc: prose("for how many in a hundred callers, by a hash of their identity, the limit refuses. " +
			"For the others it counts alike and refuses nobody"),
		Default: prose(`100`), Example: prose(`10`),
	},
	{
		Name: "lease", Read: (*limitDraft).readLease,
		Doc: prose("for how many requests of a busy caller Redis is asked at once: a worker takes up to so many in advance, charged at once, and lets them pass " +
			"without asking until the window ends. `auto` follows the caller's rate, up to a sixteenth of the limit"),
		Example: prose(`"auto"`),
	},
}

func (d *limitDraft) readName(n *strictjson.Node) {
	n.StatePattern(prose("^[A-Za-z0-9_.:/|+-]([A-Za-z0-9_.:/|+ -]{0,62}[A-Za-z0-9_.:/|+-])?$"))
	text, ok := n.Text()
	if ok && !isLimitName(text) {
		n.Fail(`%s is no name for a limit; write 1 to %d letters, digits, blanks and any of "._:/|+-", no blank at either end`, n.Show(), maxName)
	}
	d.limit.Name = text
}

// isLimitName keeps to what needs no escape in metrics, logs and headers.
func isLimitName(text string) bool {
	if text == "" || len(text) > maxName || text[0] == ' ' || text[len(text)-1] == ' ' {
		return false
	}
	for _, r := range text {
		switch r {
		case ' ', ':', '/', '|', '+':
		default:
			if !isLabelRune(r) {
				return false
			}
		}
	}
	return true
}

func (d *limitDraft) readIdentity(n *strictjson.Node) {
	n.StatePattern(prose("^[a-z][a-z0-9_]*([+|][a-z][a-z0-9_]*)*$"))
	text, ok := n.Text()
	if !ok {
		return
	}
	known := d.reader.expressions
	if known[text] == nil {
		expression, err := d.reader.policy.definitions.ParseExpr(text)
		if err != nil {
			n.Fail("%v", err)
			return
		}
		known[text] = expression
	}
	d.limit.Identity = known[text]
}

func (d *limitDraft) readQuota(n *strictjson.Node) {
	if n.Kind() != strictjson.Object {
		d.limit.Limit.Limit = d.readQuotaValue(n)
	}
	if n.Either(strictjson.Object) {
		d.readPlans(n)
	}
}

func (d *limitDraft) readQuotaValue(n *strictjson.Node) int64 {
	value, _ := n.Whole(0, mostLimit)
	d.quotas = append(d.quotas, quotaAt{n, value})
	return value
}

func (d *limitDraft) readCost(n *strictjson.Node) {
	if n.Kind() != strictjson.String {
		d.limit.Cost, _ = n.Whole(1, mostCost)
	}
	if n.Either(strictjson.String) {
		d.readCostHeader(n)
	}
}

func (d *limitDraft) readCostHeader(n *strictjson.Node) {
	n.StatePattern(prose("^header::?[0-9A-Za-z!#$%&'*+.^_`|~-]+$"))
	text, ok := n.Text()
	if !ok {
		return
	}
	source, err := identity.ParseSource(text)
	switch {
	case err == nil && source.Kind() == "header":
		d.limit.CostFrom = source
	case err == nil || !strings.HasPrefix(text, "header:"):
		n.Fail(`%s is no cost; write a whole number, or "header:" and the name of a header that a filter before this one sets`, n.Show())
	default:
		n.Fail("%v", err)
	}
}

func (d *limitDraft) readCount(n *strictjson.Node) {
	n.State(func(f *strictjson.Facts) {
		f.LeastItems = 1
		f.Unique = true
	})
	statuses := n.Elements("[401, 403]")
	if n.Kind() == strictjson.Array && len(statuses) == 0 {
		n.Fail("the list is empty, so nothing would stay counted; write status codes, such as [401, 403], or remove it")
	}
	for _, element := range statuses {
		status, ok := element.Whole(200, 599)
		if ok && len(d.limit.Count) > 0 && d.limit.Counts(int(status)) {
			element.Fail("%d occurs twice; write it once", status)
		}
		d.limit.Count = append(d.limit.Count, int(status))
	}
}

// readLimit reads one element of "limits".
func (r *reader) readLimit(n *strictjson.Node) limitDraft {
	d := r.newLimit()
	before := r.document.Count()
	if strictjson.ReadObject(n, &d, limitFields) {
		d.finish(before)
	}
	return d
}

func (r *reader) newLimit() limitDraft {
	return limitDraft{reader: r, limit: &Limit{Cost: 1, EnforcePercent: everybody}}
}

// finish checks what concerns several fields. before is the number of problems
// when their reading began.
func (d *limitDraft) finish(before int) {
	l := d.limit
	if d.burst != nil && l.Algorithm != limit.TokenBucket {
		d.burst.FailName(`only "token_bucket" has a burst; remove it, or write "algorithm": "token_bucket"`)
	}
	if l.Window%time.Second != 0 {
		d.window.Fail("%s is not a whole number of seconds; write one, such as %q", d.window.Show(), strictjson.FormatDuration(l.Window.Truncate(time.Second)))
	}
	// The algorithms have the last word on what can be counted exactly.
	if d.reader.document.Count() > before {
		return
	}
	for _, quota := range d.quotas {
		one := l.Limit
		one.Limit = quota.value
		if err := one.Check(); err != nil {
			quota.node.Fail("%v", err)
		}
	}
	if d.lease != nil {
		d.checkLease()
	}
}
