package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"routelimit/bootstrap/lint"
)

// lintFlags are what lint was asked for.
type lintFlags struct {
	output          string
	strict          bool
	requireDeclared bool
}

func lintCommand() *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint FILE…",
		Short: "Check policies, or Envoy configurations and the policies in them",
		Long: `Check a policy, or an Envoy configuration and every policy in it, each in YAML or JSON. "-" reads standard input.
Of several files all are checked; the exit code is the worst, and --output json prints a value for each.

Errors are what cannot work as it is written; warnings what can, and probably is not meant. All are printed, one a line:
FILE:LINE:COLUMN: error or warning: what it is and what to do [rule].

  routelimit lint envoy.yaml
  routelimit lint --output github docs/examples/policy.json

Exit code 0: no error. 1: some; with --strict, a warning too. 2: a file cannot be read or holds no policy.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.output, "output", "text", "how findings are printed: text, json, or github for annotations in its workflows")
	flags.BoolVar(&f.strict, "strict", false, "warnings fail, too")
	flags.BoolVar(&f.requireDeclared, "require-declared", false, "routes of Envoy's fail that only the policy's default covers")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, names []string) error {
	print, ok := lintPrinters[f.output]
	if !ok {
		return usage(fmt.Errorf("--output %q is unknown; write text, json or github", f.output))
	}
	var unread []error
	failed := false
	for _, name := range names {
		found, err := f.check(cmd, name)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		print(cmd.OutOrStdout(), name, found)
		errors, warnings := count(found)
		failed = failed || errors > 0 || f.strict && warnings > 0
	}
	switch {
	case len(unread) > 0:
		return usage(errors.Join(unread...))
	case failed:
		return &failure{code: exitFindings}
	}
	return nil
}

func (f *lintFlags) check(cmd *cobra.Command, name string) ([]lint.Finding, error) {
	file, err := readFile(name, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	found, err := lint.File(file, lint.Options{
		Env: os.LookupEnv, RequireDeclared: f.requireDeclared,
		Note: func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "routelimit: %s: %s\n", name, text) },
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// readFile reads a policy, or an Envoy configuration.
func readFile(name string, stdin io.Reader) ([]byte, error) {
	return readInput(name, "give the name of a policy or an Envoy configuration", stdin)
}

// readInput reads a file, or standard input where its name is "-". The advice says which file to give.
func readInput(name, advice string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		file, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("cannot read standard input: %w; give a file instead", err)
		}
		return file, nil
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	return file, nil
}

func count(found []lint.Finding) (errors, warnings int) {
	for _, f := range found {
		if f.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}
