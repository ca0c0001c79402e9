package policy

import (
	"strings"

	"routelimit/policy/strictjson"
)

// Errors are all problems of a configuration, in the order of its text.
type Errors []strictjson.Problem

// Error returns the problems, each on a line of its own.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, problem := range e {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}
