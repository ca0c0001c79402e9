package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// elements reads an SVG file and fails if it is none.
func elements(t *testing.T, svg []byte) (list []xml.StartElement, text string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list, text
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			list = append(list, token)
		case xml.CharData:
			text += string(token)
		}
	}
}

func number(t *testing.T, e xml.StartElement, name string) float64 {
	t.Helper()
	for _, a := range e.Attr {
		if a.Name.Local == name {
			f, err := strconv.ParseFloat(a.Value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
	t.Fatalf("%s has no %s", e.Name.Local, name)
	return 0
}

func class(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "class" {
			return a.Value
		}
	}
	return ""
}

func TestTableDrawsBarsAsLongAsTheirValues(t *testing.T) {
	value := func(f float64) Value {
		return Value{Value: f, Least: f, Most: f, Text: strconv.FormatFloat(f, 'f', 0, 64)}
	}
	svg := Table{Title: `<a> & "b"`, Notes: []string{"how"}, Panels: []string{"us"}, Rows: []Row{
		{"none", Grey, []Value{{Value: math.NaN(), Text: "not measured"}}},
		{"faster than nothing", Blue, []Value{value(-5)}},
		{"one", Blue, []Value{value(100)}},
		{"other", Orange, []Value{{Value: 200, Least: 150, Most: 400, Text: "200"}}},
	}}.SVG()
	list, text := elements(t, svg)
	widths := map[string][]float64{}
	spreads := 0
	for _, e := range list {
		switch e.Name.Local {
		case "rect":
			widths[class(e)] = append(widths[class(e)], number(t, e, "width"))
			if x := number(t, e, "x") + number(t, e, "width"); x > number(t, list[0], "width") {
				t.Errorf("a bar ends at %v, outside", x)
			}
		case "line":
			if class(e) == "spread" {
				spreads++
			}
		}
	}
	if b, o := widths["a"], widths["b"]; len(b) != 2 || len(o) != 1 || b[0] != 0 || math.Abs(o[0]-2*b[1]) > 0.2 || len(widths["c"]) != 0 || spreads != 3 {
		t.Errorf("bars %v, %d lines of spreads", widths, spreads)
	}
	for _, want := range []string{`<a> & "b"`, "not measured", "how", "us", "other"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

func TestChartDrawsPointsAtTheirValues(t *testing.T) {
	svg := Chart{Title: "t", X: "routes", Y: "us", Ticks: []float64{10, 100, 1000}, Lines: []Line{
		{"one", Blue, []float64{0, 5, 10}}, {"other", Orange, []float64{10, math.NaN(), 0}},
	}}.SVG()
	list, text := elements(t, svg)
	var x, y []float64
	for _, e := range list {
		if e.Name.Local == "circle" {
			x, y = append(x, number(t, e, "cx")), append(y, number(t, e, "cy"))
		}
	}
	if len(x) != 5 || x[0] != x[3] || x[2] != x[4] || x[1]-x[0] != x[2]-x[1] || y[0] != y[4] || y[2] != y[3] || math.Abs(y[0]+y[2]-2*y[1]) > 0.2 {
		t.Errorf("points at %v, %v", x, y)
	}
	for _, want := range []string{"t", "routes", "us", "one", "other", "10", "100", "1k"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

func TestChartsOfNothingAreFiles(t *testing.T) {
	elements(t, Table{}.SVG())
	elements(t, Chart{}.SVG())
	elements(t, Chart{Ticks: []float64{1}, Lines: []Line{{Name: "none", Values: []float64{math.NaN()}}}}.SVG())
}

func TestShortNumbers(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.5: "0.5", 1.25: "1.25", 9.99: "10", 12.34: "12.3", 99.6: "100", 300: "300", 999.6: "1k", 1250: "1.25k", 15000: "15k", 999_600: "1M", 4.5e6: "4.5M",
	} {
		if got := Short(f); got != want {
			t.Errorf("Short(%v) = %s, want %s", f, got, want)
		}
	}
	for f, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 3: 4, 8.5: 10, 0.03: 0.04, 61: 80, 1000: 1000} {
		if got := ceiling(f); math.Abs(got-want) > 1e-9 {
			t.Errorf("ceiling(%v) = %v, want %v", f, got, want)
		}
	}
}
