package accesslog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say how logs are read.
type Options struct {
	Format string // one of FormatNames; "": found out from the first lines of each log
	Fields []Field
	// Received says whether X-Forwarded-For is as the proxy received it; nil: as
	// the format says.
	Received *bool
	// Now is the present; a line may lie a day after it. The zero value is the
	// clock's.
	Now time.Time
	// Progress is told how many bytes of the logs, as they lie there, were read. It
	// is called from several goroutines.
	Progress func(bytes int)
}

// detect makes the parser for a log that begins with these lines.
func (o *Options) detect(sample []string) (*parser, error) {
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	candidates := o.candidates(sample)
	var best *parser
	most := 0
	var wrong error // of the fields
	for _, f := range candidates {
		if err := checkFields(f.name, f.fields, f.unfit); err != nil {
			if len(candidates) == 1 {
				return nil, err
			}
			wrong = err
			continue
		}
		received := f.received
		if o.Received != nil {
			received = *o.Received
		}
		p := newParser(f.format, f.name, f.fields, received, now.UnixMilli())
		p.given, p.unfit = f.given, f.unfit
		if len(candidates) == 1 {
			return p, nil
		}
		if n := p.readable(sample); n > most {
			best, most = p, n
		}
	}
	if best != nil {
		return best, nil
	}
	if wrong != nil {
		return nil, wrong
	}
	first := "it is empty"
	if len(sample) > 0 {
		first = fmt.Sprintf("it begins with %s", show(sample[0]))
	}
	return nil, fmt.Errorf("the format is none of %s: %s; name one with --format, or write --format text and a --field for each of time, method, path, status and client",
		strings.Join(FormatNames()[:len(formats)+1], ", "), first)
}

// candidate is a format that the log may have, with its fields.
type candidate struct {
	name     string
	format   *format // nil for JSON
	fields   []Field
	given    int     // the first fields are the user's
	unfit    []Field // the user's that the log cannot have
	received bool
}

func newCandidate(name string, f *format, given []Field, known []string, received bool, sample []string) candidate {
	fit, unfit := fitting(given, f == nil, f.mostWords(sample))
	return candidate{name, f, places(fit, known), len(fit), unfit, received}
}

// mostWords are those of the longest line that may be of the format.
func (f *format) mostWords(sample []string) int {
	if f == nil {
		return 0
	}
	most := len(f.kinds)
	for _, line := range sample {
		if words, kinds, ok := splitWords(line, f.escapes, nil, nil); ok && f.fits(kinds) {
			most = max(most, len(words))
		}
	}
	return most
}

func (o *Options) candidates(sample []string) []candidate {
	if o.Format == formatText {
		return []candidate{newCandidate(formatText, &format{more: true}, o.Fields, nil, false, sample)}
	}
	var all []candidate
	first := slices.IndexFunc(sample, isObject)
	if o.Format == formatJSON || o.Format == "" && first >= 0 {
		known, received := jsonFields(sample)
		all = append(all, newCandidate(formatJSON, nil, o.Fields, known, received, sample))
		if first <= 0 {
			return all
		}
	}
	for i := range formats {
		f := &formats[i]
		if o.Format == "" || o.Format == f.name {
			all = append(all, newCandidate(f.name, f, o.Fields, f.fields, f.received, sample))
		}
	}
	return all
}

// isObject says whether a line may be JSON. Others may stand between: what a proxy
// writes besides its access log.
func isObject(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") }

// jsonFields are the fields that the first lines have under their common names.
func jsonFields(sample []string) (fields []string, received bool) {
	for _, known := range jsonNames {
		for _, key := range known.keys {
			if !hasKey(sample, key) {
				continue
			}
			fields = append(fields, known.field+"=."+strings.ReplaceAll(key, ".", `\.`))
			for _, nginx := range receivedKeys {
				received = received || key == nginx
			}
			break
		}
	}
	return fields, received
}

// hasKey says whether some line has the key in its object.
func hasKey(sample []string, key string) bool {
	o := object{paths: [][]string{{key}}, values: make([]string, 1), seen: make([]bool, 1)}
	for _, line := range sample {
		o.text, o.at = line, 0
		if o.scan() && o.seen[0] {
			return true
		}
	}
	return false
}

// readable counts the lines that can be read.
func (p *parser) readable(sample []string) (n int) {
	for _, line := range sample {
		if _, err := p.parse(line); err == nil {
			n++
		}
	}
	return n
}
