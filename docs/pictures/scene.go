package main

import (
	"time"

	"routelimit/limit"
)

// The caller of every picture: 10 requests a minute are his, and he sends one each
// two seconds from 30 s on, for 80 s, across the boundary at 60 s.
const (
	quota  = 10
	window = 60 // s
	begins = 30 // s
	ends   = 110
	every  = 2
	shown  = 150 // s
)

// scene is one picture.
type scene struct {
	title string
	limit limit.Limit
}

var scenes = []scene{
	{"fixed_window", limit.Limit{Algorithm: limit.FixedWindow, Limit: quota, Window: window * time.Second}},
	{"sliding_window", limit.Limit{Algorithm: limit.SlidingWindow, Limit: quota, Window: window * time.Second}},
	{"sliding_log", limit.Limit{Algorithm: limit.SlidingLog, Limit: quota, Window: window * time.Second}},
	{"token_bucket", limit.Limit{Algorithm: limit.TokenBucket, Limit: quota, Window: window * time.Second}},
}

func (s scene) file() string { return s.title + ".svg" }

// request is one of the caller's, and what became of it.
type request struct {
	at     int // s
	passed bool
}

// start is the boundary of a window, in ms since 1970.
const start = 1_764_547_200_000

// play asks the model.
func (s scene) play() []request {
	var model limit.Model
	charges := []limit.Charge{{Limit: &s.limit, Cost: 1}}
	var all []request
	for at := begins; at <= ends; at += every {
		all = append(all, request{at, model.Decide("caller", start+int64(at)*1000, charges).Allowed})
	}
	return all
}

// within counts the requests that passed in the minute that ends at a second.
func within(all []request, at int) int {
	n := 0
	for _, r := range all {
		if r.passed && r.at > at-window && r.at <= at {
			n++
		}
	}
	return n
}

// most is the largest of these counts.
func most(all []request) int {
	n := 0
	for at := range shown {
		n = max(n, within(all, at))
	}
	return n
}
