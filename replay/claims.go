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
