package route

// Key returns the pattern as it stands in keys, metrics and logs: "POST:/login",
// "api.example.com:POST:/login", "GET:/users/:id". Parameters are written :name.
// Two different patterns never have one key, and a key holds printable ASCII
// without blanks, braces, quotes, "|" or ";".
func (p Pattern) Key() string {
	var key []byte
	if p.Host != "" {
		key = append(key, p.Host...)
		key = append(key, ':')
	}
	key = append(key, p.Method...)
	key = append(key, ':')
	for _, s := range p.segments {
		key = append(key, '/')
		switch s.kind {
		case static:
			key = appendStatic(key, s.text)
		case parameter:
			key = append(key, ':')
			key = append(key, s.text...)
		case wildcard:
			key = append(key, '*')
		}
	}
	if len(p.segments) == 0 {
		key = append(key, '/')
	}
	return string(key)
}

// appendStatic escapes whatever could be read as something else: a first colon
// is a parameter's, a star alone the wildcard's.
func appendStatic(key []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if !plainInKey(c) || c == ':' && i == 0 || text == "*" {
			key = appendEscape(key, c)
		} else {
			key = append(key, c)
		}
	}
	return key
}

func plainInKey(c byte) bool {
	switch c {
	case '.', '_', '~', '@', ':', '=', '+', ',', '*', '-':
		return true
	}
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9'
}
