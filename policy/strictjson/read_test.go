package strictjson

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type sample struct {
	Name   string
	Window time.Duration
	Limit  int64
	Shadow bool
	Mode   int
	Count  []int64
}

var sampleFields = []Field[sample]{
	{Name: "name", Read: func(s *sample, n *Node) { s.Name, _ = n.Text() }},
	{Name: "window", Read: func(s *sample, n *Node) { s.Window, _ = n.Duration(time.Second, 365*24*time.Hour) }},
	{Name: "limit", Read: func(s *sample, n *Node) { s.Limit, _ = n.Whole(0, 1<<53) }},
	{Name: "shadow", Read: func(s *sample, n *Node) { s.Shadow, _ = n.Bool() }},
	{Name: "mode", Read: func(s *sample, n *Node) { s.Mode, _ = n.OneOf("enforce", "shadow", "off") }},
	{Name: "count", Read: func(s *sample, n *Node) {
		for _, element := range n.Elements("[401, 403]") {
			if status, ok := element.Whole(100, 599); ok {
				s.Count = append(s.Count, status)
			}
		}
	}},
}

func TestReadObjectFillsEveryField(t *testing.T) {
	var got sample
	d := Parse([]byte(`{"name": "pair", "window": "1h30m", "limit": 1e3, "shadow": true, "mode": "off", "count": [401, 403]}`))
	ReadObject(d.Root(), &got, sampleFields)
	want := sample{"pair", 90 * time.Minute, 1000, true, 2, []int64{401, 403}}
	if diff := cmp.Diff(want, got); diff != "" || len(d.Problems()) != 0 {
		t.Error(diff, messages(d))
	}
}

func TestReadObjectReportsAllProblemsAtOnce(t *testing.T) {
	var got sample
	d := Parse([]byte(`{"name": 7, "widnow": "1m", "Limit": 3, "window": "60",
  "limit": 1.7, "shadow": "yes", "mode": "of", "count": [99, "401"], "colour": {}}`))
	ReadObject(d.Root(), &got, sampleFields)
	want := []string{
		`name: 7 is a number; write a text in double quotes (line 1, column 10)`,
		`widnow: unknown field; did you mean "window"? (line 1, column 13)`,
		`Limit: unknown field; did you mean "limit"? (line 1, column 29)`,
		`window: "60" has no unit; write a duration such as "60s" or "1m" (line 1, column 51)`,
		`limit: 1.7 is not whole; write a whole number from 0 to 9007199254740992 (line 2, column 12)`,
		`shadow: "yes" is a text; write true or false (line 2, column 27)`,
		`mode: "of" is unknown; did you mean "off"? (line 2, column 42)`,
		`count[0]: 99 is out of range; write a whole number from 100 to 599 (line 2, column 58)`,
		`count[1]: "401" is a text; write a whole number from 100 to 599, without quotes (line 2, column 62)`,
		`colour: unknown field; remove it, or write "name", "window", "limit", "shadow", "mode" or "count" (line 2, column 70)`,
	}
	if diff := cmp.Diff(want, messages(d)); diff != "" {
		t.Error(diff)
	}
}

