package accesslog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// start is 2026-12-01T13:00:00Z in seconds.
const start = 1796130000

// at is a line of JSON for a second after start.
func at(second float64, path string) string {
	return fmt.Sprintf(`{"time":%.3f,"method":"GET","path":%q}`+"\n", start+second, path)
}

// played is "path@second" for each entry.
func played(entries []Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s@%g", e.Path, float64(e.TimeMS-start*1000)/1000))
	}
	return all
}

func TestSeveralLogsAreOneStreamInTheOrderOfTime(t *testing.T) {
	entries, logs := read(t, Options{},
		at(1, "a")+at(3, "b")+at(3, "c"),
		`203.0.113.7 - - [01/Dec/2026:13:00:02 +0000] "GET d HTTP/1.1" 200 5`+"\n"+`203.0.113.7 - - [01/Dec/2026:13:00:03 +0000] "GET e HTTP/1.1" 200 5`,
		at(0, "f")+at(9, "g"))
	want := []string{"f@0", "a@1", "d@2", "b@3", "c@3", "e@3", "g@9"}
	if diff := cmp.Diff(want, played(entries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if logs[0].Name != "1" || logs[1].Layout.Format != "common" || entries[2].Layout == entries[1].Layout {
		t.Errorf("%+v %+v", logs[0], logs[1])
	}
}

func TestLinesThatEndLateAreBroughtIntoOrder(t *testing.T) {
	entries, logs := read(t, Options{}, at(5, "a")+at(1, "b")+at(64, "c")+at(7, "d")+at(70, "e")+at(4, "f")+at(71, "g"))
	// f began 66 s before e, which is more than is waited for.
	want := []string{"b@1", "a@5", "d@7", "f@7", "c@64", "e@70", "g@71"}
	if diff := cmp.Diff(want, played(entries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if logs[0].Late != 1 || logs[0].MostLateMS != 3000 || logs[0].Requests != 7 {
		t.Errorf("%+v", logs[0])
	}
}

// However lines are shuffled within the slack, they come out sorted, and none is lost.
func TestAnyOrderWithinTheSlackIsSorted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(rt, "n")
		ends := make([][2]int, n) // when it ends, when it began
		clock := 0
		for i := range ends {
			clock += rapid.IntRange(0, 20_000).Draw(rt, "gap")
			ends[i] = [2]int{clock, clock - rapid.IntRange(0, 60_000).Draw(rt, "took")}
		}
		var text strings.Builder
		var want []string
		for i, e := range ends {
			text.WriteString(at(float64(e[1])/1000, fmt.Sprint(i)))
		}
		slices.SortStableFunc(ends, func(a, b [2]int) int { return a[1] - b[1] })
		for _, e := range ends {
			want = append(want, fmt.Sprintf("%g", float64(e[1])/1000))
		}
		entries, logs := read(t, Options{}, text.String())
		var got []string
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%g", float64(e.TimeMS-start*1000)/1000))
		}
		if diff := cmp.Diff(want, got); n > 0 && (diff != "" || logs[0].Late != 0) {
			rt.Fatalf("late %d (-want +got):\n%s", logs[0].Late, diff)
		}
	})
}

func TestOneWrongDateDoesNotCarryTheOthersAlong(t *testing.T) {
	hour := 3600.0
	for name, c := range map[string]struct {
		text       string
		want       []string
		unreadable int64
	}{
		"in the middle": {at(1, "a") + at(8*hour, "x") + at(2, "b"), []string{"a@1", "b@2"}, 1},
		"at the start":  {at(8*hour, "x") + at(1, "a") + at(2, "b"), []string{"a@1", "b@2"}, 1},
		"at the end":    {at(1, "a") + at(8*hour, "x"), []string{"a@1", "x@28800"}, 0},
		"a quiet night": {at(1, "a") + at(8*hour, "b") + at(8*hour+1, "c"), []string{"a@1", "b@28800", "c@28801"}, 0},
		"two of them":   {at(1, "a") + at(8*hour, "x") + at(2, "b") + at(9*hour, "y") + at(3, "c"), []string{"a@1", "b@2", "c@3"}, 2},
		"too early":     {at(-start, "x") + at(1, "a") + at(2, "b"), []string{"a@1", "b@2"}, 1},
		"in the future": {at(1, "a") + at(40*hour, "x") + at(40*hour, "y") + at(2, "b"), []string{"a@1", "b@2"}, 2},
	} {
		entries, logs := read(t, Options{}, c.text)
		if diff := cmp.Diff(c.want, played(entries)); diff != "" || logs[0].Unreadable != c.unreadable || logs[0].Late != 0 {
			t.Errorf("%s: %+v (-want +got):\n%s", name, logs[0], diff)
		}
	}
}

