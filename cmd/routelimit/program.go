package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes. They are part of what the program promises.
const (
	exitOK       = 0
	exitFindings = 1 // lint found errors; diff lost requests; run could not run, or something ended by itself
	exitUsage    = 2 // a verb, flag or file that is not there
)

// failure is an error with the exit code that it leads to. A nil error: everything has been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// newRoot is the program's command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "routelimit",
		Short:         "Rate limits for Envoy, shared through Redis, decided inside the proxy",
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		runCommand(), lintCommand(), testCommand(), explainCommand(), simulateCommand(), diffCommand(), importCommand(),
		hashCommand(), peekCommand(), resetCommand(), topCommand(), renderCommand(), bridgeCommand(), schemaCommand(), upstreamCommand(), versionCommand(),
	)
	return root
}

// program is the whole program: it reads stdin for "-", and returns the exit code.
func program(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	cmd, err := root.ExecuteContextC(ctx)
	var known *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &known):
		if known.err != nil {
			fmt.Fprintln(stderr, "routelimit:", known.err)
		}
		return known.code
	default: // cobra's own: what was typed is wrong
		fmt.Fprintf(stderr, "routelimit: %v; see: %s --help\n", err, cmd.CommandPath())
		return exitUsage
	}
}
