package strictjson

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type outlinedSample struct{ sample }

var outlinedFields = []Field[outlinedSample]{
	{
		Name: "window", Missing: `write one`, Doc: "how long", Example: `"1m"`,
		Read: func(s *outlinedSample, n *Node) { s.Window, _ = n.Duration(time.Second, time.Minute) },
	},
	{Name: "limit", Default: "5", Read: func(s *outlinedSample, n *Node) { s.Limit, _ = n.Whole(1, 9) }},
	{Name: "mode", Read: func(s *outlinedSample, n *Node) { s.Mode, _ = n.OneOf("on", "off") }},
	{Name: "shadow", Read: func(s *outlinedSample, n *Node) { s.Shadow, _ = n.Bool() }},
	{Name: "count", Read: func(_ *outlinedSample, n *Node) {
		n.State(func(f *Facts) { f.LeastItems = 1 })
		for _, element := range n.Elements("[401]") {
			element.Whole(100, 599)
		}
	}},
	{Name: "more", Read: func(_ *outlinedSample, n *Node) {
		if n.IsNull() {
			return
		}
		for _, member := range n.Members(`{"a": {}}`) {
			ReadObject(member, new(sample), sampleFields[:1])
		}
	}},
	{Name: "refused", Read: func(_ *outlinedSample, n *Node) { n.FailName("not supported yet; remove it") }},
}

func TestOutlineTellsWhatReadersAskFor(t *testing.T) {
	var read outlinedSample
	var problems int
	got := Outline(func(d *Document) {
		if !ReadObject(d.Root(), &read, outlinedFields) {
			t.Error("the reader stopped at the root")
		}
		problems = d.Count()
		if len(d.Problems()) > 1 {
			t.Errorf("problems: %v", d.Problems())
		}
	})
	kind := func(k ...Kind) *Shape { return &Shape{Kinds: k} }
	limit, window, mode, count, more := kind(Number), kind(String), kind(String), kind(Array), kind(Null, Object)
	limit.Least, limit.Most = 1, 9
	window.Least, window.Most, window.IsDuration = int64(time.Second), int64(time.Minute), true
	mode.Values = []string{"on", "off"}
	count.LeastItems = 1
	count.Element = &Shape{Kinds: []Kind{Number}, Least: 100, Most: 599}
	more.Member = &Shape{Kinds: []Kind{Object}, Fields: []FieldShape{{Name: "name", Shape: kind(String)}}}
	want := &Shape{Kinds: []Kind{Object}, Fields: []FieldShape{
		{Name: "window", Required: true, Doc: "how long", Example: `"1m"`, Shape: window},
		{Name: "limit", Default: "5", Shape: limit},
		{Name: "mode", Shape: mode},
		{Name: "shadow", Shape: kind(Bool)},
		{Name: "count", Shape: count},
		{Name: "more", Shape: more},
		{Name: "refused", Shape: kind()},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if problems == 0 {
		t.Error("the reader could believe that all is well")
	}
	if got.Field("limit") != got.Fields[1].Shape || got.Field("none") != nil {
		t.Error("Field finds another field")
	}
}

func TestAFieldThatCannotBeLeftOutIsNamed(t *testing.T) {
	d := Parse([]byte("{\n  \"limit\": 3, \"mode\": \"on\", \"more\": {\"a\": {}}}"))
	ReadObject(d.Root(), new(outlinedSample), outlinedFields)
	want := []string{`"window" is missing; write one (line 1, column 1)`}
	if diff := cmp.Diff(want, messages(d)); diff != "" {
		t.Error(diff)
	}
}

func TestPlacesAreThoseOfTheKeyAndOfTheValue(t *testing.T) {
	d := Parse([]byte("{\n  \"é\": 1, \"b\": [true]}"))
	b := d.Root().Member("b")
	if line, column := b.NamePlace(); line != 2 || column != 11 {
		t.Errorf("the key stands at %d:%d", line, column)
	}
	if line, column := b.Place(); line != 2 || column != 16 {
		t.Errorf("the value stands at %d:%d", line, column)
	}
	if line, column := b.Children()[0].Place(); line != 2 || column != 17 {
		t.Errorf("the element stands at %d:%d", line, column)
	}
}
