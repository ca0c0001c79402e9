package policy

import (
	"time"

	"routelimit/limit"
	"routelimit/policy/strictjson"
)

const (
	mostLimit  = 1<<53 - 1 // the largest integer that Redis' Lua holds exactly
	mostCost   = 1_000_000
	mostWindow = 365 * 24 * time.Hour
	maxName    = 64
)

// limitDraft is a limit that is being read, with the places of what is checked
// across fields.
type limitDraft struct {
	reader *reader
	limit  *Limit

	name, identity, quota, window, burst, cost *strictjson.Node
}

var limitFields = []strictjson.Field[limitDraft]{
	{Name: "name", Read: (*limitDraft).readName},
	{Name: "identity", Read: (*limitDraft).readIdentity},
	{Name: "limit", Read: (*limitDraft).readQuota},
	{Name: "window", Read: func(d *limitDraft, n *strictjson.Node) {
		d.window = n
		d.limit.Window, _ = n.Duration(time.Second, mostWindow)
	}},
	{Name: "algorithm", Read: func(d *limitDraft, n *strictjson.Node) {
		names := limit.AlgorithmNames()
		choice, _ := n.OneOf(names...)
		d.limit.Algorithm, _ = limit.ParseAlgorithm(names[choice])
	}},
	{Name: "burst", Read: func(d *limitDraft, n *strictjson.Node) {
		d.burst = n
		d.limit.Burst, _ = n.Whole(1, mostLimit)
	}},
	{Name: "cost", Read: (*limitDraft).readCost},
	{Name: "shadow", Read: func(d *limitDraft, n *strictjson.Node) { d.limit.Shadow, _ = n.Bool() }},
	{Name: "bucket", Read: func(d *limitDraft, n *strictjson.Node) { d.limit.Bucket = readLabel(n) }},
	{Name: "count", Read: (*limitDraft).readCount},
	{Name: "enforce_percent", Read: unsupported[limitDraft]},
	{Name: "lease", Read: unsupported[limitDraft]},
}

func (d *limitDraft) readName(n *strictjson.Node) {
	d.name = n
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
	d.identity = n
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
	d.quota = n
	if n.Kind() == strictjson.Object {
		n.Fail("limits by a value of the request are not supported yet; write a number")
		return
	}
	d.limit.Limit.Limit, _ = n.Whole(0, mostLimit)
}

func (d *limitDraft) readCost(n *strictjson.Node) {
	d.cost = n
	if n.Kind() == strictjson.String {
		n.Fail("a cost that a header gives is not supported yet; write a number")
		return
	}
	d.limit.Cost, _ = n.Whole(1, mostCost)
}

func (d *limitDraft) readCount(n *strictjson.Node) {
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
func (r *reader) readLimit(n *strictjson.Node) *Limit {
	d := r.newLimit()
	before := r.document.Count()
	if strictjson.ReadObject(n, &d, limitFields) {
		d.finish(n, before)
	}
	return d.limit
}

func (r *reader) newLimit() limitDraft {
	return limitDraft{reader: r, limit: &Limit{Cost: 1}}
}

// finish checks what concerns several fields. n is the object they stand in,
// before the number of problems when their reading began.
func (d *limitDraft) finish(n *strictjson.Node, before int) {
	l := d.limit
	if d.identity == nil {
		n.Fail(`"identity" is missing; write who shares a count, such as "identity": "ip", or "all" for everybody`)
	}
	if d.quota == nil {
		n.Fail(`"limit" is missing; write how many requests pass in a window, such as "limit": 100`)
	}
	if d.window == nil {
		n.Fail(`"window" is missing; write a duration, such as "window": "1m"`)
	}
	if d.burst != nil && l.Algorithm != limit.TokenBucket {
		d.burst.FailName(`only "token_bucket" has a burst; remove it, or write "algorithm": "token_bucket"`)
	}
	if l.Window%time.Second != 0 {
		d.window.Fail("%s is not a whole number of seconds; write one, such as %q", d.window.Show(), strictjson.FormatDuration(l.Window.Truncate(time.Second)))
	}
	// The algorithms have the last word on what can be counted exactly.
	if d.reader.document.Count() == before {
		if err := l.Check(); err != nil {
			d.quota.Fail("%v", err)
		}
	}
}
