package limit

import _ "embed" // the scripts' texts

//go:embed decide.lua
var decideScript string

//go:embed refund.lua
var refundScript string

// The SHA-1 of the scripts, by which Redis knows them. A test holds them against the texts.
const (
	decideSHA = "1eb12c5541936a1eb08b91bdb38f85c407be1333"
	refundSHA = "35e643ab5c5354ba0cc63e051130f08555b91bff"
)

// Script is one of the texts that Redis runs, and its SHA-1.
type Script struct {
	SHA  string
	Text string
}

// Scripts lists the scripts, for callers that load them beforehand or accept nothing else.
func Scripts() []Script {
	return []Script{{decideSHA, decideScript}, {refundSHA, refundScript}}
}
