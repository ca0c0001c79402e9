package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseNamesThePlaceOfWhatIsNoJSON(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1)
	cases := map[string]struct{ text, want string }{
		"empty":                {``, `the end of the text stands where a value is due; write a text in double quotes, a number, true, false, null, a list or an object (line 1, column 1)`},
		"byte order mark":      {"\xef\xbb\xbf{}", `the text starts with a byte order mark; save it as UTF-8 without one (line 1, column 1)`},
		"trailing comma":       {"{\"a\": 1,\n}", `"," stands before "}"; remove the comma (line 1, column 8)`},
		"trailing list comma":  {`{"a": [1, ]}`, `a: "," stands before "]"; remove the comma (line 1, column 9)`},
		"comma alone":          {`{,}`, `"," stands where a key is due; write the key in double quotes (line 1, column 2)`},
		"missing comma":        {`{"a": 1 "b": 2}`, `"\"" stands where "," or "}" is due; write one of them (line 1, column 9)`},
		"missing colon":        {`{"a" 1}`, `a: "1" follows the key; write ":" and a value (line 1, column 6)`},
		"key without quotes":   {`{a: 1}`, `"a" stands where a key is due; write the key in double quotes (line 1, column 2)`},
		"single quotes":        {`{"a": 'b'}`, `a: "'" stands where a value is due; write a text in double quotes, a number, true, false, null, a list or an object (line 1, column 7)`},
		"comment":              {"{\n  // why\n}", `a comment, which JSON does not have, stands where a key is due; write the key in double quotes (line 2, column 3)`},
		"text after the end":   {"{}\n{}", `"{" follows the end of the value; remove it (line 2, column 1)`},
		"cut off in an object": {`{"a": {`, `a: the end of the text stands where a key is due; write the key in double quotes (line 1, column 8)`},
		"cut off in a list":    {`[1`, `the end of the text stands where "," or "]" is due; write one of them (line 1, column 3)`},
		"cut off in a string":  {`{"a": "b`, `a: the text ends inside a string; close it with a double quote (line 1, column 9)`},
		"cut off in a key":     {`{"a`, `the text ends inside a string; close it with a double quote (line 1, column 4)`},
		"newline in a string":  {"[\"a\nb\"]", `[0]: a control character (0x0a) stands in a string; write it as \u000a (line 1, column 4)`},
		"NUL in a string":      {"[\"\x00\"]", `[0]: a control character (0x00) stands in a string; write it as \u0000 (line 1, column 3)`},
		"not UTF-8":            {"[\"\xff\"]", `[0]: byte 0xff is not UTF-8; save the text as UTF-8 (line 1, column 3)`},
		"unknown escape":       {`["\x"]`, `[0]: this is no escape of JSON; write \\ for a backslash (line 1, column 3)`},
		"short escape":         {`["\u00`, `[0]: this is no escape of JSON; write \\ for a backslash (line 1, column 3)`},
		"escape without hex":   {`["\u00zz"]`, `[0]: this is no escape of JSON; write \\ for a backslash (line 1, column 3)`},
		"lone high surrogate":  {`["\ud83d"]`, `[0]: half of a surrogate pair stands alone; write the character itself (line 1, column 3)`},
		"lone low surrogate":   {`["\ude00a"]`, `[0]: half of a surrogate pair stands alone; write the character itself (line 1, column 3)`},
		"wrong word":           {`{"a": True}`, `a: "True" is no JSON value; write a text in double quotes (line 1, column 7)`},
		"leading zero":         {`[007]`, `[0]: "007" is no JSON number; write one such as 10 or 0.5 (line 1, column 2)`},
		"plus sign":            {`[+1]`, `[0]: "+" stands where a value is due; write a text in double quotes, a number, true, false, null, a list or an object (line 1, column 2)`},
		"point without digits": {`[1.]`, `[0]: "1." is no JSON number; write one such as 10 or 0.5 (line 1, column 2)`},
		"lone minus":           {`[-]`, `[0]: "-" is no JSON number; write one such as 10 or 0.5 (line 1, column 2)`},
		"exponent alone":       {`[1e]`, `[0]: "1e" is no JSON number; write one such as 10 or 0.5 (line 1, column 2)`},
		"column in characters": {`{"é€": "😀", "b": x}`, `b: "x" is no JSON value; write a text in double quotes (line 1, column 18)`},
		"too deep":             {deep, strings.Repeat("[0]", maxDepth) + `: objects and lists are nested more than 32 levels deep; nest less (line 1, column 34)`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := Parse([]byte(c.text))
			if d.Root() != nil {
				t.Error("the document has a root")
			}
			if diff := cmp.Diff([]string{c.want}, messages(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseReportsRepeatedKeysAndGoesOn(t *testing.T) {
	d := Parse([]byte("{\"a\": 1,\n \"b\": {\"x\": 1, \"\\u0078\": 2},\n \"a\": [3]}"))
	want := []string{
		`b.x: the key occurs twice in its object; keep one (line 2, column 8, and line 2, column 16)`,
		`a: the key occurs twice in its object; keep one (line 1, column 2, and line 3, column 2)`,
	}
	if diff := cmp.Diff(want, messages(d)); diff != "" {
		t.Error(diff)
	}
	if got := d.Root().Member("a").Show(); got != "1" {
		t.Errorf("of a repeated key the value %s was kept, want the first", got)
	}
}

func TestParseDecodesEveryEscape(t *testing.T) {
	d := Parse([]byte(`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00é😀"`))
	got, _ := d.Root().Text()
	if want := "\"\\/\b\f\n\r\té😀é😀"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPathsReadLikeCode(t *testing.T) {
	d := Parse([]byte(`{"routes": {"POST /login": {"limits": [0, {"window": 1}]}}, "a-b": {"": {"2x": 1}}}`))
	window := d.Root().Member("routes").Member("POST /login").Member("limits").Children()[1].Member("window")
	if got, want := window.Path(), `routes["POST /login"].limits[1].window`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	odd := d.Root().Member("a-b").Member("").Member("2x")
	if got, want := odd.Path(), `["a-b"][""]["2x"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProblemsAreInTheOrderOfTheTextAndBounded(t *testing.T) {
	d := Parse([]byte("[" + strings.Repeat("0,", 299) + "0]"))
	elements := d.Root().Children()
	for i := len(elements) - 1; i >= 0; i-- {
		elements[i].Fail("wrong")
	}
	problems := d.Problems()
	if len(problems) != maxProblems+1 {
		t.Fatalf("%d problems, want %d and one about the rest", len(problems), maxProblems)
	}
	for i := 1; i < maxProblems; i++ {
		if problems[i-1].Column >= problems[i].Column {
			t.Fatalf("problem %d at column %d comes before column %d", i, problems[i-1].Column, problems[i].Column)
		}
	}
	if got, want := problems[maxProblems].Error(), "200 more problems are not shown; repair these first"; got != want {
		t.Errorf("last problem %q, want %q", got, want)
	}
}

func TestMessagesQuoteValuesOfAnyLengthShortly(t *testing.T) {
	d := Parse([]byte(`{"` + strings.Repeat("k", 5000) + `": "` + strings.Repeat("é", 5000) + `"}`))
	d.Root().Children()[0].Whole(0, 1)
	if got := messages(d)[0]; len(got) > 400 || !utf8.ValidString(got) {
		t.Errorf("message of %d bytes: %.500s", len(got), got)
	}
}

// FuzzParse holds Parse against encoding/json: what we take, it takes with the
// same meaning, and what it takes and we refuse is one of our stricter rules.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `true`, `-0.5e+10`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", "{\"a\":1,\"a\":2}", `{"a":{"b":[1,2,{}]}}`,
		"\xef\xbb\xbf{}", "{} x", `{"a":1,}`, `[1 2]`, "\"\x00\"", `"\u12`, strings.Repeat("[", 100), "", " ", `{"":""}`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		d := Parse(source)
		for _, p := range d.Problems() {
			if p.Line < 1 || p.Column < 1 || !utf8.ValidString(p.Error()) {
				t.Fatalf("odd problem %q", p.Error())
			}
		}
		if d.Root() == nil {
			if len(d.Problems()) == 0 {
				t.Fatal("no root, and no problem says why")
			}
			return
		}
		var theirs any
		decoder := json.NewDecoder(strings.NewReader(string(source)))
		decoder.UseNumber()
		if err := decoder.Decode(&theirs); err != nil {
			t.Fatalf("accepted %q, but %v", source, err)
		}
		if ours := plain(d.Root()); len(d.Problems()) == 0 && !reflect.DeepEqual(ours, theirs) {
			t.Fatalf("%q means %v, but we read %v", source, theirs, ours)
		}
	})
}

func plain(n *Node) any {
	switch n.Kind() {
	case Null:
		return nil
	case Bool:
		return n.text == "true"
	case Number:
		return json.Number(n.text)
	case String:
		return n.text
	case Array:
		list := []any{}
		for _, child := range n.Children() {
			list = append(list, plain(child))
		}
		return list
	default:
		object := map[string]any{}
		for _, child := range n.Children() {
			object[child.Name()] = plain(child)
		}
		return object
	}
}

func messages(d *Document) []string {
	var all []string
	for _, p := range d.Problems() {
		all = append(all, p.Error())
	}
	return all
}
