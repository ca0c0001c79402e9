// Package pages reads the commands of the project's pages, so that tests run each
// of them and compare what it prints with what the page says.
//
// A command is a line of a code block that begins with "$ "; what follows, up to the
// next one, is its output. A comment right above a block says what it needs:
//
//	<!-- on a Redis: alice -->          servers that the test prepares under that name
//	<!-- not run: why it cannot be -->
package pages

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Command is one command of a page.
type Command struct {
	Line   int // from 1
	Text   string
	Output string // as the page has it
	Mark   string // the comment above its block, "" if there is none
}

const (
	fence  = "```"
	prompt = "$ "
)

// Fill returns the page with the output of each command that run knows; ok false
// leaves it as it is.
func Fill(page string, run func(Command) (output string, ok bool)) string {
	var written, output strings.Builder
	var now *Command
	finish := func() {
		if now == nil {
			return
		}
		now.Output = output.String()
		if got, ok := run(*now); ok {
			written.WriteString(got)
		} else {
			written.WriteString(now.Output)
		}
		now = nil
		output.Reset()
	}
	mark, last, inside := "", "", false
	number := 0
	for line := range strings.Lines(page) {
		number++
		text, isCommand := strings.CutPrefix(line, prompt)
		switch {
		case strings.HasPrefix(line, fence):
			finish()
			if inside = !inside; inside {
				mark = comment(last)
			}
			written.WriteString(line)
		case inside && isCommand:
			finish()
			now = &Command{Line: number, Text: strings.TrimSpace(text), Mark: mark}
			written.WriteString(line)
		case now != nil:
			output.WriteString(line)
		default:
			written.WriteString(line)
		}
		last = line
	}
	finish()
	return written.String()
}

// comment is the text of an HTML comment, "" if the line is none.
func comment(line string) string {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	text, closed := strings.CutSuffix(text, "-->")
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(text)
}

// All are the pages of the project in a folder: README.md and docs/*.md.
func All(root string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there are no pages in %s", root)
	}
	return append([]string{filepath.Join(root, "README.md")}, names...), err
}
