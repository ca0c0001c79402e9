package bridge

import (
	"bytes"
	"errors"
	"strings"

	"routelimit/limit"
	"routelimit/resp"
)

// Refusal is why a command is not forwarded.
type Refusal uint8

// The reasons. Accepted is none.
const (
	Accepted      Refusal = iota
	RefuseCommand         // not EVALSHA or EVAL of one key
	RefuseScript          // not a script of this build
	RefuseKey             // outside of the prefix
	RefuseClock           // it brings a time of its own
)

// refusals has each reason's name in metrics and what the client is told. NOPERM makes the module count it as "auth".
var refusals = [...]struct{ name, text string }{
	Accepted:      {name: "none"},
	RefuseCommand: {"command", "NOPERM the bridge forwards EVALSHA and EVAL of one key and nothing else; take redis.username_env, password_env and database out of the policy"},
	RefuseScript:  {"script", "NOPERM the bridge does not know this script; run the module and the bridge of one release"},
	RefuseKey:     {"key", "NOPERM the bridge takes no key outside of its prefix; give --key-prefix what the policy has as redis.key_prefix"},
	RefuseClock:   {"clock", "NOPERM the bridge lets nobody but Redis say what time it is"},
}

// String is the reason's name in metrics.
func (r Refusal) String() string { return refusals[r].name }

// Acceptor judges commands. Make it with NewAcceptor; any number of streams may use it.
type Acceptor struct {
	heads []string // of keys: "rl:{"
	byRef map[string]string
}

// NewAcceptor accepts the scripts of package limit on keys under any of the prefixes.
func NewAcceptor(prefixes []string) *Acceptor {
	a := &Acceptor{byRef: map[string]string{}}
	for _, p := range prefixes {
		a.heads = append(a.heads, p+":{")
	}
	for _, s := range limit.Scripts() {
		a.byRef[s.SHA], a.byRef[s.Text] = s.SHA, s.SHA
	}
	return a
}

// Command is what is forwarded: EVALSHA sha 1 key numbers field …, as go-redis takes it. Its bytes are those of the message.
type Command []any

func forwarded(sha string, elems []resp.Value) Command {
	c := make(Command, len(elems))
	c[0], c[1], c[2] = "EVALSHA", sha, "1"
	for i := 3; i < len(elems); i++ {
		c[i] = elems[i].Text
	}
	return c
}

// byText makes it EVAL with the script's text.
func (c Command) byText() { c[0], c[1] = "EVAL", texts[c[1].(string)] }

// texts are the scripts by their SHA.
var texts = func() map[string]string {
	m := map[string]string{}
	for _, s := range limit.Scripts() {
		m[s.SHA] = s.Text
	}
	return m
}()

// errNoCommand says that what came is no command at all, so that replies could not be told apart any more.
var errNoCommand = errors.New("what came on the stream is no array of bulk strings; only routelimit's module may open this stream")

// Judge reads one value from a stream. The error says that the stream cannot be used any more.
func (a *Acceptor) Judge(v resp.Value) (Command, Refusal, error) {
	if v.Kind != resp.Array || len(v.Elems) == 0 {
		return nil, RefuseCommand, errNoCommand
	}
	for _, e := range v.Elems {
		if e.Kind != resp.BulkString || e.Null {
			return nil, RefuseCommand, errNoCommand
		}
	}
	const least = 5 // EVALSHA sha 1 key numbers
	e := v.Elems
	byText := isWord(e[0].Text, "EVAL")
	if !byText && !isWord(e[0].Text, "EVALSHA") || len(e) < least || string(e[2].Text) != "1" {
		return nil, RefuseCommand, nil
	}
	sha, known := a.byRef[string(e[1].Text)]
	if !known || byText == (len(e[1].Text) == len(sha)) {
		return nil, RefuseScript, nil
	}
	if !a.covers(e[3].Text) {
		return nil, RefuseKey, nil
	}
	if !limit.TakesRedisTime(e[4].Text) {
		return nil, RefuseClock, nil
	}
	return forwarded(sha, e), Accepted, nil
}

// covers says whether a key is one of ours: prefix:{…}, with nothing behind the brace, so that the whole of it but the
// prefix says in which slot it lies.
func (a *Acceptor) covers(key []byte) bool {
	for _, head := range a.heads {
		if inner, ok := bytes.CutPrefix(key, []byte(head)); ok {
			return len(inner) > 1 && bytes.IndexByte(inner, '}') == len(inner)-1
		}
	}
	return false
}

func isWord(text []byte, word string) bool {
	return len(text) == len(word) && strings.EqualFold(string(text), word)
}
