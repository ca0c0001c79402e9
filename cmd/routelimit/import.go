package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"routelimit/bootstrap/lint"
	"routelimit/imported"
)

// importFlags are what import was asked for.
type importFlags struct {
	service, envoy              []string
	routeConfig, serviceCluster string
	output                      string
}

func importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --ratelimit FILE… --envoy FILE…",
		Short: "Make a policy of what envoyproxy/ratelimit and Envoy's ratelimit filter are configured with",
		Long: `Make a policy of the configuration of envoyproxy/ratelimit (domains and descriptors) and that of the Envoy that asks it
(a bootstrap, or a listener and its route configuration: the ratelimit filter and the rate_limits of virtual hosts and routes).

The policy is printed, and on standard error what one has to know about it, one a line:
FILE:LINE:COLUMN: lost or note: what it is and what to do. "lost" has no equivalent.
Exit code 0: all was carried over. 1: something was lost. 2: the files cannot be read.`,
		Example: `  routelimit import --ratelimit limits.yaml --envoy envoy.yaml > policy.json
  routelimit import --ratelimit limits.yaml --envoy lds.yaml --envoy rds.yaml --route-config public > policy.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.service, "ratelimit", nil, "a configuration file of envoyproxy/ratelimit; may be given several times")
	flags.StringArrayVar(&f.envoy, "envoy", nil, "a configuration file of Envoy; may be given several times")
	flags.StringVar(&f.routeConfig, "route-config", "", "the route configuration to take, where there are several")
	flags.StringVar(&f.serviceCluster, "service-cluster", "", "the name of this Envoy's own cluster, for source_cluster actions (its --service-cluster)")
	flags.StringVar(&f.output, "output", "text", "how it is printed: text, or json for policy and findings in one")
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command) error {
	if f.output != "text" && f.output != "json" {
		return &failure{exitUsage, fmt.Errorf("--output %q is unknown; write text or json", f.output)}
	}
	if len(f.service) == 0 || len(f.envoy) == 0 {
		return &failure{exitUsage, errors.New("both are needed: give the service's files by --ratelimit and Envoy's by --envoy")}
	}
	in := imported.Input{RouteConfig: f.routeConfig, ServiceCluster: f.serviceCluster}
	var err error
	if in.Service, err = readFiles(f.service, "give --ratelimit a file of envoyproxy/ratelimit", cmd.InOrStdin()); err != nil {
		return &failure{exitUsage, err}
	}
	if in.Envoy, err = readFiles(f.envoy, "give --envoy a file of Envoy's configuration", cmd.InOrStdin()); err != nil {
		return &failure{exitUsage, err}
	}
	result, err := imported.Convert(in)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if f.output == "json" {
		printImportedJSON(cmd.OutOrStdout(), result)
	} else {
		cmd.OutOrStdout().Write(result.Policy)
		printImportedText(cmd.ErrOrStderr(), result)
	}
	if result.Lost() > 0 {
		return &failure{code: exitFindings}
	}
	return nil
}

// readFiles reads all; advice ends the message about one that cannot be read.
func readFiles(names []string, advice string, stdin io.Reader) ([]imported.File, error) {
	var files []imported.File
	for _, name := range names {
		text, err := readInput(name, advice, stdin)
		if err != nil {
			return nil, err
		}
		files = append(files, imported.File{Name: name, Text: text})
	}
	return files, nil
}

// printImportedText ends with what lint thinks of the policy, and a line that sums up.
func printImportedText(out io.Writer, r *imported.Result) {
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s: %s: %s\n", f.Place, severityOf(f), visible(f.Text))
	}
	warned, _ := lint.File(r.Policy, lint.Options{Env: os.LookupEnv}) // what was converted is a policy
	rules := map[string]int{}
	for _, f := range warned {
		rules[f.Rule]++
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Fprintf(out, "policy: routelimit lint warns: %s, %s\n", rule, times(rules[rule]))
	}
	fmt.Fprintf(out, "%s on %s; lost: %d; %s\n", plural(r.Limits, "limit"), plural(r.Routes, "route"), r.Lost(), plural(len(r.Findings)-r.Lost(), "note"))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func severityOf(f imported.Finding) string {
	if f.Lost {
		return "lost"
	}
	return "note"
}

func printImportedJSON(out io.Writer, r *imported.Result) {
	report := struct {
		Policy   any           `json:"policy"`
		Routes   int           `json:"routes"`
		Limits   int           `json:"limits"`
		Lost     int           `json:"lost"`
		Findings []importFound `json:"findings"`
	}{json.RawMessage(r.Policy), r.Routes, r.Limits, r.Lost(), []importFound{}}
	for _, f := range r.Findings {
		report.Findings = append(report.Findings, importFound{severityOf(f), f.File, f.Line, f.Column, f.Text})
	}
	writeJSON(out, report)
}

// importFound is a finding as programs read it.
type importFound struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}
