package resp

import "bytes"

// Failure is the kind of an error reply: what to count, and what to do about it.
type Failure uint8

// The kinds of error replies.
const (
	Other           Failure = iota
	NoScript                // the server does not know the script's SHA: send EVAL
	ReadOnly                // a replica, perhaps a demoted primary
	Loading                 // reading its data set after a start
	OOM                     // maxmemory reached, and nothing may be evicted
	Misconf                 // cannot persist
	Busy                    // another script has been running for too long
	ClusterDown             // the slot is served by nobody
	MasterDown              // a replica that lost its primary
	NoReplicas              // fewer replicas than min-replicas-to-write
	Moved                   // the slot is served elsewhere
	Ask                     // the slot is just moving away
	TryAgain                // the slot is moving, and not all keys are at one place
	CrossSlot               // keys of different slots in one command
	Auth                    // no, or a wrong, password; not permitted by the ACL
	MaxClients              // the server takes no more connections
	UpstreamFailure         // Envoy's redis_proxy had no answer in time, or lost its connection
	NoUpstreamHost          // Envoy's redis_proxy has no server to ask
	Unsupported             // a server that cannot run the scripts: older than 6.2, or commands barred
)

// failures names each kind. words are what an error reply begins with, or, inside the report of a failed script, holds
// as a word; phrases may stand anywhere.
var failures = [...]struct {
	label   string
	words   []string
	phrases []string
}{
	Other:           {label: "other"},
	NoScript:        {label: "noscript", words: []string{"NOSCRIPT"}},
	ReadOnly:        {label: "readonly", words: []string{"READONLY"}},
	Loading:         {label: "loading", words: []string{"LOADING"}},
	OOM:             {label: "oom", words: []string{"OOM"}},
	Misconf:         {label: "misconf", words: []string{"MISCONF"}},
	Busy:            {label: "busy", words: []string{"BUSY"}},
	ClusterDown:     {label: "clusterdown", words: []string{"CLUSTERDOWN"}},
	MasterDown:      {label: "masterdown", words: []string{"MASTERDOWN"}},
	NoReplicas:      {label: "noreplicas", words: []string{"NOREPLICAS"}},
	Moved:           {label: "moved", words: []string{"MOVED"}},
	Ask:             {label: "ask", words: []string{"ASK"}},
	TryAgain:        {label: "tryagain", words: []string{"TRYAGAIN"}},
	CrossSlot:       {label: "crossslot", words: []string{"CROSSSLOT"}, phrases: []string{"access a non local key"}},
	Auth:            {label: "auth", words: []string{"NOAUTH", "WRONGPASS", "NOPERM", "DENIED"}, phrases: []string{"invalid password", "ACL failure in script", "can't run this command"}},
	MaxClients:      {label: "maxclients", phrases: []string{"max number of clients"}},
	UpstreamFailure: {label: "upstream_failure", phrases: []string{"upstream failure"}},
	NoUpstreamHost:  {label: "no_upstream_host", phrases: []string{"no upstream host"}},
	Unsupported:     {label: "unsupported", phrases: []string{"unknown command", "after non deterministic commands"}},
}

// Failures lists every kind, for those who count them.
func Failures() []Failure {
	all := make([]Failure, len(failures))
	for i := range all {
		all[i] = Failure(i)
	}
	return all
}

// String is the kind's short name in metrics: "noscript", "upstream_failure".
func (f Failure) String() string {
	if int(f) < len(failures) {
		return failures[f].label
	}
	return failures[Other].label
}

// ClassifyError tells the kind of an error reply from its Text.
//
// What a command says inside a script arrives differently: Redis 7 puts its text first; older ones put it behind
// "ERR Error running script (call to f_<sha>): @user_script:<line>: ".
func ClassifyError(text []byte) Failure {
	first, rest, _ := bytes.Cut(text, []byte(" "))
	if f := byWord(first); f != Other {
		return f
	}
	if bytes.Contains(text, []byte("user_script")) {
		for word := range bytes.SplitSeq(rest, []byte(" ")) {
			if f := byWord(bytes.TrimPrefix(word, []byte("-"))); f != Other {
				return f
			}
		}
	}
	for f := range failures {
		for _, phrase := range failures[f].phrases {
			if bytes.Contains(text, []byte(phrase)) {
				return Failure(f)
			}
		}
	}
	return Other
}

func byWord(word []byte) Failure {
	for f := range failures {
		for _, known := range failures[f].words {
			if string(word) == known {
				return Failure(f)
			}
		}
	}
	return Other
}
