package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"routelimit/bootstrap/lint"
)

// lintPrinters are the forms in which findings are printed.
var lintPrinters = map[string]func(out io.Writer, name string, found []lint.Finding){
	"text": printText, "json": printJSON, "github": printGitHub,
}

// printText ends with a line that sums up.
func printText(out io.Writer, name string, found []lint.Finding) {
	for _, f := range found {
		place := name
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		if f.Column > 0 {
			place += fmt.Sprintf(":%d", f.Column)
		}
		fmt.Fprintf(out, "%s: %s: %s [%s]\n", place, severity(f), message(f), f.Rule)
	}
	errors, warnings := count(found)
	fmt.Fprintf(out, "%s: %s, %s\n", name, plural(errors, "error"), plural(warnings, "warning"))
}

// message is the text of a finding, with the path if there is one.
func message(f lint.Finding) string {
	if f.Path == "" {
		return f.Text
	}
	return f.Path + ": " + f.Text
}

func severity(f lint.Finding) string {
	if f.Error {
		return "error"
	}
	return "warning"
}

func plural(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// jsonFinding is a finding as programs read it.
type jsonFinding struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Column   int    `json:"column"` // 0: unknown
	Text     string `json:"text"`
}

func printJSON(out io.Writer, name string, found []lint.Finding) {
	report := struct {
		File     string        `json:"file"`
		Errors   int           `json:"errors"`
		Warnings int           `json:"warnings"`
		Findings []jsonFinding `json:"findings"`
	}{File: name, Findings: []jsonFinding{}}
	report.Errors, report.Warnings = count(found)
	for _, f := range found {
		report.Findings = append(report.Findings, jsonFinding{severity(f), f.Rule, f.Path, f.Line, f.Column, f.Text})
	}
	writeJSON(out, report)
}

// writeJSON writes a value for programs, indented.
func writeJSON(out io.Writer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	encoder.Encode(value) // its own errors cannot occur, and those of out end the program anyhow
}

// printGitHub writes workflow commands, which GitHub shows beside the lines
// (its documentation, "Workflow commands", has the escapes).
func printGitHub(out io.Writer, name string, found []lint.Finding) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, f := range found {
		place := fmt.Sprintf("file=%s,line=%d", property.Replace(name), f.Line)
		if f.Column > 0 {
			place += fmt.Sprintf(",col=%d", f.Column)
		}
		fmt.Fprintf(out, "::%s %s,title=%s::%s\n", severity(f), place, f.Rule, data.Replace(message(f)))
	}
}
