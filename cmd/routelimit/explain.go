package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"routelimit/bootstrap"
	"routelimit/bootstrap/lint"
	"routelimit/policy"
	"routelimit/policy/explain"
)

// explainFlags are what explain was asked for.
type explainFlags struct {
	policy     string
	headers    []string
	data       string
	dataFile   string
	hasData    bool
	from       string
	set        []string
	envoyRoute string
	redis      redisAccess
	output     string
}

func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain METHOD URL",
		Short: "Show what a policy makes of one request",
		Long: `Show, step by step, what a policy makes of one request: its normalised path, the route and why it won, each limit, each
part of an identity and where it came from, the keys in Redis, and with --redis what is left of each limit. Nothing is counted,
and no secret identity is shown in clear.

The URL is http://host/path?query, or the path alone. With an Envoy configuration, X-Forwarded-For and the client's address
become what that Envoy makes of them; with a policy by itself, the headers are taken as the filter sees them.

  routelimit explain POST /login -H 'content-type: application/json' -d '{"username": "alice"}' --from 203.0.113.7
  routelimit explain GET /orders --set metadata:envoy.filters.http.jwt_authn/payload/sub=alice

Exit code 0: the request passes, or Redis decides. 1: it is refused, the policy is wrong, or Redis does not answer.
2: the command line or a file cannot be read, or the variable of hash_key_env is not set or too short.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasData = cmd.Flags().Changed("data") || f.dataFile != ""
			return f.run(cmd, args[0], args[1])
		},
	}
	f.addRequest(cmd)
	flags := cmd.Flags()
	f.redis.add(cmd, "URL of the Redis to be asked what is left")
	flags.StringVar(&f.output, "output", "text", "text, or json for programs")
	return cmd
}

// addRequest adds the flags that describe a request and its policy.
func (f *explainFlags) addRequest(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "envoy.yaml", "a policy, or an Envoy configuration with one")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header, 'name: value'; may be repeated")
	flags.StringVarP(&f.data, "data", "d", "", "the body; its type is that of a form, unless a header says otherwise")
	flags.StringVar(&f.dataFile, "data-file", "", "a file with the body; - is standard input")
	flags.StringVar(&f.from, "from", nobodySaid, "the address that connects to Envoy, with or without a port")
	flags.StringArrayVar(&f.set, "set", nil, "what Envoy or another filter would say: a metadata: or property: source, = and its value;\nmay be repeated")
	flags.StringVar(&f.envoyRoute, "envoy-route", "", "the name of the route that Envoy chooses, for limits in its metadata")
	cmd.MarkFlagsMutuallyExclusive("data", "data-file")
}

// nobodySaid is who connects where --from does not say it.
const nobodySaid = "127.0.0.1"

func (f *explainFlags) run(cmd *cobra.Command, method, url string) error {
	out, stdin := cmd.OutOrStdout(), cmd.InOrStdin()
	if f.output != "text" && f.output != "json" {
		return usage(fmt.Errorf("--output %q is unknown; write text or json", f.output))
	}
	p, front, err := readPolicy(f.policy, stdin)
	if err != nil {
		return err
	}
	request, err := f.request(stdin, method, url, p, front)
	if err != nil {
		return usage(err)
	}
	if request.Route, err = f.carriedRoute(p, front); err != nil {
		return err
	}
	if f.envoyRoute == "" && front != nil && len(front.Carried) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "routelimit: routes of this Envoy carry limits of their own; name the one that it chooses with --envoy-route")
	}
	report := explain.Explain(p, request)
	report.Client.Assumed = !cmd.Flags().Changed("from") && report.Client.Address == nobodySaid
	var failed error
	if f.redis.url != "" {
		failed = look(cmd.Context(), report, &f.redis)
		if known := (*failure)(nil); errors.As(failed, &known) {
			return known // the command line is wrong: no report
		}
	}
	if f.output == "json" {
		writeJSON(out, report)
	} else {
		printReport(out, report)
	}
	switch {
	case failed != nil:
		return &failure{exitFindings, failed}
	case report.Outcome == explain.Refused:
		return &failure{code: exitFindings}
	}
	return nil
}

func usage(err error) error { return &failure{exitUsage, err} }

// findings is an error of what was found, unless it is known to be one of what was typed.
func findings(err error) error {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	return &failure{exitFindings, err}
}

// readPolicy reads a policy, and what Envoy does before it, if the file is an Envoy configuration.
func readPolicy(name string, stdin io.Reader) (*policy.Policy, *bootstrap.Front, error) {
	file, err := readFile(name, stdin)
	if err != nil {
		return nil, nil, usage(err)
	}
	raw, front, err := policyIn(file)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("%s: %w", name, err))
	}
	var key hashKey
	p, err := policy.Parse(raw, key.lookup)
	if key.wrong != nil {
		return nil, nil, usage(fmt.Errorf("%s: %w", name, key.wrong))
	}
	if err != nil {
		return nil, nil, &failure{exitFindings, fmt.Errorf("the policy in %s is wrong; correct it with: routelimit lint %s\n%w", name, name, err)}
	}
	return p, front, nil
}

// policyIn finds the policy in a file that is one, or an Envoy configuration.
func policyIn(file []byte) ([]byte, *bootstrap.Front, error) {
	if placed, ok := bootstrap.PolicyInYAML(file); ok {
		return []byte(placed.Text), nil, nil
	}
	config, err := bootstrap.Parse(file)
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(file), []byte("{")) && (err != nil || len(config.Plugins()) == 0):
		return file, nil, nil // a policy by itself, however broken
	case err != nil:
		return nil, nil, err
	case len(config.Plugins()) == 0:
		return nil, nil, lint.ErrNothing
	}
	raw, err := config.Policy()
	if err != nil {
		return nil, nil, err
	}
	front, ok, err := config.Front()
	if err != nil || !ok {
		return []byte(raw), nil, err
	}
	return []byte(raw), &front, nil
}

// carriedRoute is the route that Envoy's route of the given name carries, or nil.
func (f *explainFlags) carriedRoute(p *policy.Policy, front *bootstrap.Front) (*policy.Route, error) {
	if f.envoyRoute == "" || front == nil {
		return nil, nil
	}
	for _, c := range front.Carried {
		if c.Name != f.envoyRoute {
			continue
		}
		route, err := p.ParseMetadata(c.Fields)
		if err != nil {
			return nil, &failure{exitFindings, fmt.Errorf("route %q in %s: %w", c.Name, f.policy, err)}
		}
		return route, nil
	}
	return nil, nil
}
