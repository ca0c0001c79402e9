package accesslog

import (
	"errors"
	"strconv"
	"strings"
)

// parser reads the lines of one log.
type parser struct {
	layout *Layout
	format *format // nil for JSON
	// at says where each field's value goes: an index of values, or a source's behind them.
	fields []Field
	slots  []int
	given  int     // the first fields are the user's
	unfit  []Field // the user's that the log cannot have
	now    int64   // in ms

	values [fieldSources]string // of the line that is read
	words  []string
	kinds  []byte
	object object
	met    []bool // parallel to fields: some line had a value
}

func newParser(f *format, name string, fields []Field, received bool, now int64) *parser {
	p := &parser{format: f, fields: fields, now: now}
	p.layout = &Layout{Format: name, Received: received}
	for _, field := range fields {
		slot := fieldSources + len(p.layout.Sources)
		for i, name := range fieldNames {
			if name == field.Name {
				slot = i
			}
		}
		if slot >= fieldSources {
			p.layout.Sources = append(p.layout.Sources, field.Name)
		}
		p.slots = append(p.slots, slot)
		switch slot {
		case fieldHost:
			p.layout.HasHost = true
		case fieldClient:
			p.layout.HasClient = true
		case fieldForwardedFor:
			p.layout.HasForwardedFor = true
		case fieldStatus:
			p.layout.HasStatus = true
		}
		p.object.paths = append(p.object.paths, field.keys())
	}
	p.object.values = make([]string, len(fields))
	p.object.seen = make([]bool, len(fields))
	p.met = make([]bool, len(fields))
	return p
}

// unmet are the user's fields that no line had a value for.
func (p *parser) unmet() []Field {
	var all []Field
	for i, f := range p.fields[:p.given] {
		if !p.met[i] && !f.fixed {
			all = append(all, f)
		}
	}
	return all
}

// keys is the field's path, or one that no object has.
func (f *Field) keys() []string {
	if f.path == nil {
		return []string{"\x00"}
	}
	return f.path
}

// Why a line cannot be read. The texts are shown behind its number.
var (
	errWords  = errors.New("it is not laid out as the format says")
	errObject = errors.New("it is not one JSON object")
	errTime   = errors.New("its time cannot be read")
	errDate   = errors.New("its date is before the year 2000, or in the future")
	errNone   = errors.New("it names no method and path")
	errStatus = errors.New("its status is no number from 0 to 999")
	errLong   = errors.New("it is too long")
	errOrder  = errors.New("its time is more than an hour ahead of the next line's")
)

// parse reads one line, which the entry keeps hold of.
func (p *parser) parse(line string) (*Entry, error) {
	e := &Entry{Layout: p.layout}
	if n := len(p.layout.Sources); n > 0 {
		e.Values = make([]string, n)
	}
	p.values = [fieldSources]string{}
	if err := p.pick(line, e.Values); err != nil {
		return nil, err
	}
	return e, p.fill(e)
}

// pick finds the fields' values.
func (p *parser) pick(line string, sources []string) error {
	var ok bool
	if p.format == nil {
		clear(p.object.values)
		clear(p.object.seen)
		p.object.text, p.object.at = line, 0
		if !p.object.scan() {
			return errObject
		}
	} else {
		p.words, p.kinds, ok = splitWords(line, p.format.escapes, p.words[:0], p.kinds[:0])
		if !ok || !p.format.fits(p.kinds) {
			return errWords
		}
	}
	for i := range p.fields {
		value, err := p.value(i)
		if err != nil {
			return err
		}
		p.met[i] = p.met[i] || value != ""
		if slot := p.slots[i]; slot < fieldSources {
			p.values[slot] = value
		} else {
			sources[slot-fieldSources] = value
		}
	}
	return nil
}

func (p *parser) value(i int) (string, error) {
	f := &p.fields[i]
	value := f.constant
	switch {
	case f.fixed:
		return value, nil
	case p.format == nil:
		value = p.object.values[i]
	case f.position > len(p.words):
		return "", errWords
	default:
		value = p.words[f.position-1]
		if p.format.escapes && p.kinds[f.position-1] == quoted {
			value = unescape(value)
		}
	}
	if value == "-" {
		return "", nil
	}
	return value, nil
}

// fits says whether a line's words are of the format's kinds.
func (f *format) fits(kinds []byte) bool {
	return strings.HasPrefix(string(kinds), f.kinds) && (f.more || len(kinds) == len(f.kinds))
}

// fill makes an entry of the values.
func (p *parser) fill(e *Entry) error {
	v := &p.values
	var ok bool
	if e.TimeMS, ok = parseTime(v[fieldTime]); !ok {
		return errTime
	}
	if e.TimeMS < earliest || e.TimeMS > p.now+ahead.Milliseconds() {
		return errDate
	}
	e.Method, e.Path, e.Host, e.Client, e.ForwardedFor = v[fieldMethod], v[fieldPath], v[fieldHost], v[fieldClient], v[fieldForwardedFor]
	e.Details = v[fieldDetails]
	method, path := cutRequest(v[fieldRequest])
	if e.Method == "" {
		e.Method = method
	}
	if e.Path == "" {
		e.Path = path
	}
	if e.Method == "" || e.Path == "" {
		return errNone
	}
	if text := v[fieldStatus]; text != "" {
		status, err := strconv.ParseUint(text, 10, 16)
		if err != nil || status > 999 {
			return errStatus
		}
		e.Status = int(status)
	}
	return nil
}

// cutRequest cuts "GET /path HTTP/1.1". What is no such line has no method and path.
func cutRequest(line string) (method, path string) {
	method, rest, _ := strings.Cut(line, " ")
	end := strings.LastIndexByte(rest, ' ')
	if end < 0 || method == "-" || rest[:end] == "-" {
		return "", ""
	}
	return method, rest[:end]
}
