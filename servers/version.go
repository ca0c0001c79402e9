package servers

import (
	"cmp"
	"strconv"
	"strings"
)

// versionIn finds the first x.y.z in what a server prints for --version:
//
//	envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL
//	Redis server v=8.2.3 sha=b5d43ceb:0 malloc=jemalloc-5.3.0 bits=64 build=a4a1616166d42ee6
func versionIn(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n/=v", r) }) {
		parts := strings.Split(word, ".")
		if len(parts) == 3 && number(parts[0]) >= 0 && number(parts[1]) >= 0 {
			return word
		}
	}
	return ""
}

// olderThan compares dotted numbers, as far as the second one goes.
func olderThan(version, oldest string) bool {
	have, need := strings.Split(version, "."), strings.Split(oldest, ".")
	for i := range need {
		if i == len(have) {
			return true
		}
		if c := cmp.Compare(number(have[i]), number(need[i])); c != 0 {
			return c < 0
		}
	}
	return false
}

// number is -1 for what is no number.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
