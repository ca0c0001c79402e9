// Package simulate says what a policy would have done to the requests of access
// logs: who is refused, by which limit, when, and what limit would have been
// better; and what changes from one policy to another.
//
// No secret identity is in a [Report] but as it stands in a key, hashed.
package simulate

import (
	"time"

	"routelimit/policy"
)

// Report is what a policy would have done.
type Report struct {
	Logs       []Log     `json:"logs"`
	From       time.Time `json:"from"` // of the first and the last request
	To         time.Time `json:"to"`
	Requests   int64     `json:"requests"` // that were played
	Unreadable int64     `json:"unreadable"`
	Outcomes   Outcomes  `json:"outcomes"`
	Partly     int64     `json:"partly"` // see Route.Partly
	// AlreadyRefused is how many have the status 429 in the log.
	AlreadyRefused int64 `json:"already_refused"`
	// AnsweredBefore is how many were answered before routelimit, and take no part.
	AnsweredBefore int64 `json:"answered_before"`
	// Notes say what is to be known before the numbers are believed.
	Notes    []string `json:"notes"`
	Routes   []Route  `json:"routes"` // in the order of the policy, the default last
	Timeline Timeline `json:"timeline"`
}

// Log is what became of one log.
type Log struct {
	Name       string  `json:"name"`
	Format     string  `json:"format"` // "": not found
	Lines      int64   `json:"lines"`
	Requests   int64   `json:"requests"`
	Unreadable int64   `json:"unreadable"`
	Late       int64   `json:"late"` // played later than they came, since they stood too far behind
	Faults     []Fault `json:"faults"`
	Error      string  `json:"error,omitempty"`
}

// Fault is a line that cannot be read.
type Fault struct {
	Line int64  `json:"line"`
	Why  string `json:"why"`
	Text string `json:"text"` // cut
}

// Outcomes are requests by what becomes of them.
type Outcomes struct {
	Passed     int64 `json:"passed"`
	Refused    int64 `json:"refused"`
	Undeclared int64 `json:"undeclared"` // 404
	Exempt     int64 `json:"exempt"`
	Unlimited  int64 `json:"unlimited"`
	Preflight  int64 `json:"preflight"`
	LeftOut    int64 `json:"left_out"` // the log lacks what every limit of the route needs
}

// Route is what became of the requests of one route.
type Route struct {
	Key      string   `json:"key"`
	Template string   `json:"template"` // "" for the default and for no route
	Requests int64    `json:"requests"`
	Outcomes Outcomes `json:"outcomes"`
	// Partly is how many others were not asked about all limits, so that more of them
	// may be refused.
	Partly int64   `json:"partly"`
	Limits []Limit `json:"limits"`

	series []cell
}

// Limit is what one limit did.
type Limit struct {
	Name     string `json:"name"`
	Terms    string `json:"terms"` // "10 in 5m by sliding_log"
	Identity string `json:"identity"`
	Shadow   bool   `json:"shadow"`
	Count    []int  `json:"count,omitempty"`
	// Number is what suggestions are to be compared with: the limit, or a bucket's burst.
	Number int64 `json:"number"`
	// Unit is "limit", or "burst" for a bucket.
	Unit string `json:"unit"`
	// LeftOut is how many requests were not asked, since the log has no place for
	// what Lacks lists.
	LeftOut int64    `json:"left_out"`
	Lacks   []string `json:"lacks"`

	Asked int64 `json:"asked"`
	// Passed are those that every limit let through; Refused those that this one
	// did not (a shadow: would not have); Withheld those that only others refused.
	Passed   int64 `json:"passed"`
	Refused  int64 `json:"refused"`
	Withheld int64 `json:"withheld"`
	// Spared are those of Refused that passed this limit all the same, since it is a
	// shadow or, with enforce_percent, not enforced for the caller.
	Spared   int64 `json:"spared"`
	Returned int64 `json:"returned"` // of those passed: not counted, because of their status

	Used []Used `json:"used"` // by which alternative of the identity

	Identities        int64 `json:"identities"`
	IdentitiesRefused int64 `json:"identities_refused"` // at least once
	// IdentitiesSpared are those of IdentitiesRefused that Spared is about.
	IdentitiesSpared int64 `json:"identities_spared"`
	// OneIn is 1 if all identities were looked at, or how many each stands for.
	OneIn        int64        `json:"one_in"`
	Suggestions  []Suggestion `json:"suggestions"`
	Distribution []Bin        `json:"distribution"`
	WorstMinute  *Minute      `json:"worst_minute"` // nil: it refused nothing
	Top          []Refusals   `json:"top_refused"`
	// TopFloor is 0 if Top is exact. Otherwise there were so many refused
	// identities that some were dropped, with up to so many refusals each, and an
	// identity in Top may lack as many.
	TopFloor int64 `json:"top_floor"`

	limit *policy.Limit
}

// Used is an alternative of an identity and how many requests had it.
type Used struct {
	Alternative string `json:"alternative"`
	Requests    int64  `json:"requests"`
	Fallback    bool   `json:"fallback"` // nothing that the identity lists was present
}

// Suggestion is the smallest number that would have refused at most a share of the
// identities anything.
type Suggestion struct {
	Percent float64 `json:"percent"`
	Number  int64   `json:"number"`
	Over    bool    `json:"over"` // even the largest number that can be written, Number - 1, is too small
}

// Bin is how many identities used From to To of a limit at their peak.
type Bin struct {
	From       int64 `json:"from"`
	To         int64 `json:"to"`
	Identities int64 `json:"identities"`
}

// Minute is a minute of the clock.
type Minute struct {
	At       time.Time `json:"at"`
	Requests int64     `json:"requests"`
	Refused  int64     `json:"refused"`
	Spared   int64     `json:"spared"` // of those refused
}

// Refusals are those of one identity.
type Refusals struct {
	Identity string    `json:"identity"`
	Refused  int64     `json:"refused"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	// Spared says that they passed this limit all the same, see Limit.Spared.
	Spared bool `json:"spared"`
}

// Timeline is all routes over time.
type Timeline struct {
	Start   time.Time `json:"start"`
	Seconds int64     `json:"seconds"` // of one step
	Routes  []Line    `json:"routes"`  // those with requests
}

// Line is one route over time.
type Line struct {
	Route    string  `json:"route"`
	Requests []int64 `json:"requests"`
	Refused  []int64 `json:"refused"`
}
