package live

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Refusal is a line of the log, or several that say the same.
type Refusal struct {
	Time     string `json:"time"`  // of the newest, as the log has it; "" if it has none
	Lines    int64  `json:"lines"` // that say the same
	Route    string `json:"route"`
	Limit    string `json:"limit"`
	Key      string `json:"key"` // "ip+username"
	Quota    int64  `json:"quota"`
	Window   string `json:"window"`
	Identity string `json:"identity"` // as it stands in the key; "" if it is not logged
	Shadow   bool   `json:"shadow"`
	Local    bool   `json:"local"`
	LeftOut  int64  `json:"left_out"`
}

const (
	keptRefusals = 50
	mostAtOnce   = 256 << 10 // read of the log in one go; of more, the newest
	mostText     = 300       // of a value that is shown, in bytes
	eventStart   = `{"event":"rate_limited",`
)

// tail follows a log. Both Envoy and package standalone begin the module's lines with [time] and [wasm]: what callers write
// into an access log in the same file does not begin so.
type tail struct {
	name string

	mu   sync.Mutex
	at   int64
	rest []byte // of a line that is not whole yet
	torn bool   // its beginning was left out
	list []Refusal
}

// read takes in what was written since. A log that cannot be read is as one that says nothing.
func (t *tail) read() {
	t.mu.Lock()
	defer t.mu.Unlock()
	file, err := os.Open(t.name)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return
	}
	if info.Size() < t.at {
		t.at, t.rest, t.torn = 0, nil, false
	}
	if info.Size()-t.at > mostAtOnce {
		t.at, t.rest, t.torn = info.Size()-mostAtOnce, nil, true
	}
	text, err := io.ReadAll(io.NewSectionReader(file, t.at, info.Size()-t.at))
	t.at += int64(len(text))
	if err != nil {
		return
	}
	t.rest = append(t.rest, text...)
	for {
		line, rest, ok := bytes.Cut(t.rest, []byte("\n"))
		if !ok {
			break
		}
		if r, ok := parseRefusal(string(line)); ok && !t.torn {
			t.add(r)
		}
		t.rest, t.torn = rest, false
	}
	if len(t.rest) > mostAtOnce {
		t.rest, t.torn = nil, true
	}
}

// add puts a line at the end, with those before it that say the same, so that one caller does not push out all others.
func (t *tail) add(r Refusal) {
	r.Lines = 1
	for i, old := range t.list {
		if old.same(r) {
			r.Lines, r.LeftOut = old.Lines+1, old.LeftOut+r.LeftOut
			t.list = slices.Delete(t.list, i, i+1)
			break
		}
	}
	if t.list = append(t.list, r); len(t.list) > keptRefusals {
		t.list = slices.Delete(t.list, 0, 1)
	}
}

// same says whether two lines differ in nothing but when, and how many were left out before them.
func (r Refusal) same(other Refusal) bool {
	r.Time, r.Lines, r.LeftOut = other.Time, other.Lines, other.LeftOut
	return r == other
}

// refusals are the newest ones, newest first.
func (t *tail) refusals() []Refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Refusal, 0, len(t.list))
	for i := range t.list {
		list = append(list, t.list[len(t.list)-1-i])
	}
	return list
}

func parseRefusal(line string) (Refusal, bool) {
	at := strings.Index(line, eventStart)
	if at < 0 || !strings.HasPrefix(line, "[") || !strings.Contains(line[:at], "[wasm]") {
		return Refusal{}, false
	}
	var r Refusal
	if json.Unmarshal([]byte(line[at:]), &r) != nil {
		return Refusal{}, false
	}
	stamp, _, _ := strings.Cut(line[1:], "]")
	if when, err := time.Parse("2006-01-02 15:04:05.000", stamp); err == nil {
		r.Time = when.Format("15:04:05")
	} else {
		r.Time = ""
	}
	for _, text := range []*string{&r.Route, &r.Limit, &r.Key, &r.Window, &r.Identity} {
		*text = shortened(*text)
	}
	return r, true
}

// shortened cuts a long text at a whole character.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	cut := mostText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
