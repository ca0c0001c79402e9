//go:build wasip1

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"routelimit/answer"
	"routelimit/plainfmt"
	"routelimit/policy"
	"routelimit/shim"
)

// logs are the lines that a plugin writes, each kind bounded in its rate: an
// attack or an outage must not fill a disk.
type logs struct {
	identity policy.LogIdentity
	refusals rate
	failures map[string]*rate
}

const (
	refusalsPerPeriod = 20
	refusalsPeriod    = time.Second
	failuresPerPeriod = 1
	failuresPeriod    = 10 * time.Second
)

func newLogs() logs {
	return logs{
		refusals: rate{lines: refusalsPerPeriod, period: refusalsPeriod},
		failures: map[string]*rate{},
	}
}

// rate admits a number of lines a period and counts the others.
type rate struct {
	lines   int
	period  time.Duration
	ends    time.Duration
	written int
	leftOut int
}

// admit says whether a line may be written, and how many were not since the last.
func (r *rate) admit() (leftOut int, ok bool) {
	if at := now(); at >= r.ends {
		r.ends, r.written = at+r.period, 0
	}
	if r.written >= r.lines {
		r.leftOut++
		return 0, false
	}
	r.written++
	leftOut, r.leftOut = r.leftOut, 0
	return leftOut, true
}

// refusal writes one refusal as a line of JSON; quota is the caller's limit, and
// mark, if there is one, is set to true in it.
func (l *logs) refusal(refusing *policy.Limit, quota int64, identity []byte, mark string) {
	leftOut, ok := l.refusals.admit()
	if !ok {
		return
	}
	labels := &refusing.Labels
	line := append(make([]byte, 0, 256), `{"event":"rate_limited"`...)
	line = appendText(line, "route", labels.Route)
	line = appendText(line, "limit", labels.Limit)
	line = appendText(line, "key", labels.Identity)
	line = appendNumber(line, "quota", quota)
	line = appendText(line, "window", labels.Window)
	if text := l.identityText(identity); text != "" {
		line = appendText(line, "identity", text)
	}
	if mark != "" {
		line = append(append(append(line, `,"`...), mark...), `":true`...)
	}
	if leftOut > 0 {
		line = appendNumber(line, "left_out", int64(leftOut))
	}
	shim.Log(shim.LogInfo, string(append(line, '}')))
}

func appendText(line []byte, name, value string) []byte {
	line = append(append(append(line, `,"`...), name...), `":`...)
	return answer.AppendJSONString(line, value)
}

func appendNumber(line []byte, name string, value int64) []byte {
	line = append(append(append(line, `,"`...), name...), `":`...)
	return strconv.AppendInt(line, value, 10)
}

func (l *logs) identityText(identity []byte) string {
	switch {
	case len(identity) == 0 || l.identity == policy.LogNone:
		return ""
	case l.identity == policy.LogHashed:
		sum := sha256.Sum256(identity)
		return hex.EncodeToString(sum[:8])
	}
	return string(identity)
}

// warn writes a line about a kind of trouble, if one may be written now.
func (l *logs) warn(kind string, text func() string) {
	r := l.failures[kind]
	if r == nil {
		r = &rate{lines: failuresPerPeriod, period: failuresPeriod}
		l.failures[kind] = r
	}
	leftOut, ok := r.admit()
	if !ok {
		return
	}
	line := "routelimit: " + text()
	if leftOut > 0 {
		line += plainfmt.Sprintf(" (%d more like this were not logged)", leftOut)
	}
	shim.Log(shim.LogWarn, line)
}

// maxDetail bounds what is logged of a text that Redis sent.
const maxDetail = 200

func (l *logs) failure(kind, detail string) {
	l.warn(kind, func() string {
		if detail == "" {
			return "no decision: " + kind
		}
		return plainfmt.Sprintf("no decision: %s: %.*q", kind, maxDetail, l.withoutKey(detail))
	})
}

// withoutKey cuts an error reply before a key that it repeats, where identities
// are not logged as they stand in keys.
func (l *logs) withoutKey(detail string) string {
	if l.identity != policy.LogPlain {
		detail, _, _ = strings.Cut(detail, "{")
	}
	return detail
}

func (l *logs) costUnread(route string) {
	l.warn("cost", func() string {
		return "the header that gives the cost of requests of " + route + " is missing, repeated or no positive whole number, and 1 counts; look at the filter that sets it"
	})
}

func (l *logs) decidedWithoutRedis(how, route, failure string) {
	l.warn("decided "+how, func() string {
		return plainfmt.Sprintf("requests of %s are settled without Redis, fail %s: %s", route, how, failure)
	})
}

func (l *logs) linkClosed(code uint32, text string) {
	l.warn("link closed", func() string {
		return plainfmt.Sprintf("the stream to Redis has closed: gRPC status %d: %.*q; it is opened again when a request needs it", code, maxDetail, text)
	})
}

func (l *logs) entryRefused(auth bool, word string) {
	l.warn("entry", func() string {
		command, fields := "SELECT", "redis.database"
		if auth {
			command, fields = "AUTH", "what the variables of redis.username_env and redis.password_env hold"
		}
		return "Redis refuses " + command + ", by " + word + "; correct " + fields + ", or remove the field where redis_proxy or a bridge stands before Redis"
	})
}

func (l *logs) linkBroke(broken bool) {
	if broken {
		l.warn("breaker opened", func() string {
			return "Redis does not answer and is not asked any more, but for one request now and then; all others go by their route's on_error"
		})
		return
	}
	l.warn("breaker closed", func() string { return "Redis answers and is asked again" })
}

func (l *logs) badMetadata(err error) {
	l.warn("route metadata", func() string {
		return "the limits in an Envoy route's metadata are refused; correct them; until then the configuration's routes and default apply, and where those set no limit, requests get 503: " + err.Error()
	})
}
