package figure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Numbers reads the value of a flag, such as 1,8,64: whole numbers in a range, each once. "" is none.
func Numbers(flag, text string, least, most int) ([]int, error) {
	var list []int
	for _, part := range split(text) {
		n, err := strconv.Atoi(part)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("-%s %s: %q is no number from %d to %d; write numbers with commas between", flag, text, part, least, most)
		}
		if slices.Contains(list, n) {
			return nil, fmt.Errorf("-%s %s names %d twice; name it once", flag, text, n)
		}
		list = append(list, n)
	}
	return list, nil
}

// Names reads the value of a flag, such as hot,mix: names that are known, each once, in the order in which they are given.
func Names(flag, text string, known ...string) ([]string, error) {
	list := split(text)
	for i, name := range list {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-%s %s: there is no %q; choose from %s", flag, text, name, strings.Join(known, ","))
		}
		if slices.Contains(list[:i], name) {
			return nil, fmt.Errorf("-%s %s names %s twice; name it once", flag, text, name)
		}
	}
	return list, nil
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
