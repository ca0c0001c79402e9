package strictjson

import "strings"

// Nearest returns the name in known that name was probably meant to be: equal
// but for letter case, or at most a third of its letters away.
func Nearest(name string, known []string) (string, bool) {
	const longest = 64
	if len(name) > longest {
		return "", false
	}
	lowered := strings.ToLower(name)
	best, least := "", max(1, len(name)/3)+1
	for _, candidate := range known {
		if far := distance(lowered, strings.ToLower(candidate)); far < least {
			best, least = candidate, far
		}
	}
	return best, best != ""
}

// distance counts the letters to insert, drop, change or swap with their
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			changed := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
