package main

import (
	"github.com/spf13/cobra"

	"routelimit/accesslog"
	"routelimit/replay"
	"routelimit/simulate"
)

// diffFlags are what diff was asked for.
type diffFlags struct {
	logFlags
	before, after string
}

func diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff --old FILE --new FILE --log FILE...",
		Short: "Play an access log through two policies: who gains, who loses?",
		Long: `Play the requests of access logs through two policies and say what changes, for a review: the limits that differ, the
requests of each route that only one of them refuses, and the identities that lose and gain most by it.

` + aboutLogs + `

  routelimit diff --old docs/examples/policy.json --new docs/examples/policy.next.json --log docs/examples/access.log

Exit code 0: whatever the old policy lets pass, the new one does. 1: it refuses a request that the old one lets pass, a policy is
wrong, or a log could not be read to its end. 2: the command line or a file cannot be read.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.logs = append(f.logs, args...)
			return f.run(cmd)
		},
	}
	f.add(cmd, "text, or json for programs")
	cmd.Flags().StringVar(&f.before, "old", "", "the policy that is in force, or an Envoy configuration with it")
	cmd.Flags().StringVar(&f.after, "new", "", "the policy that would be")
	cmd.MarkFlagRequired("old")
	cmd.MarkFlagRequired("new")
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command) error {
	options, err := f.begin([]string{f.before, f.after}, "text", "json")
	if err != nil {
		return err
	}
	before, frontBefore, err := readPolicy(f.before, cmd.InOrStdin())
	if err != nil {
		return err
	}
	after, frontAfter, err := readPolicy(f.after, cmd.InOrStdin())
	if err != nil {
		return err
	}
	var old replay.Settings
	if old, err = f.settings(options.Replay, f.before, before, frontBefore); err != nil {
		return err
	}
	if options.Replay, err = f.settings(options.Replay, f.after, after, frontAfter); err != nil {
		return err
	}
	var c *simulate.Comparison
	err = f.play(cmd, &options, "comparison", func(inputs []accesslog.Input) (err error) {
		c, err = simulate.Compare(cmd.Context(), before, after, inputs, old, options)
		return err
	})
	if err != nil {
		return err
	}
	if f.output == "json" {
		writeJSON(cmd.OutOrStdout(), c)
	} else {
		printComparison(cmd.OutOrStdout(), c)
	}
	if err := logsFailure(c.Logs, c.Requests+c.AnsweredBefore); err != nil {
		return err
	}
	if c.Flow.Lost > 0 {
		return &failure{code: exitFindings}
	}
	return nil
}
