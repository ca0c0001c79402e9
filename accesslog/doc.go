// Package accesslog reads the access logs of proxies: Envoy's default format,
// Istio's, JSON, and nginx' and Apache's, compressed or not, and several of
// them as one stream in the order of time.
//
// A log is hostile: most of what stands in it was sent by strangers. A line
// that cannot be read for certain is counted and left out, no line makes memory
// grow without bound, and no date stops the clock for the lines after it.
package accesslog

// Entry is one request of a log.
type Entry struct {
	// TimeMS is when the request came, in ms since the epoch; from one entry to
	// the next it never goes back. Some logs know it to the second only.
	TimeMS int64
	Method string
	Path   string // raw, with the query if the log has it
	Host   string
	// Client is whom the proxy took for the client: an address, with or without a port.
	Client       string
	ForwardedFor string // the lines of X-Forwarded-For, joined by commas
	Status       int    // of the response; 0: none, or none is known
	Details      string // Envoy's %RESPONSE_CODE_DETAILS%
	Values       []string
	Layout       *Layout // what the log holds; Values are parallel to its Sources

	order int // within its file
}

// Layout says what the lines of a log hold. In an [Entry], what a line lacks or
// has a "-" for is "".
type Layout struct {
	Format string // "envoy", "json", …
	// HasHost and the others say whether the lines have a place for it at all.
	HasHost, HasClient, HasForwardedFor, HasStatus bool
	// Sources are where the values would be in a request, as a policy writes it:
	// "header:user-agent".
	Sources []string
	// Received says that X-Forwarded-For is as the proxy received it. Otherwise
	// the proxy's own entry is in it.
	Received bool
}
