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
	return &bodySource{field: fieldName([]byte(argument)), path: path}, nil
}

func (s *bodySource) read(dst []byte, r *Request) ([]byte, found) {
	if r.Body == nil || r.Body.Complete && len(r.Body.Bytes) == 0 {
		return dst, missing
	}
	noted := r.Noted
	r.Noted = 0
	dst, what := s.readBody(dst, r)
	switch {
	case what == unread:
		r.Noted |= BodyUnread
	case what == missing && r.Noted != 0:
		what = unread
	}
	r.Noted |= noted
	return dst, what
}

func (s *bodySource) readBody(dst []byte, r *Request) ([]byte, found) {
	charset := bodyCharset(r.Attrs)
	if !r.Body.Complete || isEncoded(r.Attrs) || charset == charsetOther {
		r.Noted |= BodyUnread
		return dst, missing
	}
	start := len(dst)
	dst, what := s.readText(dst, r)
	if what == text && charset == charsetLatin && !isASCII(dst[start:]) {
		r.Noted |= BodyUnread
		return dst, missing
	}
	return dst, what
}

// readText reads a body whose bytes are characters.
func (s *bodySource) readText(dst []byte, r *Request) ([]byte, found) {
	// RFC 8259, section 8.1: a reader may ignore a byte-order mark.
	body := bytes.TrimPrefix(r.Body.Bytes, []byte("\ufeff"))
	kind := mediaType(r.Attrs)
	switch {
	case kind == typeJSON || beginsObject(body):
		dst, what, valid := appendJSONField(dst, body, s.path, r)
		if valid && kind == typeJSON {
			return dst, what
		}
		if valid {
			return s.unlessForm(dst, what, body, r)
		}
	case kind == typeForm:
		return appendField(dst, stringOf(r.Body.Bytes), s.field, r)
	}
	r.Noted |= BodyUnread
	return dst, missing
}

// unlessForm is what a JSON object says that is not declared as one, unless a
// reader of forms would find the field in the same bytes: {"a":"&username=b&"}.
func (s *bodySource) unlessForm(dst []byte, what found, body []byte, r *Request) ([]byte, found) {
	end := len(dst)
	dst, inForm := appendField(dst, stringOf(body), s.field, r)
	if inForm != missing || r.Noted != 0 {
		r.Noted |= Ambiguous
		return dst, missing
	}
	return dst[:end], what
}

// beginsObject reports whether a body can only be meant as a JSON object. Many
// upstreams decode JSON without a look at the content type, so a caller that
// names another one must not thereby leave out who it is.
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

// charset is what the characters of a body are encoded in.
type charset uint8

const (
	charsetUTF8  charset = iota // or not said
	charsetLatin                // as UTF-8, if all is ASCII
	charsetOther                // the bytes may say anything: in UTF-7 +ACI- is a quote
)

// bodyCharset finds the charset wherever a reader of the content type may, since
// upstreams differ in how strictly they read it.
func bodyCharset(attrs Attributes) charset {
	said := charsetUTF8
	for line := 0; ; line++ {
		rest, ok := attrs.Header("content-type", line)
		if !ok {
			return said
		}
		for rest = strings.ToLower(rest); ; {
			if _, rest, ok = strings.Cut(rest, "charset"); !ok {
				break
			}
			name := strings.TrimLeft(rest, " \t=\"'")
			if end := strings.IndexAny(name, " \t;,\"'"); end >= 0 {
				name = name[:end]
			}
			switch name {
			case "utf-8", "utf8", "us-ascii":
			case "iso-8859-1":
				said = charsetLatin
			default:
				return charsetOther
			}
		}
	}
}

// stringOf lends bytes as a string, without a copy, for the time in which
// nobody writes to them.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf lends a string as bytes that nobody may write to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
