package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestFillKnowsCommandsTheirOutputAndWhatStandsAbove(t *testing.T) {
	const page = "$ not a command\n```\nplain\n$ one\nold\n\n$ two\n```\n<!-- on a Redis: alice -->\n```sh\n$ three\n$ four\nx\n```\nend"
	var seen []Command
	got := Fill(page, func(c Command) (string, bool) {
		seen = append(seen, c)
		return "<" + c.Text + ">\n", c.Text != "four"
	})
	if diff := cmp.Diff([]Command{
		{4, "one", "old\n\n", ""}, {7, "two", "", ""}, {11, "three", "", "on a Redis: alice"}, {12, "four", "x\n", "on a Redis: alice"},
	}, seen); diff != "" {
		t.Error(diff)
	}
	want := "$ not a command\n```\nplain\n$ one\n<one>\n$ two\n<two>\n```\n<!-- on a Redis: alice -->\n```sh\n$ three\n<three>\n$ four\nx\n```\nend"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	target  = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )*make ([a-z-]+)|^    make ([a-z-]+)")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchor is how GitHub makes a heading's anchor.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// What the pages point to is there: files, headings and make's targets.
func TestThePagesPointToWhatIsThere(t *testing.T) {
	names, err := All("../..")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			file, part, _ := strings.Cut(found[1], "#")
			path := name
			if file != "" {
				path = filepath.Join(filepath.Dir(name), file)
			}
			to, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, found[1], err)
			} else if part != "" && !slices.ContainsFunc(heading.FindAllStringSubmatch(string(to), -1), func(h []string) bool { return anchor(h[1]) == part }) {
				t.Errorf("%s: %s has no heading %q", name, path, part)
			}
		}
		for line := range strings.Lines(string(text)) {
			for _, found := range target.FindAllStringSubmatch(line, -1) {
				if what := found[1] + found[2]; !strings.Contains(string(makefile), "\n"+what+":") {
					t.Errorf("%s: there is no make %s", name, what)
				}
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links", links)
	}
}

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
)

// Every claim of security.md names tests that are there.
func TestTheTestsThatSecurityNamesAreThere(t *testing.T) {
	text, err := os.ReadFile("../security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range testFunc.FindAllStringSubmatch(string(source), -1) {
			there[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := testName.FindAllStringSubmatch(string(text), -1)
	for _, found := range names {
		if !there[found[1]] {
			t.Errorf("there is no %s", found[1])
		}
	}
	if len(names) < 40 {
		t.Errorf("%d tests are named", len(names))
	}
}
