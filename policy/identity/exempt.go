package identity

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"routelimit/plainfmt"
)

// Exempt are callers who are let off, by "name:hash". Who reads them learns no
// value that he cannot guess.
type Exempt struct {
	definitions *Definitions
	components  []*Component // those of callers
	callers     map[string]bool
}

// Empty reports that nobody is let off.
func (e *Exempt) Empty() bool { return len(e.callers) == 0 }

// Exempt adds a caller to e, "api_key:2bd806c97f0e00af", as Hash gives it.
func (d *Definitions) Exempt(e *Exempt, caller string) error {
	name, hash, _ := strings.Cut(caller, ":")
	component, err := d.component(name)
	switch {
	case err != nil:
		return err
	case component.Source.needsBody():
		return plainfmt.Errorf("identity %q is in the body, where anybody can write it; exempt one that its caller has to know or to prove", name)
	case !isHash(hash):
		return plainfmt.Errorf("%q does not end in a hash, which is %d lower-case hexadecimal digits; write what this prints: routelimit hash %s", caller, 2*secretBytes, name)
	}
	if e.callers == nil {
		e.definitions, e.callers = d, map[string]bool{}
	}
	if !slices.Contains(e.components, component) {
		e.components = append(e.components, component)
	}
	e.callers[caller] = true
	return nil
}

func isHash(text string) bool {
	return len(text) == 2*secretBytes && strings.Trim(text, "0123456789abcdef") == ""
}

// Holds reports whether the caller of a request is let off.
func (e *Exempt) Holds(r *Request) bool {
	noted := r.Noted
	exempt := false
	for _, component := range e.components {
		caller, how := component.appendHashed(nil, r, &e.definitions.hash)
		exempt = exempt || how == present && e.callers[string(caller)]
	}
	r.Noted = noted // what is odd is noted where it is counted
	return exempt
}

// Hash returns "name:hash" for a value of a declared component: how a secret
// stands in keys, and what Exempt takes. Blanks around the value are no part of
// it, and it is folded where the component is.
func (d *Definitions) Hash(name, value string) (string, error) {
	declared, err := d.component(name)
	if err != nil {
		return "", err
	}
	value = trimBlanks(value)
	if header, ok := declared.Source.reader.(*headerSource); ok {
		value = string(header.append(nil, value))
	}
	component := *declared
	component.Source.reader = given(value)
	caller, how := component.appendHashed(nil, &Request{}, &d.hash)
	if how != present {
		return "", errors.New("the value is empty; give what a request would send")
	}
	return string(caller), nil
}

// given is a value for which no request has to be asked.
type given string

func (v given) read(dst []byte, _ *Request) ([]byte, found) {
	return append(dst, v...), text
}

// appendHashed appends as append does, "name:hash" also where the value is no secret.
func (c *Component) appendHashed(dst []byte, r *Request, hash *hasher) ([]byte, presence) {
	hashed := *c
	hashed.Secret = true
	return hashed.append(dst, r, hash)
}

// component is a declared component.
func (d *Definitions) component(name string) (*Component, error) {
	switch component := d.components[name]; {
	case component != nil:
		return component, nil
	case name == nameIP:
		return nil, errors.New(`an address is not hashed; write it as it is, such as "192.0.2.7"`)
	case name == nameAll:
		return nil, errors.New(`"all" is everybody; remove the limits instead`)
	}
	return nil, plainfmt.Errorf("no identity is called %q; %s", name, d.advise(name))
}

// Callers lists them, "api_key:2bd806c97f0e00af", sorted.
func (e *Exempt) Callers() []string { return slices.Sorted(maps.Keys(e.callers)) }

// Components are those of the callers that are let off.
func (e *Exempt) Components() []Component {
	var all []Component
	for _, component := range e.components {
		all = append(all, *component)
	}
	return all
}
