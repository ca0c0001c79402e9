package main

import (
	"errors"
	"fmt"
	"io"
)

// tally counts what became of requests.
type tally struct {
	passed, refused int // by both
	theirs          int // refused by the service alone, which charges what it refuses
	wrong           []string
}

func (t *tally) add(q request, theirs, ours bool) {
	switch {
	case theirs && ours:
		t.passed++
	case !theirs && !ours:
		t.refused++
	case theirs:
		t.wrong = append(t.wrong, fmt.Sprintf("%+v: refused by routelimit alone", q))
	case q.single:
		t.wrong = append(t.wrong, fmt.Sprintf("%+v: refused by the service alone, under one limit", q))
	default:
		t.theirs++
	}
}

func (t *tally) report(out io.Writer) error {
	fmt.Fprintf(out, "%d requests: %d passed both, %d were refused by both, %d by the service alone, which charges what it refuses\n",
		requests, t.passed, t.refused, t.theirs)
	for _, line := range t.wrong {
		fmt.Fprintln(out, line)
	}
	switch {
	case len(t.wrong) > 0:
		return fmt.Errorf("%d decisions differ that must not", len(t.wrong))
	case t.passed < requests/20 || t.refused < requests/20:
		return errors.New("too little was compared; change the limits or the requests")
	}
	return nil
}
