package plot

import "math"

// Table is bars in rows and panels: each row is one thing that is compared, each panel one figure of all of them.
type Table struct {
	Title  string
	Notes  []string // below the bars
	Rows   []Row
	Panels []string // titles, one for each value of a row
}

// Row is one thing that is compared.
type Row struct {
	Name   string
	Class  Class
	Values []Value
}

// Value is a bar and how far it reached in single rounds. NaN draws none.
type Value struct {
	Value, Least, Most float64
	Text               string
}

const (
	pad         = 16.0
	rowHeight   = 22.0
	panelWidth  = 215.0
	noteHeight  = 15.0
	barHeight   = 13.0
	titleHeight = 58.0 // of the title and the panels' titles
)

// SVG draws the table. Every panel has its own scale, which begins at 0.
func (t Table) SVG() []byte {
	names := 0.0
	for _, r := range t.Rows {
		names = max(names, textWidth(r.Name))
	}
	left := pad + names + 10
	p := &picture{
		width:  left + panelWidth*float64(len(t.Panels)) + pad/2,
		height: titleHeight + rowHeight*float64(len(t.Rows)) + noteHeight*float64(len(t.Notes)) + pad,
	}
	p.text(pad, 24, "title", t.Title)
	for i, r := range t.Rows {
		p.text(left-10, titleHeight+rowHeight*float64(i)+11, "end", r.Name)
	}
	for i, title := range t.Panels {
		t.panel(p, i, title, left+panelWidth*float64(i))
	}
	for i, note := range t.Notes {
		p.text(pad, p.height-pad/2-noteHeight*float64(len(t.Notes)-1-i), "note", note)
	}
	return p.bytes(t.Title)
}

func (t Table) panel(p *picture, at int, title string, x float64) {
	p.text(x, titleHeight-12, "note", title)
	p.line(x, titleHeight-4, x, titleHeight+rowHeight*float64(len(t.Rows))-4, "grid")
	most, text := 0.0, 0.0
	for _, r := range t.Rows {
		if v := r.Values[at]; !math.IsNaN(v.Value) {
			most = max(most, v.Value, v.Most)
			text = max(text, textWidth(v.Text))
		}
	}
	room := panelWidth - text - 16 // the number stands behind the bar
	scale := func(value float64) float64 {
		if most == 0 {
			return 0
		}
		return max(0, value) / most * room
	}
	for i, r := range t.Rows {
		v := r.Values[at]
		y := titleHeight + rowHeight*float64(i)
		if math.IsNaN(v.Value) {
			p.text(x+5, y+11, "note", v.Text)
			continue
		}
		p.element("rect", "x", x, "y", y, "width", scale(v.Value), "height", barHeight, "class", string(r.Class))
		if v.Most > v.Least {
			middle := y + barHeight/2
			p.line(x+scale(v.Least), middle, x+scale(v.Most), middle, "spread")
			p.line(x+scale(v.Least), middle-3, x+scale(v.Least), middle+3, "spread")
			p.line(x+scale(v.Most), middle-3, x+scale(v.Most), middle+3, "spread")
		}
		p.text(x+scale(max(v.Value, v.Most))+5, y+11, "", v.Text)
	}
}