func TestUnreadableLinesAreCountedAndTheFirstFewShown(t *testing.T) {
	text := at(1, "a") + "\x1b[2J{\x00\n\n" + strings.Repeat("x", maxLine+5) + "\n" + at(2, "b") + `{"time":"soon","method":"GET","path":"/"}` + "\r\n" +
		`{"time":1796130000,"method":"","path":"/"}` + "\n" + `{"time":1796130000,"method":"GET","path":"/","status":"ok"}` + "\n" +
		strings.Repeat(strings.Repeat("é", 200)+"\n", 3) + `{"time":17961`
	entries, logs := read(t, Options{Fields: fields(t, "status=.status")}, text)
	if diff := cmp.Diff([]string{"a@1", "b@2"}, played(entries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l := logs[0]
	if l.Lines != 11 || l.Requests != 2 || l.Unreadable != 9 || l.Err != nil {
		t.Errorf("%+v", l)
	}
	want := []Fault{
		{2, errObject.Error(), `\x1b[2J{\x00`}, {4, errLong.Error(), ""}, {6, errTime.Error(), `{"time":"soon","method":"GET","path":"/"}`},
		{7, errNone.Error(), `{"time":1796130000,"method":"","path":"/"}`}, {8, errStatus.Error(), `{"time":1796130000,"method":"GET","path":"/","status":"ok"}`},
	}
	if diff := cmp.Diff(want, l.Faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompressedLogsAreReadAsTheyAre(t *testing.T) {
	var b bytes.Buffer
	for _, text := range []string{at(1, "a"), at(2, "b")} { // two members, as rotation leaves them
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
	}
	var told int
	entries, _ := read(t, Options{Progress: func(n int) { told += n }}, b.String())
	if diff := cmp.Diff([]string{"a@1", "b@2"}, played(entries)); diff != "" || told != b.Len() {
		t.Errorf("%d of %d bytes\n%s", told, b.Len(), diff)
	}
	entries, logs := read(t, Options{}, b.String()[:b.Len()-10])
	if len(entries) != 2 || logs[0].Err == nil || !strings.Contains(logs[0].Err.Error(), "line 3: ") {
		t.Errorf("cut off: %v, %v", played(entries), logs[0].Err)
	}
	if _, logs := read(t, Options{}, "\x1f\x8bnone"); logs[0].Err == nil {
		t.Error("no gzip was read")
	}
}

func TestAMarkBeforeTheTextIsNoPartOfIt(t *testing.T) {
	entries, logs := read(t, Options{}, "\ufeff"+at(1, "a"))
	if len(entries) != 1 {
		t.Errorf("%+v", logs[0])
	}
}

func TestReadingEndsWhenNobodyWantsMore(t *testing.T) {
	stop := errors.New("enough")
	log := func() Input { return Input{"1", strings.NewReader(strings.Repeat(at(1, "a"), 100_000))} }
	if _, err := Read(t.Context(), []Input{log(), log()}, Options{Now: present}, func(*Entry) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hanging, writer := io.Pipe()
	defer writer.Close()
	go func() {
		io.WriteString(writer, strings.Repeat(at(1, "a"), 2000))
		cancel() // and nothing more comes
	}()
	if _, err := Read(ctx, []Input{{"1", hanging}}, Options{Now: present}, func(*Entry) error { return nil }); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// A log that keeps entries waiting cannot make memory grow, whether its requests lie
// far apart in turn or all in one second, and whether its lines are many or long.
func TestMemoryStaysBoundedWhateverTheTimes(t *testing.T) {
	for name, c := range map[string]struct {
		second func(i int) int64
		length int
	}{
		"in turn, long": {func(i int) int64 { return int64(i % 2 * 59) }, 20_000}, "in one, long": {func(int) int64 { return 0 }, 20_000},
		"in turn, many": {func(i int) int64 { return int64(i % 2 * 59) }, 100}, "in one, many": {func(int) int64 { return 0 }, 100},
	} {
		emitted, most := 0, 0
		o := &order{emit: func(*Entry) { emitted++ }}
		const lines = 3 * maxHeld
		for i := range lines {
			o.add(waiting{&Entry{TimeMS: (start + c.second(i)) * 1000, order: i}, int64(i), c.length})
			most = max(most, o.bytes)
			if held := i + 1 - emitted; held > maxHeld+1 {
				t.Fatalf("%s: %d entries are held", name, held)
			}
		}
		if o.finish(); emitted != lines || most > maxHeldBytes || o.bytes != 0 || o.count != 0 {
			t.Errorf("%s: %d of %d emitted, %d bytes held at most, %d now", name, emitted, lines, most, o.bytes)
		}
	}
}

func TestNowIsTheClocksWhereNoneIsGiven(t *testing.T) {
	soon := time.Now().Add(2 * 24 * time.Hour).Unix()
	text := fmt.Sprintf(`{"time":%d,"method":"GET","path":"/"}`, soon)
	logs, err := Read(t.Context(), []Input{{"1", strings.NewReader(text)}}, Options{}, func(*Entry) error { return nil })
	if err != nil || logs[0].Unreadable != 1 || logs[0].Faults[0].Why != errDate.Error() {
		t.Errorf("%v, %+v", err, logs[0])
	}
}
