package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"routelimit/bench/figure"
)

// settings say what to measure, and for how long.
type settings struct {
	Axes    []string `json:"axes"`
	Rounds  int      `json:"rounds"`
	Seconds int      `json:"seconds"` // of one value in one round
	JSON    string   `json:"-"`       // file; "": none
	SVG     string   `json:"-"`       // folder; "": none
}

func parseSettings(args []string, usage io.Writer) (settings, error) {
	names := []string{}
	for _, a := range axes() {
		names = append(names, a.name)
	}
	names = append(names, fleetName)
	var s settings
	f := flag.NewFlagSet("scaling", flag.ContinueOnError)
	f.SetOutput(usage)
	list := f.String("axes", strings.Join(names, ","), "what grows")
	f.IntVar(&s.Rounds, "rounds", 3, "how often each value is measured")
	f.IntVar(&s.Seconds, "seconds", 2, "how long each value is measured in a round")
	f.StringVar(&s.JSON, "json", "", "file for all figures as JSON")
	f.StringVar(&s.SVG, "svg", "", "folder for a plot of each axis")
	if err := f.Parse(args); err != nil {
		return settings{}, err
	}
	if f.NArg() > 0 {
		return settings{}, fmt.Errorf("%q is no flag; see -help", f.Arg(0))
	}
	for name, n := range map[string]int{"rounds": s.Rounds, "seconds": s.Seconds} {
		if n < 1 {
			return settings{}, fmt.Errorf("-%s %d is too small; give 1 or more", name, n)
		}
	}
	var err error
	if s.Axes, err = figure.Names("axes", *list, names...); err != nil {
		return settings{}, err
	}
	if len(s.Axes) == 0 {
		return settings{}, fmt.Errorf("-axes is empty; choose from %s", strings.Join(names, ","))
	}
	if s.SVG != "" {
		if info, err := os.Stat(s.SVG); err != nil || !info.IsDir() {
			return settings{}, fmt.Errorf("-svg %s is no folder; make it", s.SVG)
		}
	}
	return s, figure.CheckWritable(s.JSON)
}

func (s settings) measures(name string) bool { return slices.Contains(s.Axes, name) }
