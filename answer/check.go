package answer

import (
	"errors"
	"slices"
	"strings"

	"routelimit/plainfmt"
)

// maxBody bounds a custom body: it is sent to every caller that is refused.
const maxBody = 16 << 10

// The HTTP statuses that a refusal may have.
const (
	LeastStatus = 400
	MostStatus  = 599
)

// reservedHeaders are those that the proxy or this package computes.
var reservedHeaders = []string{
	"connection", "content-length", "grpc-message", "grpc-status", "retry-after", "trailer", "transfer-encoding", "upgrade",
}

// ReservedHeaders lists, in lower case, the headers that CheckHeader refuses.
func ReservedHeaders() []string { return slices.Clone(reservedHeaders) }

// CheckHeader says whether an answer may carry a header, and gives its name in
// lower case.
func CheckHeader(name, value string) (lower string, err error) {
	lower = strings.ToLower(name)
	switch {
	case !isToken(name):
		return "", plainfmt.Errorf("%q is no header name; write letters, digits and hyphens", name)
	case slices.Contains(reservedHeaders, lower):
		return "", plainfmt.Errorf("the header %q is set by the proxy; take it out", name)
	}
	return lower, checkValue(value)
}

// CheckBody says whether a custom body and its content type can be sent.
func CheckBody(body, contentType string) error {
	if len(body) > maxBody {
		return plainfmt.Errorf("the body has %d bytes; write at most %d", len(body), maxBody)
	}
	return checkValue(contentType)
}

// checkValue keeps control characters out, above all those that would begin
// another header.
func checkValue(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("a header's value cannot hold line ends or other control characters; write it on one line")
	}
	if strings.Trim(value, " \t") != value {
		return errors.New("a header's value cannot begin or end with a blank; take it out")
	}
	return nil
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
