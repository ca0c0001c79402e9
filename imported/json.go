package imported

import (
	"encoding/json"
	"strings"
)

// members is a JSON object in its order, list an array; both print on one line
// unless they hold a tall one.
type (
	members []member
	member  struct {
		name  string
		value any
		tall  bool // its own members stand on lines of their own
	}
	list []any
)

// appendJSON writes a value. indent is that of the line it stands on.
func appendJSON(b *strings.Builder, value any, indent string, tall bool) {
	separator, end := ", ", ""
	inner := indent
	if tall {
		inner = indent + "  "
		separator, end = ",\n"+inner, "\n"+indent
	}
	open := func(bracket string, n int) {
		b.WriteString(bracket)
		if tall && n > 0 {
			b.WriteString("\n" + inner)
		}
	}
	switch v := value.(type) {
	case members:
		open("{", len(v))
		for i, one := range v {
			if i > 0 {
				b.WriteString(separator)
			}
			appendJSON(b, one.name, inner, false)
			b.WriteString(": ")
			appendJSON(b, one.value, inner, one.tall)
		}
		closing(b, end, "}", len(v))
	case list:
		open("[", len(v))
		for i, one := range v {
			if i > 0 {
				b.WriteString(separator)
			}
			appendJSON(b, one, inner, false)
		}
		closing(b, end, "]", len(v))
	default:
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.Encode(v) // texts, numbers and truth values: they can always be written
		b.WriteString(strings.TrimSuffix(text.String(), "\n"))
	}
}

func closing(b *strings.Builder, end, bracket string, n int) {
	if n > 0 {
		b.WriteString(end)
	}
	b.WriteString(bracket)
}
