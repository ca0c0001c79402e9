package simulate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/replay"
)

// Comparison is what changes from one policy to another for the requests of logs.
type Comparison struct {
	Logs       []Log     `json:"logs"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Requests   int64     `json:"requests"`
	Unreadable int64     `json:"unreadable"`
	// AnsweredBefore is how many were answered before routelimit, and take no part.
	AnsweredBefore int64 `json:"answered_before"`
	// Changes are those of the policy, in words.
	Changes []string `json:"changes"`
	// Flow is all requests by what both policies say.
	Flow   Flow          `json:"flow"`
	Routes []RouteChange `json:"routes"`
	// Lose are the identities with the most requests that pass the old policy and
	// not the new; Gain the other way round.
	Lose []Affected `json:"lose"`
	Gain []Affected `json:"gain"`
	// Losing and Gaining are how many identities there are; AtLeast says that there are
	// more. AllLose and AllGain are the requests of everybody, whoever sent them: of
	// routes that are shut or not declared.
	Losing  int   `json:"losing"`
	Gaining int   `json:"gaining"`
	AtLeast bool  `json:"at_least"`
	AllLose int64 `json:"all_lose"`
	AllGain int64 `json:"all_gain"`

	NotesOld []string `json:"notes_old"`
	NotesNew []string `json:"notes_new"`
}

// Flow is requests by what two policies make of them.
type Flow struct {
	Requests int64 `json:"requests"`
	// Old and New are refused by that policy.
	Old    int64 `json:"refused_old"`
	New    int64 `json:"refused_new"`
	Lost   int64 `json:"lost"`   // pass the old and not the new
	Gained int64 `json:"gained"` // pass the new and not the old
}

// RouteChange is the flow of one route.
type RouteChange struct {
	Old string `json:"old"` // the route's key in each policy
	New string `json:"new"`
	Flow
}

// Everybody stands for an identity where a refusal asks for none.
const Everybody = "everybody"

// Affected is an identity whose requests fare otherwise.
type Affected struct {
	Route    string    `json:"route"` // of the policy that refuses
	Limit    string    `json:"limit"`
	Identity string    `json:"identity"`
	Requests int64     `json:"requests"`
	First    time.Time `json:"first"`
}

// Compare plays logs through two policies at once. The replay settings of each
// stand in its Options.Replay; all else is taken from the new one's.
func Compare(ctx context.Context, before, after *policy.Policy, logs []accesslog.Input, old replay.Settings, o Options) (*Comparison, error) {
	sides := [2]*side{newSide(before, old), newSide(after, o.Replay)}
	flows := map[[2]string]*Flow{}
	var all Flow
	lose, gain := newAffected(), newAffected()
	read, err := accesslog.Read(ctx, logs, o.Read, func(e *accesslog.Entry) error {
		if sides[0].seen.skips(e) && sides[1].seen.skips(e) { // both see the same
			return nil
		}
		was, is := sides[0].play(e), sides[1].play(e)
		routes := [2]string{keyOf(was.Route), keyOf(is.Route)}
		flow := flows[routes]
		if flow == nil {
			flow = &Flow{}
			flows[routes] = flow
		}
		for _, f := range [2]*Flow{flow, &all} {
			f.add(refused(was), refused(is))
		}
		switch {
		case refused(is) && !refused(was):
			lose.add(is)
		case refused(was) && !refused(is):
			gain.add(was)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	reports := [2]*Report{sides[0].report(read, o.Read.Fields, 0), sides[1].report(read, o.Read.Fields, 0)}
	c := &Comparison{
		Logs: reports[1].Logs, From: reports[1].From, To: reports[1].To,
		Requests: reports[1].Requests, Unreadable: reports[1].Unreadable, AnsweredBefore: reports[1].AnsweredBefore,
		Changes: changes(before, after), Flow: all, Routes: []RouteChange{},
		Lose: lose.list(o.Top), Gain: gain.list(o.Top), AllLose: lose.all, AllGain: gain.all,
		Losing: lose.identities(), Gaining: gain.identities(), AtLeast: lose.floor > 0 || gain.floor > 0,
		NotesOld: reports[0].Notes, NotesNew: reports[1].Notes,
	}
	for routes, flow := range flows {
		c.Routes = append(c.Routes, RouteChange{routes[0], routes[1], *flow})
	}
	slices.SortFunc(c.Routes, func(a, b RouteChange) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Gained, a.Gained), cmp.Compare(b.Requests, a.Requests),
			strings.Compare(a.New, b.New), strings.Compare(a.Old, b.Old))
	})
	return c, nil
}

func (f *Flow) add(was, is bool) {
	f.Requests++
	if was {
		f.Old++
	}
	if is {
		f.New++
	}
	switch {
	case is && !was:
		f.Lost++
	case was && !is:
		f.Gained++
	}
}

func refused(p *replay.Played) bool {
	return p.Outcome == replay.Refused || p.Outcome == replay.Undeclared
}

func keyOf(r *policy.Route) string {
	if r == nil {
		return NoRoute
	}
	return r.Key
}
