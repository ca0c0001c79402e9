// Package answer builds what a caller is told: the quota headers, the refusal,
// and the answer of a route that is closed while the limiter is out of order.
//
// No standard for quota headers exists. Each revision of the IETF's draft
// (draft-ietf-httpapi-ratelimit-headers) that changed the form on the wire is
// a dialect of its own here, named by the number of that revision.
package answer

import "slices"

// Style is how answers look. The zero value is the default: X-RateLimit
// headers, status 429, a JSON body.
type Style struct {
	Dialect Dialect

	Status      uint32 // the HTTP status of a refusal, 0 for 429
	Format      Format // of a refusal's body
	Body        string // of a refusal, if Format is Custom
	ContentType string // of Body, "" for text/plain; charset=utf-8

	// Headers are added to every answer of ours, where they replace headers of
	// ours. Names are in lower case and passed CheckHeader.
	Headers [][2]string
}

// Dialect is a way to write quota headers.
type Dialect uint8

// The dialects. "Reset" is in seconds from now unless said otherwise, and the
// limit with the least left speaks where only one can.
const (
	XRateLimit      Dialect = iota // x-ratelimit-limit, -remaining, -reset
	XRateLimitEpoch                // the same, reset in Unix seconds, as GitHub has it
	Draft03                        // ratelimit-limit with all limits, -remaining, -reset
	Draft06                        // ratelimit-limit, -remaining, -reset, -policy
	Draft07                        // ratelimit as one dictionary, ratelimit-policy
	Draft08                        // ratelimit with r and t, ratelimit-policy; the same up to -11
	Draft12                        // ratelimit with a and w, ratelimit-policy
	None                           // no quota headers
)

var dialects = []string{
	XRateLimit: "x-ratelimit", XRateLimitEpoch: "x-ratelimit-epoch",
	Draft03: "draft-03", Draft06: "draft-06", Draft07: "draft-07", Draft08: "draft-08", Draft12: "draft-12",
	None: "none",
}

// String gives the name in a configuration.
func (d Dialect) String() string { return dialects[d] }

// DialectNames lists the names of the dialects; a dialect is its index.
func DialectNames() []string { return slices.Clone(dialects) }

// Format is the form of a refusal's body.
type Format uint8

// The formats.
const (
	JSON    Format = iota // {"error":"rate_limited","retryAfterSec":120}
	Problem               // application/problem+json (RFC 9457), as the draft from -09 on has it
	Custom                // Style.Body as it is
)

var formats = []string{JSON: "json", Problem: "problem", Custom: "custom"}

// String gives the name in a configuration.
func (f Format) String() string { return formats[f] }

// FormatNames lists the names of the formats; a format is its index.
func FormatNames() []string { return slices.Clone(formats) }
