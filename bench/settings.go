package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings say what to measure, and for how long.
type settings struct {
	Rounds      int      `json:"rounds"`
	Seconds     int      `json:"seconds"` // of one cell
	Warmup      int      `json:"warmup_seconds"`
	Connections []int    `json:"connections"`
	Columns     []string `json:"columns"` // keys
	JSON        string   `json:"-"`       // file; "": none
	Overshoot   bool     `json:"-"`       // measure how much too much is admitted, not how fast

	EnvoyWorkers int    `json:"envoy_workers"`
	service      string // the binary of envoyproxy/ratelimit; "": without
	dir          string // the project's
}

func parseSettings(args []string, env func(string) string, usage io.Writer) (settings, error) {
	s := settings{EnvoyWorkers: 1, service: env("RATELIMIT_BIN"), dir: "."}
	var connections, columns string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&s.Rounds, "rounds", 5, "how often each cell is measured")
	f.IntVar(&s.Seconds, "seconds", 3, "how long one cell is measured")
	f.IntVar(&s.Warmup, "warmup", 3, "seconds of load on each column before the first round")
	f.StringVar(&connections, "connections", "1,8,64", "connections of the load, one kind of cell each")
	f.StringVar(&columns, "columns", "", "columns to measure, of "+strings.Join(keys(allColumns()), ",")+" (default: all that can be)")
	f.BoolVar(&s.Overshoot, "overshoot", false, "measure how many more requests than the limit are admitted")
	f.StringVar(&s.JSON, "json", "", "file for all figures as JSON")
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
	var err error
	if s.Connections, err = parseConnections(connections); err != nil {
		return settings{}, err
	}
	if s.Columns, err = chooseColumns(columns, s.service != ""); err != nil {
		return settings{}, err
	}
	return s, checkWritable(s.JSON)
}

func parseConnections(text string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > 1000 {
			return nil, fmt.Errorf("-connections %s: %q is no number from 1 to 1000; write, for example, 1,8,64", text, part)
		}
		if slices.Contains(list, n) {
			return nil, fmt.Errorf("-connections %s names %d twice; name it once", text, n)
		}
		list = append(list, n)
	}
	return list, nil
}

// chooseColumns are the keys to measure, in the order of allColumns.
func chooseColumns(text string, haveService bool) ([]string, error) {
	asked := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	known := keys(allColumns())
	for _, key := range asked {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("-columns %s: there is no %q; choose from %s", text, key, strings.Join(known, ","))
		}
		if key == keyService && !haveService {
			return nil, fmt.Errorf("-columns %s: %s needs its binary; set RATELIMIT_BIN= to its path", text, key)
		}
	}
	var chosen []string
	for _, key := range known {
		if key == keyService && !haveService {
			continue
		}
		if len(asked) == 0 || slices.Contains(asked, key) {
			chosen = append(chosen, key)
		}
	}
	return chosen, nil
}

// checkWritable fails before the measurement, not after it.
func checkWritable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-json: cannot write %s: %w; choose another file", file, err)
	}
	return f.Close()
}

// duration is about how long the measurement takes.
func (s settings) duration() time.Duration {
	cells := s.Rounds * len(s.Connections) * len(s.Columns)
	return time.Duration(cells*s.Seconds+len(s.Columns)*s.Warmup) * time.Second
}

func (s settings) module() string    { return filepath.Join(s.dir, "build", "routelimit.wasm") }
func (s settings) bootstrap() string { return filepath.Join(s.dir, "envoy.yaml") }
