package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Field says where a log keeps something: "method=.req.method".
type Field struct {
	Name string // "time", "method", …, or a source such as "header:x-api-key"

	place    string   // as it was written
	path     []string // of keys in JSON
	position int      // of a word in a line of text, from 1
	constant string   // the same for every request
	fixed    bool
}

// String is the field as [ParseField] reads it.
func (f Field) String() string { return f.Name + "=" + f.place }

// The names that are no source.
const (
	fieldTime = iota
	fieldRequest
	fieldMethod
	fieldPath
	fieldHost
	fieldStatus
	fieldClient
	fieldForwardedFor
	fieldDetails
	fieldSources // the first that is a source
)

var fieldNames = [fieldSources]string{"time", "request", "method", "path", "host", "status", "client", "forwarded_for", "details"}

// FieldNames lists the names that are no source.
func FieldNames() []string { return fieldNames[:] }

// maxFields bounds what is looked for in each line.
const maxFields = 64

// ParseField reads NAME=PLACE. A place is a path of keys in JSON that begins
// with a dot, where a backslash takes the next character literally; the number
// of a word in a line of text; or "=" and a text that holds for every request.
func ParseField(text string) (Field, error) {
	name, place, ok := cutPlace(text)
	if !ok || name == "" || place == "" {
		return Field{}, fmt.Errorf("field %q names no place; write NAME=.json.path, NAME=3 for the third word of a line, or NAME==text", text)
	}
	if !slices.Contains(fieldNames[:], name) && !strings.Contains(name, ":") {
		return Field{}, fmt.Errorf("field %q: there is no %q; write one of %s, or a source such as header:x-api-key", text, name, strings.Join(fieldNames[:], ", "))
	}
	f := Field{Name: name, place: place}
	switch place[0] {
	case '=':
		f.constant, f.fixed = place[1:], true
	case '.':
		path, err := SplitPath(place[1:])
		if err == nil && strings.Contains(escapes.Replace(place), "[") {
			err = errors.New("a path cannot go into a list; log the element as a field of its own")
		}
		if err != nil {
			return f, fmt.Errorf("field %q: %w", text, err)
		}
		f.path = path
	default:
		n, err := strconv.Atoi(place)
		if err != nil || n < 1 || n > maxWords {
			return f, fmt.Errorf("field %q: %q is no place; write .json.path, the number of a word from 1 to %d, or =text", text, place, maxWords)
		}
		f.position = n
	}
	return f, nil
}

// cutPlace cuts at the "=" before the place. A source may hold one, a place
// only as its first character or in a constant.
func cutPlace(text string) (name, place string, ok bool) {
	if name, constant, ok := strings.Cut(text, "=="); ok {
		return name, "=" + constant, true
	}
	at := strings.LastIndex(text, "=")
	if dot := strings.Index(text, "=."); dot >= 0 {
		at = dot
	}
	if at < 0 {
		return "", "", false
	}
	return text[:at], text[at+1:], true
}

// escapes takes out what a backslash protects.
var escapes = strings.NewReplacer(`\\`, "", `\[`, "")

// SplitPath cuts a path of keys at its dots. A backslash takes the next character literally.
func SplitPath(text string) ([]string, error) {
	var path []string
	var key []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			path, key = append(path, string(key)), nil
		case c == '\\' && i+1 < len(text):
			i++
			key = append(key, text[i])
		default:
			key = append(key, c)
		}
	}
	path = append(path, string(key))
	if slices.Contains(path, "") || len(path) > maxDepth {
		return nil, fmt.Errorf("%q has an empty key, or more than %d; write .key or .key.key", "."+text, maxDepth)
	}
	return path, nil
}
