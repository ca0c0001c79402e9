package main

import (
	"io"
	"os"
)

// isTerminal says whether a person looks at what is written.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// paint writes in colour, where that is wanted (no-color.org).
type paint bool

func paintFor(out io.Writer) paint { return paint(isTerminal(out) && os.Getenv("NO_COLOR") == "") }

func (p paint) bold(text string) string   { return p.as("1", text) }
func (p paint) red(text string) string    { return p.as("31", text) }
func (p paint) yellow(text string) string { return p.as("33", text) }

func (p paint) as(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
