package bootstrap

import (
	"bytes"
	"encoding/json"
	"slices"

	"routelimit/bootstrap/yamltree"
)

// mostPolicy bounds the JSON that a policy in YAML becomes, in bytes: aliases of aliases can make a short file a huge one.
const mostPolicy = 4 << 20

// PolicyInYAML is the policy that a YAML file is by itself, as JSON: one document with routes or a default, and nothing of
// Envoy's. Each value stands in the line that it has in the file; columns differ. False: the file is something else.
func PolicyInYAML(file []byte) (Placed, bool) {
	if IsObject(file) {
		return Placed{}, false
	}
	documents, err := yamltree.Parse(file)
	if err != nil || len(documents) != 1 || yamltree.CheckAliases(documents) != nil || !isPolicy(documents[0]) {
		return Placed{}, false
	}
	w := lineWriter{line: 1}
	w.value(documents[0])
	return Placed{Text: w.out.String(), line: 1, linesOnly: true}, w.out.Len() <= mostPolicy
}

// isPolicy tells a policy from Envoy's resources, of which those with routes have a list of them and no default, and those with filters
// have types.
func isPolicy(n *yamltree.Node) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(n.Fields(), func(f yamltree.Field) bool { return f.Name == name })
	}
	typed := false
	n.Walk(func(m *yamltree.Node) { typed = typed || m.At("@type") != nil })
	return !typed && !has("static_resources") && (has("default") || has("routes") && !n.At("routes").IsList())
}

// lineWriter writes JSON whose values stand in the lines of the YAML.
type lineWriter struct {
	out  bytes.Buffer
	line int
}

// to moves on to a line, if that is not past, as it is where an alias brings a value in.
func (w *lineWriter) to(line int) {
	for ; w.line < line; w.line++ {
		w.out.WriteByte('\n')
	}
}

func (w *lineWriter) value(n *yamltree.Node) {
	if w.out.Len() > mostPolicy {
		return
	}
	w.to(n.Line)
	switch {
	case n.IsMapping():
		w.out.WriteByte('{')
		for i, f := range n.Fields() {
			w.comma(i)
			w.to(f.Line)
			w.scalar(f.Name)
			w.out.WriteByte(':')
			w.value(f.Value)
		}
		w.out.WriteByte('}')
	case n.IsList():
		w.out.WriteByte('[')
		for i, item := range n.Items() {
			w.comma(i)
			w.value(item)
		}
		w.out.WriteByte(']')
	default:
		w.scalar(n.Value())
	}
}

func (w *lineWriter) comma(i int) {
	if i > 0 {
		w.out.WriteByte(',')
	}
}

// scalar writes a text, number, true, false or null. What JSON has no number for, such as .inf, becomes a text, which the
// policy's reader refuses by its name.
func (w *lineWriter) scalar(value any) {
	if text, err := plainJSON(value); err == nil {
		w.out.Write(text)
		return
	}
	w.out.WriteString(`"no number of JSON"`)
}

// plainJSON is JSON that keeps <, > and & as they are.
func plainJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
