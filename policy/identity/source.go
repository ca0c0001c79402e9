package identity

import (
	"errors"
	"strings"

	"routelimit/plainfmt"
)

// found is what a reader came back with.
type found uint8

const (
	missing found = iota
	text          // a string
	number        // the decimal digits of an integer that was no string
	unread        // something is there that cannot be read for certain, and an upstream may read it
)

// reader takes one value out of a request. It appends the value to dst and
// returns dst even if nothing was found, since dst may have grown; the caller
// cuts it back. It reports each oddity in r.Noted.
type reader interface {
	read(dst []byte, r *Request) ([]byte, found)
}

// Source is where a component's value comes from. The zero value is never
// present.
type Source struct {
	text   string
	reader reader
}

// String gives the source as it was written.
func (s Source) String() string { return s.text }

// sourceKinds are the words before the colon, in the order of the messages.
var sourceKinds = []struct {
	name  string
	parse func(argument string) (reader, error)
}{
	{"header", parseHeaderSource},
	{"cookie", parseCookieSource},
	{"query", parseQuerySource},
	{"body", parseBodySource},
	{"path", parseParamSource},
	{"metadata", parseMetadataSource},
	{"jwt_unverified", parseJWTSource},
	{"property", parsePropertySource},
}

// ParseSource reads the place of a value:
//
//	header:x-api-key                                  a request header; "host" is :authority
//	cookie:session                                    one cookie
//	query:api_key                                     one parameter of the query
//	body:user.name                                    a dotted path in a JSON body, or the form field of that name
//	path:id                                           a parameter of the route's template
//	metadata:envoy.filters.http.jwt_authn/payload/sub dynamic metadata: a namespace, then keys
//	jwt_unverified:sub                                a dotted path in the claims of the bearer token, which nobody has checked
//	property:connection.uri_san_peer_certificate      a dotted Envoy attribute
//
// In paths a backslash takes the next character literally, so a claim
// "https://ns/x" is written `metadata:…/payload/https:\/\/ns\/x`.
func ParseSource(text string) (Source, error) {
	kind, argument, ok := strings.Cut(text, ":")
	if !ok {
		return Source{}, plainfmt.Errorf("source %q names no kind; write %s", text, sourceKindList())
	}
	for _, k := range sourceKinds {
		if k.name != kind {
			continue
		}
		reader, err := k.parse(argument)
		if err != nil {
			return Source{}, plainfmt.Errorf("source %q: %v", text, err)
		}
		return Source{text: text, reader: reader}, nil
	}
	return Source{}, plainfmt.Errorf("source %q is of the unknown kind %q; write %s", text, kind, sourceKindList())
}

// SourceKinds lists the words that a source begins with.
func SourceKinds() []string {
	names := make([]string, len(sourceKinds))
	for i, k := range sourceKinds {
		names[i] = k.name
	}
	return names
}

// sourceKindList is the end of a message: `"header:…", "cookie:…" or …`.
func sourceKindList() string {
	var b strings.Builder
	for i, k := range sourceKinds {
		switch {
		case i == len(sourceKinds)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(`"` + k.name + `:…"`)
	}
	return b.String()
}

// Append appends the value as it stands in a request, for those who compare it.
// It is not ok if it is missing or cannot be read for certain. dst is returned
// even then, since it may have grown.
func (s Source) Append(dst []byte, r *Request) (value []byte, ok bool) {
	if s.reader == nil {
		return dst, false
	}
	dst, what := s.reader.read(dst, r)
	return dst, what == text || what == number
}

// needsBody reports whether the value is in the body.
func (s Source) needsBody() bool {
	_, body := s.reader.(*bodySource)
	return body
}

// splitPath cuts a path at a separator that no backslash protects, and takes
// the backslashes out.
func splitPath(path string, separator byte) ([]string, error) {
	var elements []string
	var element []byte
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == separator:
			elements = append(elements, string(element))
			element = element[:0]
		case c == 0:
			return nil, errors.New("a path cannot hold a NUL character; take it out")
		case c == '\\' && i+1 < len(path):
			i++
			element = append(element, path[i])
		default:
			element = append(element, c)
		}
	}
	elements = append(elements, string(element))
	for _, e := range elements {
		if e == "" {
			return nil, plainfmt.Errorf("the path %q has an empty element; write names with one %q between them", path, separator)
		}
	}
	return elements, nil
}
