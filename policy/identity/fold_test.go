package identity

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func folded(s string) string { return string(fold([]byte(s), 0)) }

func TestG06_SpellingsOfOneNameShareABucket(t *testing.T) {
	e := foldedName(t)
	for _, group := range [][]string{
		{`"alice"`, `" alice "`, `"ALICE\t"`, `"a\u006cice"`, `"\u0061LIC\u0045"`, `"\ufeffalice\u0000"`, `"\u00a0alice\u3000"`, `"ａｌｉｃｅ"`, `"ＡＬＩＣＥ"`},
		{`"\u00e9"`, `"e\u0301"`, `"é"`, `"É"`, `"E\u0301"`, `" É "`},
		{`"ΣΊΣΥΦΟΣ"`, `"σίσυφος"`, `"σίσυφοσ"`},
		{`"kelvin"`, `"\u212aelvin"`, `"Kelvin"`},
		{`"ﬁsh"`, `"fish"`, `"FISH"`},
		{`"alice"`, `"al\u200bice"`, `"a\u00adlice"`, `"\u0001al\u0000ice"`, `"alice\ufe0f"`, `"a\u2060\ufeff\u034flice"`, `"` + strings.Repeat(`\u200b`, maxFold) + `alice"`},
		{`"alice"`, `"alicé"`, `"a\u0301\u0301\u0301lice"`, `"ÀLÌCË"`}, // MySQL's default collation
		{`"\ud835\udc9c\u0041"`, `"aa"`},                               // mathematical script A
	} {
		want := keyOf(e, jsonBody(`{"username":`+group[0]+`}`))
		if want == "ip:192.0.2.1" {
			t.Errorf("%s is no identity", group[0])
		}
		for _, name := range group[1:] {
			if got := keyOf(e, jsonBody(`{"username":`+name+`}`)); got != want {
				t.Errorf("%s: got %q, want %q as for %s", name, got, want, group[0])
			}
		}
	}
}

func TestG06_WhatIsNoNameFallsToTheNextIdentity(t *testing.T) {
	e := foldedName(t)
	for _, value := range []string{`""`, `"  "`, `"\t\u00a0\n"`, `"\u0000"`, `"\ufeff"`, `"\u3000"`, `null`} {
		if got, want := resolve(e, jsonBody(`{"username":`+value+`}`)), (resolved{"ip:192.0.2.1", "ip", 0}); got != want {
			t.Errorf("%s: got %+v, want %+v", value, got, want)
		}
	}
	// An upstream may make a name of these all the same, so without a next identity they do not free the caller.
	d := NewDefinitions([]Component{{Name: "username", Source: source(t, "body:username"), Fold: true}}, noHops, nil)
	for _, value := range []string{`7`, `-7`, `7.5`, `true`, `false`, `["alice"]`, `{"name":"alice"}`, `[]`, `{}`} {
		r := jsonBody(`{"username":` + value + `}`)
		if got, want := resolve(e, r), (resolved{"ip:192.0.2.1", "ip", BodyUnread}); got != want {
			t.Errorf("%s: got %+v, want %+v", value, got, want)
		}
		if got, want := resolve(expr(t, d, "username"), r), (resolved{"username:#unread", "username", BodyUnread}); got != want {
			t.Errorf("%s: got %+v, want %+v", value, got, want)
		}
	}
}

func TestG06_BytesThatAreNotUTF8AreToldApart(t *testing.T) {
	e := foldedName(t)
	seen := map[string]string{}
	for _, name := range []string{"\xff", "\xfe", "é\xff", "É\xfe", "\xc3", "a\x80b", "\xed\xa0\x80", "\xff\xff"} {
		key := keyOf(e, jsonBody(`{"username":"`+name+`"}`))
		if other, ok := seen[key]; ok || key == "ip:192.0.2.1" {
			t.Errorf("%q gave %q, as %q did", name, key, other)
		}
		seen[key] = name
	}
}

func foldedName(t *testing.T) *Expr {
	t.Helper()
	d := NewDefinitions([]Component{{Name: "username", Source: source(t, "body:username"), Fold: true}}, noHops, nil)
	return expr(t, d, "username|ip")
}

func TestFoldOfAFoldedNameIsTheSame(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		once := folded(s)
		if twice := folded(once); twice != once {
			t.Fatalf("%q became %q, then %q", s, once, twice)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			check(t, string(r))
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "name")) })
}

func TestFoldIgnoresCaseAndForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		want := folded(s)
		for how, other := range map[string]string{
			"blanks": " \t" + s + "\r\n",
			"NFC":    norm.NFC.String(s),
			"NFD":    norm.NFD.String(s),
			"NFKC":   norm.NFKC.String(s),
			"lower":  strings.ToLower(s),
		} {
			if got := folded(other); got != want {
				t.Fatalf("%s of %q: got %q, want %q", how, s, got, want)
			}
		}
	})
}

func TestFoldLeavesWhatIsTooLongForAName(t *testing.T) {
	if got, want := folded("  "+strings.Repeat("A", maxFold)+"  "), strings.Repeat("a", maxFold); got != want {
		t.Errorf("%d letters were not folded", maxFold)
	}
	long := strings.Repeat("ﷺ", maxFold) // 3 bytes that NFKC makes 33
	if got := folded(long); got != long {
		t.Errorf("%d bytes became %d", len(long), len(got))
	}
}
