package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"routelimit/accesslog"
	"routelimit/simulate"
	"routelimit/simulate/page"
)

// simulateFlags are what simulate was asked for.
type simulateFlags struct {
	logFlags
	policy string
	html   string
}

func simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate --log FILE...",
		Short: "Play an access log through a policy: who would have been refused?",
		Long: `Play the requests of access logs through a policy, by the code that decides in the proxy, and say who would have been
refused, by which limit and when, and what limit would have refused 0.1%, 1% and 5% of the callers.

A limit whose identity the log has no place for is left out, and the report says so.

` + aboutLogs + `

  routelimit simulate --policy docs/examples/policy.json --log docs/examples/access.log --html report.html
  zcat logs/*.gz | routelimit simulate --log - --output json

Exit code 0: the logs were played. 1: the policy is wrong, or a log could not be read to its end or holds no request.
2: the command line or a file cannot be read.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.logs = append(f.logs, args...)
			return f.run(cmd)
		},
	}
	f.add(cmd, "text, json, or csv: a row for each limit")
	cmd.Flags().StringVar(&f.policy, "policy", "envoy.yaml", "a policy, or an Envoy configuration with one")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page with plots to this file, too")
	return cmd
}

func (f *simulateFlags) run(cmd *cobra.Command) error {
	options, err := f.begin([]string{f.policy}, "text", "json", "csv")
	if err != nil {
		return err
	}
	p, front, err := readPolicy(f.policy, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if options.Replay, err = f.settings(options.Replay, f.policy, p, front); err != nil {
		return err
	}
	var report *simulate.Report
	err = f.play(cmd, &options, "simulation", func(inputs []accesslog.Input) (err error) {
		report, err = simulate.Run(cmd.Context(), p, inputs, options)
		return err
	})
	if err != nil {
		return err
	}
	if f.html != "" {
		if err := writePage(f.html, report); err != nil {
			return usage(err)
		}
	}
	out := cmd.OutOrStdout()
	switch f.output {
	case "json":
		writeJSON(out, report)
	case "csv":
		err = writeCSV(out, report)
	default:
		printSimulation(out, report)
	}
	if err != nil {
		return &failure{exitFindings, err}
	}
	return logsFailure(report.Logs, report.Requests+report.AnsweredBefore)
}

// logsFailure is the exit code where a log was not what it should be; the reason is
// in the report, and on standard error for who reads only that.
func logsFailure(logs []simulate.Log, requests int64) error {
	for _, l := range logs {
		if l.Error != "" {
			return &failure{exitFindings, fmt.Errorf("%s: %s", l.Name, l.Error)}
		}
	}
	if requests == 0 {
		return &failure{exitFindings, errors.New("no request could be read; see the lines above, and give the format with --format and --field")}
	}
	return nil
}

func writePage(name string, report *simulate.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("%w; write --html and a file that can be written", err)
	}
	err = page.Write(file, report)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; write --html and a file that can be written", name, err)
	}
	return nil
}