func TestReadersNameAWrongType(t *testing.T) {
	cases := map[string]struct {
		text string
		read func(*Node)
		want string
	}{
		"object":          {`[]`, func(n *Node) { ReadObject(n, new(sample), sampleFields) }, `a list stands here; write an object, in braces (line 1, column 1)`},
		"list":            {`{}`, func(n *Node) { n.Elements("[401]") }, `an object stands here; write a list, such as [401] (line 1, column 1)`},
		"members":         {`[]`, func(n *Node) { n.Members(`{"a": 1}`) }, `a list stands here; write an object, such as {"a": 1} (line 1, column 1)`},
		"one of one":      {`"x"`, func(n *Node) { n.OneOf("envoy_route") }, `"x" is unknown; write "envoy_route" (line 1, column 1)`},
		"text":            {`null`, func(n *Node) { n.Text() }, `null stands here; write a text in double quotes (line 1, column 1)`},
		"duration":        {`60`, func(n *Node) { n.Duration(0, time.Hour) }, `60 is a number; write a duration in double quotes, such as "60s" or "1m" (line 1, column 1)`},
		"duration range":  {`"500ms"`, func(n *Node) { n.Duration(time.Second, 24*time.Hour) }, `"500ms" is out of range; write a duration from "1s" to "1d" (line 1, column 1)`},
		"one of, no near": {`"throttle"`, func(n *Node) { n.OneOf("enforce", "shadow", "off") }, `"throttle" is unknown; write "enforce", "shadow" or "off" (line 1, column 1)`},
		"number too big":  {`1e30`, func(n *Node) { n.Whole(0, 10) }, `1e30 is out of range; write a whole number from 0 to 10 (line 1, column 1)`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := Parse([]byte(c.text))
			c.read(d.Root())
			if diff := cmp.Diff([]string{c.want}, messages(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWholeNumberIsExact(t *testing.T) {
	cases := []struct {
		text string
		want int64
		fit  fit
	}{
		{"0", 0, fits}, {"-0", 0, fits}, {"0.000", 0, fits}, {"0e999999999999", 0, fits}, {"10", 10, fits}, {"-10", -10, fits},
		{"1e3", 1000, fits}, {"1E+3", 1000, fits}, {"1000.0", 1000, fits}, {"1.5e1", 15, fits}, {"1500e-2", 15, fits}, {"0.001e3", 1, fits},
		{"30000000000", 30000000000, fits}, {"9007199254740993", 9007199254740993, fits},
		{"9223372036854775807", math.MaxInt64, fits}, {"-9223372036854775808", math.MinInt64, fits}, {"9223372036854775808", 0, tooLarge},
		{"1e19", 0, tooLarge}, {"1e999999999999999999999", 0, tooLarge}, {"1e-999999999999999999999", 0, hasFraction},
		{"1.7", 0, hasFraction}, {"1e-1", 0, hasFraction}, {"15e-1", 0, hasFraction},
	}
	for _, c := range cases {
		if got, fit := wholeNumber(c.text); got != c.want || fit != c.fit {
			t.Errorf("%s: got %d, %d, want %d, %d", c.text, got, fit, c.want, c.fit)
		}
	}
}

func TestParseDurationIsExactOrRefuses(t *testing.T) {
	const unit = `; write whole numbers with a unit of ms, s, m, h or d, such as `
	cases := []struct {
		text string
		want time.Duration
		fail string
	}{
		{"50ms", 50 * time.Millisecond, ""}, {"60s", time.Minute, ""}, {"5m", 5 * time.Minute, ""}, {"1h30m", 90 * time.Minute, ""},
		{"365d", 365 * 24 * time.Hour, ""}, {"0s", 0, ""}, {"0007s", 7 * time.Second, ""},
		{"", 0, `"" is no duration` + unit + `"60s" or "1m"`},
		{"-1s", 0, `"-1s" is no duration` + unit + `"60s" or "1m"`},
		{"soon", 0, `"soon" is no duration` + unit + `"60s" or "1m"`},
		{"60", 0, `"60" has no unit; write a duration such as "60s" or "1m"`},
		{"1.5h", 0, `"1.5h" has a number without a unit` + unit + `"1h30m"`},
		{"60 s", 0, `"60 s" has a number without a unit` + unit + `"1h30m"`},
		{"1h30", 0, `"1h30" has a number without a unit` + unit + `"1h30m"`},
		{"5min", 0, `"5min" has the unit "min", which is unknown; write ms, s, m, h or d, such as "60s" or "1m"`},
		{"5M", 0, `"5M" has the unit "M", which is unknown; write ms, s, m, h or d, such as "60s" or "1m"`},
		{"99999999999d", 0, `"99999999999d" is out of range; write a shorter duration`},
		{"99999999999999999999s", 0, `"99999999999999999999s" is out of range; write a shorter duration`},
		{"106751d106751d", 0, `"106751d106751d" is out of range; write a shorter duration`},
	}
	for _, c := range cases {
		got, err := ParseDuration(c.text)
		fail := ""
		if err != nil {
			fail = err.Error()
		}
		if got != c.want || fail != c.fail {
			t.Errorf("%q: got %v, %q, want %v, %q", c.text, got, fail, c.want, c.fail)
		}
	}
}

func TestDurationsSurviveFormatting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", time.Second: "1s", 90 * time.Second: "90s", 5 * time.Minute: "5m", 24 * time.Hour: "1d", 1500 * time.Millisecond: "1500ms",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64Range(0, math.MaxInt64/int64(time.Millisecond)).Draw(t, "ms")) * time.Millisecond
		if got, err := ParseDuration(FormatDuration(want)); err != nil || got != want {
			t.Fatalf("%v came back as %v, %v", want, got, err)
		}
	})
}

func TestNearestFindsSlipsAndNothingElse(t *testing.T) {
	known := []string{"algorithm", "identity", "limit", "limits", "window", "ip"}
	for name, want := range map[string]string{
		"algoritm": "algorithm", "Window": "window", "widnow": "window", "identitiy": "identity", "limt": "limit", "IP": "ip", "ipp": "ip",
		"colour": "", "": "", "w": "", strings.Repeat("limit", 100): "",
	} {
		if got, _ := Nearest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestAHugeWrongDocumentIsReadInBoundedTime(t *testing.T) {
	var text strings.Builder
	text.WriteString("{")
	for i := range 200_000 {
		text.WriteString(`"windo` + strconv.Itoa(i) + `":0,`)
	}
	text.WriteString(`"name":"x"}`)
	start := time.Now()
	d := Parse([]byte(text.String()))
	ReadObject(d.Root(), new(sample), sampleFields)
	if len(d.Problems()) != maxProblems+1 {
		t.Errorf("%d problems, want %d", len(d.Problems()), maxProblems+1)
	}
	if took := time.Since(start); took > time.Minute { // a third of a second on a quiet machine, and minutes if each looked at all others
		t.Errorf("took %v", took)
	}
}
