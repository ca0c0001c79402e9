package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/load"
)

// settings say what to measure, and for how long.
type settings struct {
	Rounds  int       `json:"rounds"`
	Seconds int       `json:"seconds"` // of one cell
	Warmup  int       `json:"warmup_seconds"`
	Loads   []loading `json:"loads"`
	Columns []string  `json:"columns"`       // keys
	Headers bool      `json:"quota_headers"` // on passed responses, of whoever limits

	EnvoyWorkers int    `json:"envoy_workers"`
	JSON         string `json:"-"` // file; "": none
	SVG          string `json:"-"` // likewise
	Overshoot    bool   `json:"-"` // measure how much too much is admitted, not how fast

	service string   // the binary of envoyproxy/ratelimit; "": without
	dir     string   // the project's
	left    []string // columns that were left out, and why
}

func parseSettings(args []string, env func(string) string, usage io.Writer) (settings, error) {
	s := settings{EnvoyWorkers: 1, service: env("RATELIMIT_BIN"), dir: "."}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&s.Rounds, "rounds", 5, "how often each cell is measured")
	f.IntVar(&s.Seconds, "seconds", 2, "how long one cell is measured")
	f.IntVar(&s.Warmup, "warmup", 2, "seconds of load on each column before the first round")
	connections := f.String("connections", "1,8,64,256", "connections of a closed loop, one load each")
	rates := f.String("rates", "1000,4000", "requests a second at fixed rates, one load each; \"\": none")
	identities := f.String("identities", "hot,many,mix", "whose requests, of hot (one caller), many (100,000) and mix (as many, few of them busy): "+
		"the first at all numbers of connections, each other at 64, the last at fixed rates")
	columns := f.String("columns", "", "columns to measure, of "+strings.Join(keys(allColumns()), ",")+" (default: all that can be)")
	f.BoolVar(&s.Headers, "headers", true, "let all limiters send quota headers on passed responses")
	f.BoolVar(&s.Overshoot, "overshoot", false, "measure how many more requests than the limit are admitted")
	f.StringVar(&s.JSON, "json", "", "file for all figures as JSON")
	f.StringVar(&s.SVG, "svg", "", "file for a plot")
	if err := f.Parse(args); err != nil {
		return settings{}, err
	}
	if f.NArg() > 0 {
		return settings{}, fmt.Errorf("%q is no flag; see -help", f.Arg(0))
	}
	for name, n := range map[string]int{"rounds": s.Rounds, "seconds": s.Seconds, "warmup": s.Warmup} {
		if n < 1 {
			return settings{}, fmt.Errorf("-%s %d is too small; give 1 or more", name, n)
		}
	}
	if err := s.chooseLoads(*connections, *rates, *identities); err != nil {
		return settings{}, err
	}
	if err := s.chooseColumns(*columns); err != nil {
		return settings{}, err
	}
	for _, file := range []string{s.JSON, s.SVG} {
		if err := figure.CheckWritable(file); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

func (s *settings) chooseLoads(connections, rates, identities string) error {
	counts, err := figure.Numbers("connections", connections, 1, 1000)
	if err != nil {
		return err
	}
	if len(counts) == 0 {
		return fmt.Errorf("-connections is empty; write, for example, 1,8,64")
	}
	perSecond, err := figure.Numbers("rates", rates, 1, 100_000)
	if err != nil {
		return err
	}
	var fixed []float64
	for _, n := range perSecond {
		fixed = append(fixed, float64(n))
	}
	kinds, err := figure.Names("identities", identities, load.Hot, load.Many, load.Mix)
	if err != nil {
		return err
	}
	if len(kinds) == 0 {
		return fmt.Errorf("-identities is empty; write, for example, hot,mix")
	}
	s.Loads = loadings(counts, fixed, kinds)
	return nil
}

// duration is about how long the measurement takes, without the start of the servers.
func (s settings) duration() time.Duration {
	const around = 150 * time.Millisecond // each cell, to let Redis settle
	cells := 0
	for _, key := range s.Columns {
		for _, l := range s.Loads {
			if find(key).takes(l) {
				cells++
			}
		}
	}
	return time.Duration(s.Rounds*cells)*(time.Duration(s.Seconds)*time.Second+around) + time.Duration(len(s.Columns)*s.Warmup)*time.Second
}
