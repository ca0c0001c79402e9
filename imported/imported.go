// Package imported makes a policy of what envoyproxy/ratelimit and Envoy's own
// ratelimit filter are configured with: the service's descriptors, and the
// rate_limits of Envoy's routes that produce them.
//
//	result, err := imported.Convert(imported.Input{Service: …, Envoy: …})
//	result.Policy   the plugin configuration, as JSON
//	result.Findings what is another way here, or has no equivalent
//
// It reads what decides who is refused. Where both differ, a finding says so,
// and the policy holds what refuses no later than the service did.
package imported

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
)

// File is a configuration file, in YAML or JSON.
type File struct {
	Name string // for places in findings
	Text []byte
}

// Input is what there is to convert.
type Input struct {
	Service []File // of envoyproxy/ratelimit; several make one configuration
	Envoy   []File // bootstraps, listeners or route configurations
	// RouteConfig names the route configuration to take where there are several.
	RouteConfig string
	// ServiceCluster is the name of this Envoy's own cluster (--service-cluster), for
	// source_cluster actions; "": what the bootstrap's node.cluster says.
	ServiceCluster string
}

// Place is where in the input something stands, from 1.
type Place struct {
	File         string
	Line, Column int
}

// Finding is something that an operator has to know about the policy.
type Finding struct {
	Place
	// Lost says that something has no equivalent, so that somebody may be refused
	// who was not, or not refused who was.
	Lost bool
	Text string
}

// Result is what came of a conversion.
type Result struct {
	Policy         []byte // JSON, ends in a newline
	Routes, Limits int    // in the policy
	Findings       []Finding
}

// Lost counts the findings that say so.
func (r *Result) Lost() int {
	n := 0
	for _, f := range r.Findings {
		if f.Lost {
			n++
		}
	}
	return n
}

// converter holds what all steps need.
type converter struct {
	input    Input
	domains  map[string]*descriptor
	filters  []*filter
	prefix6  int // bits of an IPv6 address that tell clients apart; 0: no address counts
	sources  []named
	findings []Finding
	told     map[Finding]bool
	asks     int // descriptors that were read
	known    map[limitsKey]out
	missing  []Finding // domains that the service does not have
	matched  bool      // it has one that is asked about
}

// limitsKey is what limits are worked out for once.
type limitsKey struct {
	route  *envoyRoute
	method string
}

// Convert returns the policy, or an error that says what cannot be read.
func Convert(in Input) (*Result, error) {
	c := &converter{input: in, domains: map[string]*descriptor{}, told: map[Finding]bool{}, known: map[limitsKey]out{}}
	if err := c.readService(); err != nil {
		return nil, err
	}
	hosts, err := c.readEnvoy()
	if err != nil {
		return nil, err
	}
	routes, err := c.arrange(hosts)
	if err != nil {
		return nil, err
	}
	if c.matched {
		c.tellUnused()
	}
	result := c.write(routes)
	if _, err := policy.Parse(result.Policy, os.LookupEnv); err != nil {
		return nil, fmt.Errorf("what came out is no policy, which is a fault of this program; please report it with the files: %w", err)
	}
	slices.SortStableFunc(result.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if !c.matched && len(c.missing) > 0 {
		result.Findings = nil // they are about what limits nothing
	}
	result.Findings = append(c.missing, result.Findings...)
	return result, nil
}

func (c *converter) lose(at Place, format string, args ...any) {
	c.tell(Finding{Place: at, Lost: true, Text: fmt.Sprintf(format, args...)})
}

func (c *converter) note(at Place, format string, args ...any) {
	c.tell(Finding{Place: at, Text: fmt.Sprintf(format, args...)})
}

// tell says everything once, however many routes it concerns.
func (c *converter) tell(f Finding) {
	if !c.told[f] {
		c.told[f] = true
		c.findings = append(c.findings, f)
	}
}

// parse returns the documents of a file. The error names the file.
func parse(f File) ([]*yamltree.Node, error) {
	documents, err := yamltree.Parse(f.Text)
	if err != nil {
		var broken *yamltree.SyntaxError
		if errors.As(err, &broken) {
			return nil, fmt.Errorf("%s:%d:%d: not YAML: %s; correct it", f.Name, broken.Line, broken.Column, broken.Reason)
		}
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return documents, nil
}

func placeOf(file string, n *yamltree.Node) Place {
	if n == nil {
		return Place{File: file, Line: 1, Column: 1}
	}
	return Place{file, n.Line, n.Column}
}

// String is FILE:LINE:COLUMN.
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }
