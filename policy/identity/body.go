package identity

import (
	"bytes"
	"errors"
	"strings"
	"unsafe"
)

// bodySource reads a field of a JSON object or of a form.
type bodySource struct {
	field []byte   // the name of a form field
	path  [][]byte // the same as a path in JSON
}

func parseBodySource(argument string) (reader, error) {
	if argument == "" {
		return nil, errors.New(`no field is named; write "body:" and a dotted path`)
	}
	path, err := parseJSONPath(argument)
	if err != nil {
		return nil, err
	}
	return &bodySource{field: []byte(argument), path: path}, nil
}

func (s *bodySource) read(dst []byte, r *Request) ([]byte, found) {
	if r.Body == nil || r.Body.Complete && len(r.Body.Bytes) == 0 {
		return dst, missing
	}
	noted := r.Noted
	r.Noted = 0
	dst, what := s.readBody(dst, r)
	if what == missing && r.Noted != 0 {
		what = unread
	}
	r.Noted |= noted
	return dst, what
}

func (s *bodySource) readBody(dst []byte, r *Request) ([]byte, found) {
	if r.Body.Complete && !isEncoded(r.Attrs) {
		// RFC 8259, section 8.1: a reader may ignore a byte-order mark.
		body := bytes.TrimPrefix(r.Body.Bytes, []byte("\ufeff"))
		kind := mediaType(r.Attrs)
		switch {
		case kind == typeJSON || beginsObject(body):
			dst, what, valid := appendJSONField(dst, body, s.path, r)
			if valid {
				return dst, what
			}
		case kind == typeForm:
			return appendField(dst, stringOf(r.Body.Bytes), s.field, r)
		}
	}
	r.Noted |= BodyUnread
	return dst, missing
}

// beginsObject reports whether a body can only be meant as a JSON object. Many
// upstreams decode JSON without a look at the content type, so a caller that
// names another one must not thereby leave out who it is; to a reader of forms
// such a body names nobody.
func beginsObject(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '{'
}

// isEncoded reports whether the body is compressed or the like.
func isEncoded(attrs Attributes) bool {
	for line := 0; ; line++ {
		coding, ok := attrs.Header("content-encoding", line)
		if !ok {
			return false
		}
		if coding = trimBlanks(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
}

// bodyType is a kind of body that can be read.
type bodyType uint8

const (
	typeOther bodyType = iota
	typeJSON           // application/json, application/*+json
	typeForm           // application/x-www-form-urlencoded
)

func mediaType(attrs Attributes) bodyType {
	line, ok := attrs.Header("content-type", 0)
	if !ok {
		return typeOther
	}
	if _, again := attrs.Header("content-type", 1); again {
		return typeOther
	}
	full, _, _ := strings.Cut(line, ";")
	full = trimBlanks(full)
	const family, suffix = "application/", "+json"
	if len(full) < len(family) || !strings.EqualFold(full[:len(family)], family) {
		return typeOther
	}
	sub := full[len(family):]
	switch {
	case strings.EqualFold(sub, "json"),
		len(sub) > len(suffix) && strings.EqualFold(sub[len(sub)-len(suffix):], suffix):
		return typeJSON
	case strings.EqualFold(sub, "x-www-form-urlencoded"):
		return typeForm
	}
	return typeOther
}

// stringOf lends bytes as a string, without a copy, for the time in which
// nobody writes to them.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf lends a string as bytes that nobody may write to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
