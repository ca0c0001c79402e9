package stored

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"routelimit/policy/strictjson"
)

// Kind is how a field counts.
type Kind string

// The kinds of fields.
const (
	Window  Kind = "window" // w300: fixed and sliding windows alike
	Log     Kind = "log"    // l300
	Bucket  Kind = "bucket" // b60
	Unknown Kind = "unknown"
)

// Field is one field of a key.
type Field struct {
	Name   string        `json:"name"` // "w300"
	Kind   Kind          `json:"kind"`
	Window time.Duration `json:"-"`
	Shadow bool          `json:"shadow"`
	// Problem says why the value cannot be read; it is then started anew by the next request.
	Problem string `json:"problem,omitempty"`

	StartMS  int64 `json:"start_ms,omitempty"` // of the window, in ms since the epoch
	Count    int64 `json:"count"`              // in the window; of a log, its entries
	Previous int64 `json:"previous"`           // in the window before

	Times []int64 `json:"-"` // of a log, in ms since the epoch, oldest first

	AtMS    int64 `json:"at_ms,omitempty"`   // when a bucket was last charged
	Deficit int64 `json:"deficit,omitempty"` // what it lacked then, in tokens times the window in ms
}

// ParseField reads a field. It never fails: a Problem says what is wrong.
func ParseField(name, value string) Field {
	f := Field{Name: name, Kind: Unknown}
	rest, shadow := strings.CutPrefix(name, "~")
	f.Shadow = shadow
	if rest == "" {
		f.Problem = "no field of routelimit"
		return f
	}
	seconds, err := strconv.ParseInt(rest[1:], 10, 32)
	if err != nil || seconds < 1 || strconv.FormatInt(seconds, 10) != rest[1:] {
		f.Problem = "no field of routelimit"
		return f
	}
	f.Window = time.Duration(seconds) * time.Second
	switch rest[0] {
	case 'w':
		f.Kind = Window
		f.window(value)
	case 'l':
		f.Kind = Log
		f.log(value)
	case 'b':
		f.Kind = Bucket
		f.bucket(value)
	default:
		f.Problem = "no field of routelimit"
	}
	return f
}

// window reads "start count previous", the start in s.
func (f *Field) window(value string) {
	numbers, ok := whole(value, 3)
	if !ok || numbers[0] > 1<<43 {
		f.Problem = "not a start and two counts"
		return
	}
	f.StartMS, f.Count, f.Previous = numbers[0]*1000, numbers[1], numbers[2]
}

// log reads packed times of six bytes each, big-endian.
func (f *Field) log(value string) {
	const size = 6
	if len(value) == 0 || len(value)%size != 0 {
		f.Problem = "not a log of times"
		return
	}
	for at := 0; at < len(value); at += size {
		var ms int64
		for _, c := range []byte(value[at : at+size]) {
			ms = ms<<8 | int64(c)
		}
		f.Times = append(f.Times, ms)
	}
	f.Count = int64(len(f.Times))
}

// bucket reads "time deficit", the time in ms.
func (f *Field) bucket(value string) {
	numbers, ok := whole(value, 2)
	if !ok {
		f.Problem = "not a time and what the bucket lacks"
		return
	}
	f.AtMS, f.Deficit = numbers[0], numbers[1]
}

func whole(text string, n int) ([]int64, bool) {
	words := strings.Split(text, " ")
	if len(words) != n {
		return nil, false
	}
	var numbers []int64
	for _, word := range words {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil || number < 0 {
			return nil, false
		}
		numbers = append(numbers, number)
	}
	return numbers, true
}

// Used is how much of a limit is used at a time, for a limit of that algorithm's family: of a window as a sliding one
// counts, which a fixed one bounds from below; of a log its entries in the window; of a bucket the tokens that it lacks,
// where it refills so many a window.
func (f *Field) Used(nowMS int64, sliding bool, refill int64) int64 {
	length := f.Window.Milliseconds()
	switch {
	case f.Problem != "":
		return 0
	case f.Kind == Log:
		used := int64(0)
		for _, at := range f.Times {
			if at > nowMS-length {
				used++
			}
		}
		return used
	case f.Kind == Bucket:
		lacks := f.Deficit - max(0, nowMS-f.AtMS)*refill
		return max(0, (lacks+length-1)/length)
	}
	count, previous := f.counts(nowMS)
	if sliding {
		left := length - nowMS%length
		count += (previous*left + length - 1) / length
	}
	return count
}

// counts are those of the window now and of the one before.
func (f *Field) counts(nowMS int64) (count, previous int64) {
	length := f.Window.Milliseconds()
	switch start := nowMS - nowMS%length; {
	case f.StartMS >= start:
		return f.Count, f.Previous
	case f.StartMS == start-length:
		return 0, f.Count
	}
	return 0, 0
}

// Words says what stands in the field, as it is at a time.
func (f *Field) Words(nowMS int64) string {
	text := f.words(nowMS)
	if f.Shadow {
		text += "; of a shadow limit"
	}
	return text
}

func (f *Field) words(nowMS int64) string {
	if f.Problem != "" {
		return f.Problem
	}
	switch f.Kind {
	case Log:
		used := f.Used(nowMS, false, 0)
		text := fmt.Sprintf("log of %s: %d in the window", strictjson.FormatDuration(f.Window), used)
		if over := f.Count - used; over > 0 {
			text += fmt.Sprintf(", %d older ones", over)
		}
		return fmt.Sprintf("%s; the oldest of %s, the newest of %s", text, clock(f.Times[0]), clock(f.Times[len(f.Times)-1]))
	case Bucket:
		tokens := float64(f.Deficit) / float64(f.Window.Milliseconds())
		return fmt.Sprintf("bucket, refilled each %s: lacked %s tokens at %s", strictjson.FormatDuration(f.Window), strconv.FormatFloat(tokens, 'f', -1, 64), clock(f.AtMS))
	}
	text := fmt.Sprintf("window of %s since %s: %d counted, %d in the window before", strictjson.FormatDuration(f.Window), clock(f.StartMS), f.Count, f.Previous)
	if end := f.StartMS + f.Window.Milliseconds(); end <= nowMS {
		text += fmt.Sprintf("; it ended at %s", clock(end))
	}
	return text
}

// clock is a time, with its ms where it has some.
func clock(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.999") + " UTC"
}
