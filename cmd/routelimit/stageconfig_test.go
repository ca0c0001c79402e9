package main

import (
	"fmt"
	"strings"
	"testing"
)

// A policy in YAML whose aliases would fill the memory is refused.
func TestAPolicyOfTooManyAliasesIsNotExpanded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 x\n")
	for i := range 11 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	bomb.WriteString("default: *a11\n")
	if raw, _, err := policyIn([]byte(bomb.String())); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("%v, expanded to %d bytes", err, len(raw))
	}
}
