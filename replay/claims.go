package replay

import "encoding/json"

// tree is the claims of a token.
type tree map[string]any

// set puts a text at a path of keys.
func (t tree) set(path []string, value string) {
	for _, key := range path[:len(path)-1] {
		inner, ok := t[key].(tree)
		if !ok {
			inner = tree{}
			t[key] = inner
		}
		t = inner
	}
	t[path[len(path)-1]] = value
}

func (t tree) json() []byte {
	text, _ := json.Marshal(t) // texts and trees of them can always be written
	return text
}

// splitClaim cuts a path at its dots, as package identity does: a backslash takes
// the next character literally.
func splitClaim(text string) []string {
	var path []string
	var key []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			path, key = append(path, string(key)), nil
		case c == '\\' && i+1 < len(text):
			i++
			key = append(key, text[i])
		default:
			key = append(key, c)
		}
	}
	return append(path, string(key))
}
