package identity

import (
	"bytes"
	"strings"
)

// Trace is how an identity came to its part of the key for one request.
type Trace struct {
	Tried []TracedAlternative // in order, the last one counts if it is present
	Used  string              // as Append says: "ip+username", "unknown"
	Key   string              // the caller's part of the key
	Noted Noted
}

// TracedAlternative is one alternative of an identity.
type TracedAlternative struct {
	Text    string // "ip+username"
	Parts   []TracedPart
	Present bool
}

// TracedPart is one component, as it was found or not.
type TracedPart struct {
	Name  string
	From  string // "header:x-api-key"; of the address in words
	Value string // as it stands in the key: escaped, folded, hashed; "" if it is missing
	// Why says why the component is missing, or what was done to its value.
	Why string
}

// Trace resolves an identity as Append does and tells each step. It is for
// people: it takes no part in decisions. A secret is in it only as a hash.
func (e *Expr) Trace(r *Request) Trace {
	var t Trace
	for i := range e.alternatives {
		a := e.traceAlternative(&e.alternatives[i], r)
		t.Tried = append(t.Tried, a)
		if a.Present {
			break
		}
	}
	traced := *r
	traced.Noted = 0
	key, used := e.Append(nil, &traced)
	t.Key, t.Used, t.Noted = string(key), used, traced.Noted
	return t
}

func (e *Expr) traceAlternative(a *alternative, r *Request) TracedAlternative {
	t := TracedAlternative{Text: a.text, Present: true}
	for _, p := range a.parts {
		part := e.tracePart(p, r)
		t.Parts = append(t.Parts, part)
		t.Present = t.Present && part.Value != ""
	}
	return t
}

func (e *Expr) tracePart(p part, r *Request) TracedPart {
	switch {
	case p.declared != nil:
		return p.declared.trace(r, &e.definitions.hash)
	case p.name == nameIP:
		client := e.definitions.TraceClient(r)
		t := TracedPart{Name: nameIP, From: client.From}
		if client.Address == "" {
			t.Why = "there is no address"
		} else {
			value, _ := e.definitions.appendIP(nil, r)
			t.Value = string(value[len(nameIP)+1:])
		}
		return t
	default:
		return TracedPart{Name: p.name, From: "everybody", Value: p.name}
	}
}

func (c *Component) trace(r *Request, hash *hasher) TracedPart {
	t := TracedPart{Name: c.Name, From: c.Source.String()}
	own := *r
	own.Noted = 0
	value, how := c.append(nil, &own, hash)
	switch how {
	case present:
		t.Value = string(value[len(c.Name)+1:])
		t.Why = c.treatment(own.Noted)
	case asUnread:
		t.Why = c.absence(r) + "; where no other alternative is present, all such requests share one count"
	default:
		t.Why = c.absence(r)
	}
	return t
}

// treatment says what was done to a value that is present.
func (c *Component) treatment(noted Noted) string {
	var done []string
	if c.Fold {
		done = append(done, "folded")
	}
	switch {
	case c.Secret:
		done = append(done, "secret, hashed")
	case noted.Has(Oversized):
		done = append(done, "too long for a key, hashed")
	}
	return strings.Join(done, ", ")
}

// absence says why a component is missing.
func (c *Component) absence(r *Request) string {
	own := *r
	own.Noted = 0
	value, what := c.Source.reader.read(nil, &own)
	switch {
	case own.Noted.Has(Ambiguous):
		return "it occurs more than once, and upstreams differ in which one they read"
	case own.Noted.Has(BodyUnread):
		return "the body cannot be read for certain: it is cut off, compressed, of another type or charset, not valid, or the field is neither text nor an integer"
	case what == number && c.Fold:
		return "it is a number, and only a text can be folded"
	case what != missing && len(bytes.TrimSpace(value)) == 0:
		return "it is empty"
	case what != missing:
		return "it is blank once it is folded"
	}
	return "the request has none, or none that is a text or an integer"
}
