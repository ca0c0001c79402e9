package bootstrap

import (
	"fmt"
	"strings"
	"testing"
)

// A file of a few hundred bytes that would be a hundred billion values.
func TestAliasesDoNotFillTheMemory(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 x\n")
	for i := range 11 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	if _, err := Parse([]byte(bomb.String())); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
		t.Errorf("%v", err)
	}
}
