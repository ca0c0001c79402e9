// Package plot draws figures as SVG files that stand alone: in a page that is light or dark, beside text, with no script
// and no font of their own.
package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// style holds the colours; where a reader's system is dark, the second ones. A picture has a background of its own, so
// that it can be read on a page whose colours do not follow the system's.
const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 } .note { fill: #59636e; font-size: 11px } .end { text-anchor: end } .middle { text-anchor: middle }
.page { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d8dee4 } .spread { stroke: #24292f; stroke-opacity: 0.55 }
.a { fill: #1f6feb; stroke: #1f6feb } .b { fill: #d1671b; stroke: #d1671b } .c { fill: #8b949e; stroke: #8b949e } .d { fill: #1a7f37; stroke: #1a7f37 }
.line { fill: none; stroke-width: 2 } rect.a, rect.b, rect.c, rect.d { stroke: none } text.a, text.b, text.c, text.d { stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9198a1 } .page { fill: #0d1117; stroke: #3d444d } .grid { stroke: #2a313c } .spread { stroke: #e6edf3 }
.a { fill: #4c8dff; stroke: #4c8dff } .b { fill: #e8843c; stroke: #e8843c } .c { fill: #6e7681; stroke: #6e7681 } .d { fill: #3fb950; stroke: #3fb950 }
.line { fill: none } }
`

// Class is a colour.
type Class string

// Colours.
const (
	Blue   Class = "a"
	Orange Class = "b"
	Grey   Class = "c"
	Green  Class = "d"
)

// picture is an SVG file on its way.
type picture struct {
	body          strings.Builder
	width, height float64
}

// element writes an empty element; attributes come in pairs.
func (p *picture) element(name string, attributes ...any) {
	fmt.Fprintf(&p.body, "<%s", name)
	p.attributes(attributes)
	p.body.WriteString("/>\n")
}

func (p *picture) text(x, y float64, class, text string) {
	p.body.WriteString("<text")
	p.attributes([]any{"x", x, "y", y, "class", class})
	p.body.WriteString(">" + escape(text) + "</text>\n")
}

func (p *picture) line(x1, y1, x2, y2 float64, class string) {
	p.element("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "class", class)
}

func (p *picture) attributes(pairs []any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		if f, ok := pairs[i+1].(float64); ok {
			value = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", f), "0"), ".")
		}
		fmt.Fprintf(&p.body, ` %s="%s"`, pairs[i], escape(value))
	}
}

func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	return b.String()
}

// bytes is the whole file. label is for whoever cannot see it.
func (p *picture) bytes(label string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="%s">
<style>%s</style>
<rect x="0.5" y="0.5" width="%g" height="%g" rx="6" class="page"/>
%s</svg>
`, p.width, p.height, p.width, p.height, escape(label), style, p.width-1, p.height-1, p.body.String())
}

// textWidth is about how wide a text of this class is.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }
