package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"routelimit/bootstrap"
	"routelimit/policy"
)

func lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE",
		Short: "Check a policy, or the policies in an Envoy configuration",
		Long: `Check a policy (JSON), or every policy in an Envoy configuration (YAML or JSON). "-" reads standard input.

All errors are printed, one a line: FILE:LINE:COLUMN: what is wrong and what to do.
Exit code 0: none. 1: some. 2: the file cannot be read or holds no policy.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := readFile(args[0], cmd.InOrStdin())
			if err != nil {
				return &failure{exitUsage, err}
			}
			found, err := lint(file)
			if err != nil {
				return &failure{exitUsage, fmt.Errorf("%s: %w", args[0], err)}
			}
			out := cmd.OutOrStdout()
			printFindings(out, args[0], found)
			if len(found) > 0 {
				return &failure{code: exitFindings}
			}
			return nil
		},
	}
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		file, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("cannot read standard input: %w; give a file instead", err)
		}
		return file, nil
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w; give the name of a policy or an Envoy configuration", err)
	}
	return file, nil
}

// finding is one thing that is wrong with a file.
type finding struct {
	line, column int // of the file, from 1; column 0: unknown
	text         string
}

// lint checks a file. The error says that there is nothing to check in it.
func lint(file []byte) ([]finding, error) {
	policies, err := bootstrap.Policies(file)
	isJSON := bytes.HasPrefix(bytes.TrimSpace(file), []byte("{"))
	var syntax *bootstrap.SyntaxError
	switch {
	case isJSON && len(policies) == 0: // a policy by itself, however broken
		return problems(bootstrap.Whole(file)), nil
	case errors.As(err, &syntax):
		return []finding{{syntax.Line, syntax.Column, syntax.Error()}}, nil
	case err != nil:
		return nil, err
	case len(policies) == 0:
		return nil, errors.New("no routelimit in it; give a policy, which starts with {, or an Envoy configuration with a " +
			"Wasm HTTP filter that has routelimit in its name, vm_id or file")
	}
	var all []finding
	for _, p := range policies {
		all = append(all, problems(p)...)
	}
	return all, nil
}

// problems are those of one policy, placed in its file.
func problems(p bootstrap.Placed) []finding {
	_, err := policy.Parse([]byte(p.Text), os.LookupEnv)
	if err == nil {
		return nil
	}
	var list policy.Errors
	if !errors.As(err, &list) {
		return []finding{{line: p.Line(), text: err.Error()}}
	}
	var found []finding
	for _, problem := range list {
		at := finding{text: problem.Message}
		if problem.Path != "" {
			at.text = problem.Path + ": " + problem.Message
		}
		line, column, exact := p.Place(max(1, problem.Line), max(1, problem.Column))
		at.line = line
		if exact {
			at.column = column
		}
		found = append(found, at)
	}
	return found
}

// printFindings ends with a line that sums up.
func printFindings(out io.Writer, name string, found []finding) {
	for _, f := range found {
		if f.column == 0 {
			fmt.Fprintf(out, "%s:%d: %s\n", name, f.line, f.text)
		} else {
			fmt.Fprintf(out, "%s:%d:%d: %s\n", name, f.line, f.column, f.text)
		}
	}
	switch len(found) {
	case 0:
		fmt.Fprintf(out, "%s: no errors\n", name)
	case 1:
		fmt.Fprintf(out, "%s: 1 error\n", name)
	default:
		fmt.Fprintf(out, "%s: %d errors\n", name, len(found))
	}
}
