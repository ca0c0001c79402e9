package main

import (
	"fmt"
	"strings"
	"testing"
)

// A policy in YAML whose aliases would fill the memory is left as it is, for lint to refuse.
func TestAPolicyOfTooManyAliasesIsNotExpanded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 x\n")
	for i := range 11 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	bomb.WriteString("default: *a11\n")
	if text, inYAML := policyAsJSON([]byte(bomb.String())); inYAML || string(text) != bomb.String() {
		t.Errorf("expanded to %d bytes", len(text))
	}
}
