package limit

import _ "embed" // the scripts' texts

//go:embed decide.lua
var decideScript string

//go:embed refund.lua
var refundScript string

// The SHA-1 of the scripts, by which Redis knows them. A test holds them against the texts.
const (
	decideSHA = "598cf46e99373ee70be23b4028236f074c332895"
	refundSHA = "47eccbc7d09d4e537cecf9483cdfed5e08649293"
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
