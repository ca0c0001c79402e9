package identity

// maxDepth bounds the nesting of a JSON text, as encoding/json does.
const maxDepth = 10000

// jsonResult is what looking up a path came to.
type jsonResult uint8

const (
	jsonInvalid   jsonResult = iota
	jsonMissing              // valid, but there is nothing at the path
	jsonAmbiguous            // valid, but a key on the path occurs twice
	jsonNested               // valid, and there is an object or a list at the path
	jsonFound
)

// lookupJSON finds the value at a path of object keys and validates the whole
// text (RFC 8259) on the way. Keys are compared unescaped and without regard
// to letter case, since some upstreams do so. The value is a piece of text, as
// it is written there.
//
// One pass and a bit for each open bracket, no recursion: Go's calls use the
// stack of the proxy's VM, and a caller could nest deeper than that is.
func lookupJSON(text []byte, path [][]byte) (value []byte, result jsonResult) {
	w := jsonWalk{jsonScanner: jsonScanner{text: text}, path: path}
	if !w.run() {
		return nil, jsonInvalid
	}
	switch {
	case w.ambiguous:
		return nil, jsonAmbiguous
	case w.nested:
		return nil, jsonNested
	case w.value == nil:
		return nil, jsonMissing
	}
	return w.value, jsonFound
}

// jsonWalk goes through a JSON text.
type jsonWalk struct {
	jsonScanner
	depth    int
	isObject [maxDepth/64 + 1]uint64 // for each depth: an object, not an array

	path      [][]byte
	inside    int    // how many elements of path lead to the object that is open on it
	seen      uint64 // which elements of path have occurred
	next      jsonRole
	value     []byte
	nested    bool // in the place of a value
	ambiguous bool
}

// jsonRole is what the coming value is to the path.
type jsonRole uint8

const (
	roleNone   jsonRole = iota
	roleParent          // the path goes on in it
	roleTarget          // the path ends at it
)

// jsonState is what may come now.
type jsonState uint8

const (
	wantValue jsonState = iota
	wantKey
	wantMore // after a value: a comma or the end
	wantNothing
	broken
)

func (w *jsonWalk) run() bool {
	for state := wantValue; ; {
		w.skipBlanks()
		switch state {
		case wantValue:
			state = w.readValue()
		case wantKey:
			state = w.readKey()
		case wantMore:
			state = w.readMore()
		case wantNothing:
			return w.at == len(w.text)
		case broken:
			return false
		}
	}
}

func (w *jsonWalk) readValue() jsonState {
	role := w.next
	w.next = roleNone
	start := w.at
	ok := false
	switch c := w.peek(); c {
	case '{', '[':
		return w.open(c == '{', role)
	case '"':
		ok = w.scanString()
	case 't':
		ok = w.scanWord("true")
	case 'f':
		ok = w.scanWord("false")
	case 'n':
		ok = w.scanWord("null")
	default:
		ok = w.scanNumber()
	}
	if !ok {
		return broken
	}
	if role == roleTarget {
		w.value = w.text[start:w.at]
	}
	return w.afterValue()
}

func (w *jsonWalk) afterValue() jsonState {
	if w.depth == 0 {
		return wantNothing
	}
	return wantMore
}

func (w *jsonWalk) open(object bool, role jsonRole) jsonState {
	if w.depth == maxDepth {
		return broken
	}
	w.nested = w.nested || role == roleTarget
	w.at++
	w.depth++
	word, bit := w.depth/64, uint64(1)<<(w.depth%64)
	w.isObject[word] &^= bit
	end, first := byte(']'), wantValue
	if object {
		w.isObject[word] |= bit
		end, first = '}', wantKey
		if role == roleParent {
			w.inside++
		}
	}
	w.skipBlanks()
	if w.peek() == end {
		return w.close()
	}
	return first
}

func (w *jsonWalk) close() jsonState {
	if w.inside > 0 && w.depth == w.inside+1 {
		w.inside--
	}
	w.at++
	w.depth--
	return w.afterValue()
}

func (w *jsonWalk) readMore() jsonState {
	object := w.isObject[w.depth/64]&(1<<(w.depth%64)) != 0
	switch c := w.peek(); {
	case c == ',' && object:
		w.at++
		return wantKey
	case c == ',':
		w.at++
		return wantValue
	case c == '}' && object, c == ']' && !object:
		return w.close()
	}
	return broken
}

func (w *jsonWalk) readKey() jsonState {
	start := w.at
	if !w.scanString() {
		return broken
	}
	key := w.text[start+1 : w.at-1]
	w.skipBlanks()
	if w.peek() != ':' {
		return broken
	}
	w.at++
	if w.depth == w.inside+1 && w.inside < len(w.path) && equalKey(key, w.path[w.inside]) {
		w.enter()
	}
	return wantValue
}

// enter notes that the next element of the path has come.
func (w *jsonWalk) enter() {
	bit := uint64(1) << w.inside
	if w.seen&bit != 0 {
		w.ambiguous = true
	}
	w.seen |= bit
	w.next = roleParent
	if w.inside == len(w.path)-1 {
		w.next = roleTarget
	}
}
