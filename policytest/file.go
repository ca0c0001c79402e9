package policytest

import (
	"time"

	"routelimit/bootstrap/yamltree"
)

// File is a file of tests.
type File struct {
	// PolicyFile is the name of the policy's file, "" where the policy stands in the file itself, which is then Policy, in
	// JSON.
	PolicyFile string
	Policy     []byte
	Env        map[string]string // what environment variables the module sees
	Tests      []Test
}

// Test is one test. It begins with nothing counted.
type Test struct {
	Name  string
	Line  int
	Steps []Step
}

// Step is one entry of a test.
type Step struct {
	Line, Column int
	At           time.Duration // since the test's start
	HasAt        bool
	Wait         time.Duration // since the step before
	Redis        string        // what becomes of Redis; "": nothing
	Send         *Send         // nil: nothing is sent
}

// Send is a request, sent some times, and what each must get.
type Send struct {
	Times  int
	Every  time.Duration // between two of them
	Method string
	URL    string
	Caller string // its name, for messages
	Request
	Upstream int // the status that the upstream answers
	Expect   Expectation
}

// Request is what a caller or a step says of a request.
type Request struct {
	From       string
	Headers    []Line
	Cookies    []Line
	Set        []Line // what Envoy says, by source
	EnvoyRoute string
	Body       []byte // nil: none
	Type       string // of the body; "": what a header says
}

// Line is a name and a value.
type Line struct{ Name, Value string }

// Expectation is what a request must get. What is not set may be anything.
type Expectation struct {
	Status  int
	Outcome string
	Limit   string // the one that refuses
	// LimitLine and LimitColumn are where Limit stands, from 1.
	LimitLine, LimitColumn int

	RetryAfter *int64 // in seconds; NoRetryAfter: there must be none
	Headers    []Header
	Contains   []string         // texts in the body
	Remaining  map[string]int64 // by limit; "" is the least of those that refuse
}

// NoRetryAfter is RetryAfter where the response must not have that header.
const NoRetryAfter = -1

// Header is a header that must have a value, or must not be there.
type Header struct {
	Name, Value string
	Absent      bool
}

// Outcomes are what may become of a request: what the filter state routelimit.outcome says, and passed where that says
// nothing.
var Outcomes = []string{"passed", "refused", "open", "local_passed", "local_refused", "unavailable", "undeclared"}

// What may become of Redis.
const (
	RedisUp     = "up"     // it answers again, and has forgotten nothing
	RedisDown   = "down"   // nothing can be connected to
	RedisSilent = "silent" // it is connected and answers nothing
	RedisEmpty  = "empty"  // it answers, and has forgotten everything
)

const defaultFrom = "127.0.0.1"

// Read reads a file of tests. The error is a Problems.
func Read(text []byte) (*File, error) {
	r := &reader{}
	f := &File{}
	documents, err := yamltree.Parse(text)
	if err != nil {
		return nil, syntax(err)
	}
	if len(documents) != 1 {
		r.fail(1, 1, "the file has %d documents; write one, with policy: and tests:", len(documents))
		return nil, r.problems
	}
	r.file(documents[0], f)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return f, nil
}
