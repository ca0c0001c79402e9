package policytest

import (
	"errors"
	"fmt"
	"strings"

	"routelimit/bootstrap/yamltree"
)

// Problem is what is wrong in a file of tests.
type Problem struct {
	Line, Column int // from 1
	Text         string
}

// Problems are all that is wrong in a file, in its order.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = fmt.Sprintf("line %d, column %d: %s", problem.Line, problem.Column, problem.Text)
	}
	return strings.Join(lines, "\n")
}

func syntax(err error) Problems {
	var broken *yamltree.SyntaxError
	if errors.As(err, &broken) {
		return Problems{{broken.Line, broken.Column, "not YAML: " + broken.Reason + "; correct it"}}
	}
	return Problems{{1, 1, err.Error()}}
}
