package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"routelimit/simulate"
)

func written(t *testing.T, r *simulate.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// report is of so many routes, each with a limit, over so many steps.
func report(routes, steps int) *simulate.Report {
	r := &simulate.Report{
		Logs: []simulate.Log{{Name: "<b>.log", Format: "json"}}, From: start, To: start.Add(time.Hour), Requests: 1234567, Unreadable: 3,
		Outcomes: simulate.Outcomes{Passed: 1000000, Refused: 234567}, Notes: []string{`a note <script>alert("x")</script>`},
		Timeline: simulate.Timeline{Start: start, Seconds: 60},
	}
	for i := range routes {
		key := fmt.Sprintf("GET:/r%d", i)
		line := simulate.Line{Route: key, Requests: make([]int64, steps), Refused: make([]int64, steps)}
		for j := range steps {
			line.Requests[j], line.Refused[j] = int64(10+i), int64(j%2)
		}
		r.Timeline.Routes = append(r.Timeline.Routes, line)
		r.Routes = append(r.Routes, simulate.Route{Key: key, Requests: 5, Limits: []simulate.Limit{{
			Name: "n<i>", Terms: "30 in 1m by sliding_window", Identity: "ip", Number: 30, Unit: "limit", Asked: 5, Refused: 2, Identities: 4, IdentitiesRefused: 1, OneIn: 1,
			Suggestions:  []simulate.Suggestion{{Percent: 0.1, Number: 60}, {Percent: 1, Number: 1001, Over: true}},
			Distribution: []simulate.Bin{{From: 1, To: 1, Identities: 3}, {From: 2, To: 29}, {From: 30, To: 49}, {From: 50, To: 69, Identities: 1}},
			WorstMinute:  &simulate.Minute{At: start, Requests: 5, Refused: 2},
			Top:          []simulate.Refusals{{Identity: "ip:203.0.113.7</code>", Refused: 2, First: start, Last: start}},
		}}})
	}
	return r
}

// Nothing is loaded from elsewhere, nothing runs, and what callers sent is text.
func TestPageStandsByItself(t *testing.T) {
	page := written(t, report(3, 50))
	if found := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|url\(|src=|href=|https?://|@import|\son[a-z]+="`).FindString(page); found != "" {
		t.Errorf("it holds %q", found)
	}
	for _, want := range []string{
		"1,234,567", "19.0%", "&lt;b&gt;.log", "&lt;script&gt;", "n&lt;i&gt;", "203.0.113.7&lt;/code&gt;", "over 1,001", "limit 30",
		`name="viewport"`, "prefers-color-scheme: dark",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	for _, tag := range []string{"svg", "section", "table", "div", "dl", "main", "span", "text"} {
		if open, closed := strings.Count(page, "<"+tag), strings.Count(page, "</"+tag+">"); open != closed {
			t.Errorf("%d <%s> and %d </%s>", open, tag, closed, tag)
		}
	}
}

// What is refused, what only would be, and what was not played stand apart.
func TestPageSaysWhatWouldBe(t *testing.T) {
	r := report(1, 2)
	r.Partly, r.Routes[0].Partly = 783, 783
	l := &r.Routes[0].Limits[0]
	l.Spared, l.IdentitiesSpared, l.WorstMinute.Spared, l.Top[0].Spared = 2, 1, 1, true
	page := written(t, r)
	for _, want := range []string{
		`<b>783</b><span class="soft">played without every limit`, "<th>partly played</th>", "<td>783</td>",
		">0 (0.0%)</span> refused at least once, and 1 (25.0%) would be if it were enforced for all", "2 of 5 refused (1 of them let through)", ">2, let through<",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	l.Shadow = true
	page = written(t, r)
	for _, want := range []string{">1 (25.0%)</span> would be refused at least once<", "2 of 5 would be refused<", "<th>would be refused most"} {
		if !strings.Contains(page, want) {
			t.Errorf("of a shadow it lacks %q", want)
		}
	}
}

// On a phone no word is wider than the page: long names break.
func TestLongNamesBreak(t *testing.T) {
	if !strings.Contains(text, "p, dd { overflow-wrap: anywhere; }") {
		t.Error("the name of a log does not break")
	}
}

func TestPageStaysSmallWhateverTheLog(t *testing.T) {
	page := written(t, report(500, 600))
	if plots := strings.Count(page, "over time\""); plots != maxLines+1 {
		t.Errorf("%d plots", plots)
	}
	if !strings.Contains(page, "300 limits with fewer refusals") || strings.Count(page, "<section") != maxLimits {
		t.Errorf("%d limits", strings.Count(page, "<section"))
	}
	if !strings.Contains(page, "488 routes with fewer requests") || len(page) > 3<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func TestPageOfNothingSaysSo(t *testing.T) {
	if page := written(t, &simulate.Report{Notes: []string{"why"}}); !strings.Contains(page, "No request could be read") || !strings.Contains(page, "why") {
		t.Error(page)
	}
	if page := written(t, &simulate.Report{AnsweredBefore: 3}); !strings.Contains(page, "No request came to routelimit") {
		t.Error(page)
	}
}

// All bars lie inside the plot, and their heights are the numbers'.
func TestTimelineDrawsWhatIsThere(t *testing.T) {
	r := report(1, 600)
	c := timeline(line{Line: r.Timeline.Routes[0], Timeline: &r.Timeline})
	if !strings.Contains(c.Axis, "each 6 min") || len(c.Bars) != 200 {
		t.Errorf("axis %q, %d bars", c.Axis, len(c.Bars))
	}
	for _, b := range c.Bars {
		if b.X < left || b.X+b.Width > width || b.Y < top-0.01 || b.Y+b.Height > c.Bottom+0.01 {
			t.Fatalf("bar %+v", b)
		}
	}
	// 6 steps of 10 requests, every other with a refusal, under a ceiling of 60.
	if b := c.Bars[0]; b.Class != "passed" || b.Height != plotHeight*57/60 || c.Bars[1].Height != plotHeight*3/60 || b.Title != "2026-12-01 00:00:00: 60 requests, 3 refused" {
		t.Errorf("%+v, %+v", b, c.Bars[1])
	}
}

// A letter is 6.5 wide at most; what lies beyond the plot's width is cut off.
func TestLabelsOfTimeAreWhole(t *testing.T) {
	for _, step := range []int64{1, 60, 3600, 86400} {
		for steps := 2; steps <= 200; steps++ {
			r := report(1, steps)
			r.Timeline.Seconds = step
			end := 0.0
			for _, tick := range timeline(line{Line: r.Timeline.Routes[0], Timeline: &r.Timeline}).Along {
				half := float64(len(tick.Text)) * 6.5 / 2
				if tick.At-half < end || tick.At+half > width {
					t.Fatalf("%d steps of %d s: %+v, behind %v", steps, step, tick, end)
				}
				end = tick.At + half
			}
		}
	}
}

func TestDistributionDrawsTheLimitWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		number   int64
		bins     []simulate.Bin
		from, to float64 // the line, as a share of the plot
		red      int
	}{
		"in a bin":       {3, []simulate.Bin{{From: 1, To: 1, Identities: 5}, {From: 2, To: 2}, {From: 3, To: 4, Identities: 2}, {From: 5, To: 6, Identities: 1}}, 0.62, 0.63, 1},
		"behind all":     {20, []simulate.Bin{{From: 1, To: 1, Identities: 5}}, 0.85, 1, 0},
		"before all":     {1, []simulate.Bin{{From: 30, To: 49, Identities: 5}}, 0, 0.5, 1},
		"too far behind": {1e12, []simulate.Bin{{From: 1, To: 1, Identities: 5}}, -1, -1, 0},
	} {
		plot := distribution(simulate.Limit{Number: c.number, Unit: "limit", Distribution: c.bins})
		at := -1.0
		if plot.Mark != nil {
			at = (plot.Mark.At - left) / plotWidth
		}
		red := 0
		for _, b := range plot.Bars {
			if b.Class == "refused" {
				red++
			}
			if b.Y < top-0.01 || b.Y+b.Height > plot.Bottom+0.01 {
				t.Errorf("%s: bar %+v", name, b)
			}
		}
		if at < c.from || at > c.to || red != c.red {
			t.Errorf("%s: the limit is at %v, %d bars beyond it", name, at, red)
		}
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	for span, want := range map[time.Duration]string{
		10 * time.Second: "00:00:00 00:00:05 00:00:10", 14 * time.Minute: "00:00 00:05 00:10", 20 * time.Hour: "00:00 06:00 12:00 18:00",
		40 * time.Hour: "Dec 1 00h Dec 1 12h Dec 2 00h Dec 2 12h", 240 * time.Hour: "Dec 1 Dec 3 Dec 5 Dec 7 Dec 9 Dec 11",
	} {
		ticks, layout := timeTicks(start, start.Add(span))
		var got []string
		for _, at := range ticks {
			got = append(got, at.Format(layout))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: %v", span, got)
		}
	}
	for n, want := range map[int64]int64{1: 1, 3: 4, 6: 6, 9: 10, 21: 40, 1000: 1000} {
		if got := ceiling(n); got != want {
			t.Errorf("ceiling of %d: %d", n, got)
		}
	}
}
