package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/figure"
	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/described"
	"routelimit/limit/standin"
	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/resp"
)

func TestParseSettings(t *testing.T) {
	folder := t.TempDir()
	got, err := parseSettings([]string{"-axes", "fleet,routes", "-rounds", "2", "-seconds", "1", "-svg", folder}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings{Axes: []string{"fleet", "routes"}, Rounds: 2, Seconds: 1, SVG: folder}, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if all, err := parseSettings(nil, io.Discard); err != nil || len(all.Axes) != len(axes())+1 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, args := range [][]string{{"-axes", "routs"}, {"-axes", ""}, {"-rounds", "0"}, {"-seconds", "0"}, {"more"}, {"-svg", folder + "/missing"},
		{"-json", filepath.Join(folder, "missing", "f")}} {
		if got, err := parseSettings(args, io.Discard); err == nil {
			t.Errorf("%v: no error, but %+v", args, got)
		}
	}
}

// TestAxesAskAsOftenAsTheySay explains the measured request under each axis' policies.
func TestAxesAskAsOftenAsTheySay(t *testing.T) {
	for _, a := range axes() {
		for _, value := range a.values {
			g := a.at(value)
			p, err := policy.Parse([]byte(g.policy), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatalf("%s %d: %v", a.name, value, err)
			}
			keys := keysOf(t, p, g.path)
			if len(keys) != g.asks {
				t.Errorf("%s %d: asks about %v, not %d keys", a.name, value, keys, g.asks)
			}
		}
	}
}

func keysOf(t *testing.T, p *policy.Policy, path string) map[string]bool {
	t.Helper()
	r, err := described.New("GET", "http://bench"+path)
	if err != nil {
		t.Fatal(err)
	}
	r.AddHeader(stand.CallerHeader, load.CallerName(0))
	keys := map[string]bool{}
	for _, l := range explain.Explain(p, explain.Request{Attributes: r}).Limits {
		keys[l.Key] = true
	}
	return keys
}

// TestTalkSaysWhatTheModuleSays compares the key of its commands with the policy's, and has them decided.
func TestTalkSaysWhatTheModuleSays(t *testing.T) {
	p, err := policy.Parse([]byte(limitsPolicy(1)), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	speak := newTalk(func() string { return load.CallerName(0) })
	command := readCommand(t, speak.Append(nil))
	if keys := keysOf(t, p, measuredPath); !keys[string(command[3])] {
		t.Errorf("asks about %s, the module about %v", command[3], keys)
	}
	var redis standin.Redis
	answer := redis.Do(command, 1_729_771_200_000)
	for cut := range len(answer) {
		if n, _, err := speak.Read(answer[:cut]); n != 0 || err != nil {
			t.Fatalf("of %q: %d, %v", answer[:cut], n, err)
		}
	}
	if n, last, err := speak.Read(append(answer, answer...)); n != len(answer) || last || err != nil {
		t.Errorf("%d, %v, %v; want %d", n, last, err, len(answer))
	}
	for _, wrong := range []string{"-NOSCRIPT No matching script\r\n", ":1\r\n", "*0\r\n", "?\r\n"} {
		if n, _, err := speak.Read([]byte(wrong)); err == nil {
			t.Errorf("%q is %d bytes of an answer", wrong, n)
		}
	}
}

func readCommand(t *testing.T, b []byte) (command [][]byte) {
	t.Helper()
	var d resp.Decoder
	d.Write(b)
	v, err := d.Next()
	if err != nil || d.Buffered() != 0 {
		t.Fatalf("%q is no command: %v", b, err)
	}
	for _, e := range v.Elems {
		command = append(command, append([]byte{}, e.Text...))
	}
	return command
}

// TestExchangeReadsAllAnswers sends commands to a server that answers each, in pieces.
func TestExchangeReadsAllAnswers(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	seen := 0
	go func() {
		defer theirs.Close()
		var d resp.Decoder
		var redis standin.Redis
		var answers []byte
		chunk := make([]byte, 64<<10)
		for seen < 10 {
			n, err := theirs.Read(chunk)
			if err != nil {
				return
			}
			d.Write(chunk[:n])
			for {
				v, err := d.Next()
				if err != nil {
					break
				}
				var command [][]byte
				for _, e := range v.Elems {
					command = append(command, append([]byte{}, e.Text...))
				}
				answers = append(answers, redis.Do(command, 1_729_771_200_000)...)
				seen++
			}
		}
		w := bufio.NewWriterSize(theirs, 7)
		w.Write(answers)
		w.Flush()
	}()
	next := 0
	speak := newTalk(func() string { next++; return load.CallerName(next) })
	if err := exchange(ours, speak, 10); err != nil || next != 10 {
		t.Errorf("%d sent: %v", next, err)
	}
	if err := exchange(ours, speak, 1); err == nil {
		t.Error("no error where the server has gone")
	}
}

func TestPointsCompareWithinEachRound(t *testing.T) {
	got := points([]int{1, 2}, [][]sample{
		{{envoyCPU: 50, redisCPU: 10, asks: 1}, {envoyCPU: 90, redisCPU: 5, asks: 2}},
		{{envoyCPU: 80, redisCPU: 20, asks: 2}, {envoyCPU: 150, redisCPU: 50, asks: 1}},
	})
	if diff := cmp.Diff(figure.Spread{Median: 2, Least: 2, Most: 2, Rounds: 2}, got[1].CPURatio); diff != "" {
		t.Errorf("ratio (-want +got):\n%s", diff)
	}
	if got[0].CPURatio.Median != 1 || got[1].EnvoyCPU.Median != 115 || got[1].Value != 2 {
		t.Errorf("%+v", got)
	}
}

func TestJudgeFindsRequestsThatWereNotCounted(t *testing.T) {
	p := place{ground: axes()[2].at(4)} // four keys a request, 64 connections
	for decided, good := range map[int64]bool{399: false, 400: true, 656: true, 657: false} {
		if err := p.judge(100, decided); (err == nil) != good {
			t.Errorf("%d: %v", decided, err)
		}
	}
}

// found is a report with one axis and a fleet.
func found() report {
	s := func(f float64) figure.Spread { return figure.SpreadOf([]float64{f}) }
	return report{
		Machine: stand.Machine{CPU: "a CPU", Cores: 2}, Settings: settings{Rounds: 1, Seconds: 2},
		Axes: []axisReport{{"routes", []point{
			{10, s(1000), s(300), s(900), s(50), s(8), s(1), s(3.5), s(161), s(37)}, {100, s(990), s(310), s(950), s(51), s(8.2), s(1.02), s(3.4), s(162), s(37)},
		}}},
		Fleet: []fleetPoint{
			{Envoys: 10, Connections: 20, Rate: 5000, PerSecond: s(5001), CPU: s(20), Share: s(0.1), Together: s(1.2), P50: s(90), P99: s(300), Read: s(161),
				Wrote: s(37), Memory: 140e6, LoadShare: s(0.2)},
			{Envoys: 100, Connections: 200, Rate: 80_000, PerSecond: s(70_000), CPU: s(14), Share: s(0.99), Together: s(4), P50: s(9000), P99: s(90_000),
				Read: s(161), Wrote: s(37), Memory: 150e6, LoadShare: s(0.7), Late: true},
		},
	}
}

func TestReportShowsWhatWasFound(t *testing.T) {
	_, tables, _ := strings.Cut(found().text(), "\n\n")
	want := `Routes of the policy
routes  requests/s  p50 us  p99 us  CPU us: Envoy, a request  Redis, a decision  both, against the first  read at once  bytes in, out
10            1000     300     900                      50.0                8.0       1.00 (1.00 … 1.00)           3.5        161, 37
100            990     310     950                      51.0                8.2       1.02 (1.02 … 1.02)           3.4        162, 37

One Redis of 1000000 identities, and connections of so many Envoys of 2 workers
Envoys  connections  decisions/s  a message  Redis CPU us  calculated  of a core  p50 us  p99 us  bytes in, out  memory MB  the load's core
10               20         5001        1.2          20.0                   0.10      90     300        161, 37        140             0.20
100             200        70000        4.0          14.0                   0.99    9000   90000        161, 37        150             0.70  late
`
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(found()); err != nil {
		t.Error(err)
	}
}

func TestReportCalculatesFromTheSmallestFleet(t *testing.T) {
	c := cost{Alone: 25, Wake: 15}
	r := found()
	r.Fleet = append(measured(c, 5000, 80_000), r.Fleet[1])
	r.calculate()
	_, table, _ := strings.Cut(r.text(), "One Redis of")
	table = strings.Join(strings.Fields(table), " ") // whatever the widths
	for _, want := range []string{"14.0 12.2 0.99", "25.0 us alone", "1000 1000 1000000 1.03 10.00 27 2000"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestReportDrawsEachAxisIntoItsFolder(t *testing.T) {
	folder := t.TempDir()
	if err := found().draw(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"routes", "fleet"} {
		if files, err := filepath.Glob(filepath.Join(folder, "scaling-"+name+".svg")); err != nil || len(files) != 1 {
			t.Errorf("no plot of %s: %v", name, err)
		}
	}
	svg := string(fleetChart(found().Fleet).SVG())
	// One point for each of two fleets, over two rates.
	if strings.Count(svg, "<circle") != 2 || !strings.Contains(svg, ">80k<") || !strings.Contains(svg, "1000 Envoys") {
		t.Errorf("the fleet's plot:\n%s", svg)
	}
	if err := found().draw(filepath.Join(folder, strconv.Itoa(1))); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
