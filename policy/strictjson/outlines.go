//go:build !wasip1

package strictjson

// outline is what an outlined value was asked for; see [Outline].
type outline struct{ asked *Shape }

// shape is nil for a value that is really there.
func (o *outline) shape() *Shape { return o.asked }

func (o *outline) setShape(s *Shape) { o.asked = s }

// Text is a text about a configuration for those who write one, in the schema
// and in the reference. It takes no room in the module, where nobody reads it.
type Text = string

// Prose makes a Text.
func Prose(text string) Text { return text }
