// Package lint checks a policy, or an Envoy configuration with the policies in
// it: whether each is valid, what it probably does not mean, and whether the
// proxy around it lets it work.
package lint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"routelimit/bootstrap"
	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
	"routelimit/policy/advice"
	"routelimit/policy/strictjson"
)

// Finding is one thing that is wrong with a file. A column of 0 is unknown.
type Finding = advice.Finding

// Options are what File looks for, and by.
type Options struct {
	// Env looks environment variables up. One that is not there is taken for
	// one that is only known where Envoy runs.
	Env func(string) (string, bool)
	// RequireDeclared makes every route of Envoy's an error for which the
	// policy has only its default.
	RequireDeclared bool
	// Note is told what the file does not show; nil: nobody.
	Note func(text string)
}

// ErrNothing says that there is nothing in a file to check.
var ErrNothing = errors.New("no routelimit in it; give a policy, in JSON or in YAML with routes or default at its top, or an Envoy configuration with a " +
	"Wasm HTTP filter that has routelimit in its name, vm_id or file")

// ErrNoRoutes says that a policy by itself has no routes of Envoy's.
var ErrNoRoutes = errors.New("it is a policy by itself, without Envoy's routes; give an Envoy configuration to see whether all of them are declared")

// File returns the findings in a file, in its order.
func File(file []byte, o Options) ([]Finding, error) {
	alone, isAlone := bootstrap.PolicyInYAML(file)
	isJSON := bytes.HasPrefix(bytes.TrimSpace(file), []byte("{"))
	var documents []*yamltree.Node
	var err error
	if !isAlone && (!isJSON || bytes.Contains(file, []byte("@type"))) { // what has none is no Envoy configuration, and may be large
		documents, err = yamltree.Parse(file)
	}
	var broken *yamltree.SyntaxError
	e := newEnvoy(file, documents, o)
	if isJSON && len(e.plugins) == 0 {
		alone, isAlone = bootstrap.Whole(file), true // however broken
	}
	switch {
	case isAlone && o.RequireDeclared:
		return nil, ErrNoRoutes
	case isAlone:
		p := &plugin{placed: alone}
		e.readPolicy(p)
		e.noteCluster(p)
	case errors.As(err, &broken):
		return []Finding{{Rule: "syntax", Error: true, Line: broken.Line, Column: broken.Column, Text: "not YAML: " + broken.Reason + "; correct it"}}, nil
	case len(e.limiting()) == 0:
		return nil, ErrNothing
	default:
		e.check()
	}
	slices.SortStableFunc(e.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e.found, nil
}

// readPolicy parses the policy of a plugin and reports what is wrong with it,
// and what Envoy's routes declare beside it.
func (e *envoy) readPolicy(p *plugin) {
	parsed, err := policy.Parse([]byte(p.placed.Text), e.env)
	var problems policy.Errors
	switch {
	case errors.As(err, &problems):
		for _, problem := range problems {
			e.addIn(p, Finding{
				Rule: "invalid", Error: true, Path: problem.Path, Text: problem.Message + p.earlier(problem), Line: problem.Line, Column: problem.Column,
			})
		}
		return
	case err != nil:
		e.addIn(p, Finding{Rule: "invalid", Error: true, Text: err.Error()})
		return
	}
	p.policy = parsed
	e.readDeclared(p)
	for _, f := range advice.Check(parsed, []byte(p.placed.Text), p.declared) {
		e.addIn(p, f)
	}
}

// noteCluster says that nobody has looked for the cluster that a policy names.
func (e *envoy) noteCluster(p *plugin) {
	if p.policy == nil || e.options.Note == nil {
		return
	}
	if redis := strictjson.Parse([]byte(p.placed.Text)).Root().Member("redis"); redis != nil && redis.Member("cluster") != nil {
		e.options.Note(fmt.Sprintf("whether Envoy has the cluster %q of redis.cluster is not known from a policy by itself; check the Envoy configuration", p.policy.Redis.Cluster))
	}
}

// earlier says where in the file stands what a problem's value repeats.
func (p *plugin) earlier(problem strictjson.Problem) string {
	line, column, exact := p.placed.Place(problem.EarlierLine, problem.EarlierColumn)
	if problem.EarlierLine == 0 || !exact {
		return ""
	}
	return fmt.Sprintf("; the first stands in line %d, column %d", line, column)
}

// addIn adds a finding whose place is that in the policy's text.
func (e *envoy) addIn(p *plugin, f Finding) {
	line, column, exact := p.placed.Place(max(1, f.Line), max(1, f.Column))
	f.Line, f.Column = line, 0
	if exact {
		f.Column = column
	}
	e.found = append(e.found, f)
}

// env takes a variable that is not set here for a good one: it may be set where
// Envoy runs.
func (e *envoy) env(name string) (string, bool) {
	const stand = "a key that is long enough"
	if value, ok := e.options.Env(name); ok {
		return value, true
	}
	return stand, true
}
