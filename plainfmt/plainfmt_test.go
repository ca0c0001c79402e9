package plainfmt

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a message may be made of, it reads as with package fmt.
func TestSameAsFmt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var format string
		var values []any
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			format += rapid.SampledFrom([]string{"", "a ", "é%%", "\xff", "%%d "}).Draw(t, "text")
			verb, value := draw(t)
			if rapid.Bool().Draw(t, "stars") && (verb == "%s" || verb == "%q") && isText(value) {
				verb = "%.*" + verb[1:]
				values = append(values, rapid.IntRange(0, 9).Draw(t, "precision"))
			}
			format += verb
			values = append(values, value)
		}
		if got, want := Sprintf(format, values...), fmt.Sprintf(format, values...); got != want {
			t.Fatalf("%q of %q: %q, want %q", format, values, got, want)
		}
	})
}

func draw(t *rapid.T) (verb string, value any) {
	text := rapid.StringN(0, 12, -1)
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"%s", "%v", "%q", "%.3s", "%.80q", "%.0q"}).Draw(t, "verb"), text.Draw(t, "string")
	case 1:
		return rapid.SampledFrom([]string{"%s", "%q", "%.3q"}).Draw(t, "verb"), []byte(text.Draw(t, "bytes"))
	case 2:
		return rapid.SampledFrom([]string{"%d", "%v"}).Draw(t, "verb"), rapid.Int().Draw(t, "int")
	case 3:
		return rapid.SampledFrom([]string{"%d", "%v"}).Draw(t, "verb"), rapid.Int64().Draw(t, "int64")
	case 4:
		return rapid.SampledFrom([]string{"%d", "%v"}).Draw(t, "verb"), rapid.Uint32().Draw(t, "uint32")
	case 5:
		return rapid.SampledFrom([]string{"%d", "%v", "%q"}).Draw(t, "verb"), rapid.Byte().Draw(t, "byte")
	case 6:
		return rapid.SampledFrom([]string{"%s", "%v", "%q"}).Draw(t, "verb"), errors.New(text.Draw(t, "error"))
	}
	return "%s", time.Duration(rapid.Int64().Draw(t, "duration"))
}

func isText(value any) bool {
	switch value.(type) {
	case string, []byte:
		return true
	}
	return false
}

func TestWhatItCannot(t *testing.T) {
	tests := []struct {
		format string
		values []any
		want   string
	}{
		{"%s", nil, "%!s"},
		{"a %", nil, "a %!"},
		{"%.", nil, "%!"},
		{"%.*", nil, "%!"},
		{"%.*s", nil, "%!s"},
		{"%.*s", []any{"x"}, "x"},
		{"%x", []any{1}, "%!x"},
		{"%d", []any{"x"}, "%!d"},
		{"%s", []any{1}, "%!s"},
		{"%v %s", []any{struct{}{}, "next"}, "%!v next"},
		{"%v", []any{nil}, "%!v"},
		{"%q", []any{1.5}, "%!q"},
		{"no verb", []any{"left out"}, "no verb"},
	}
	for _, tt := range tests {
		if got := Sprintf(tt.format, tt.values...); got != tt.want {
			t.Errorf("%q of %q: %q, want %q", tt.format, tt.values, got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	if got := Errorf("line %d: %v", 7, io.EOF).Error(); got != "line 7: EOF" {
		t.Errorf("%q, want %q", got, "line 7: EOF")
	}
}
