package main

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/stored"
)

// identityFlags name the keys of one caller: by a key, or by a request that is counted under them.
type identityFlags struct {
	explainFlags
	limit string
}

func (f *identityFlags) add(cmd *cobra.Command) {
	f.addRequest(cmd)
	f.redis.add(cmd, "URL of the Redis that counts, or REDIS_URL")
	cmd.Flags().StringVar(&f.limit, "limit", "", "the name of the limit whose key is meant, where a request is counted under several")
	cmd.Flags().StringVar(&f.output, "output", "text", "text, or json for programs")
}

// named are the keys that the command line names, and the policy, nil if none is given.
func (f *identityFlags) named(cmd *cobra.Command, args []string) ([]stored.Key, *policy.Policy, error) {
	if f.output != "text" && f.output != "json" {
		return nil, nil, usage(fmt.Errorf("--output %q is unknown; write text or json", f.output))
	}
	if err := f.redis.require(); err != nil {
		return nil, nil, usage(err)
	}
	if len(args) == 1 {
		return f.byKey(cmd, args[0])
	}
	return f.byRequest(cmd, args[0], args[1])
}

func (f *identityFlags) byKey(cmd *cobra.Command, text string) ([]stored.Key, *policy.Policy, error) {
	key, err := stored.ParseKey(text)
	if err != nil {
		return nil, nil, usage(err)
	}
	if !cmd.Flags().Changed("policy") {
		return []stored.Key{key}, nil, nil
	}
	p, _, err := readPolicy(f.policy, cmd.InOrStdin())
	return []stored.Key{key}, p, err
}

// warnOfLoopback says that another address may be counted than the one that is meant.
func warnOfLoopback(cmd *cobra.Command, client string) {
	address, err := netip.ParseAddr(client)
	switch {
	case err != nil || !address.IsLoopback():
	case !cmd.Flags().Changed("from") && client == nobodySaid:
		fmt.Fprintf(cmd.ErrOrStderr(), "routelimit: client %s is assumed: --from says who connects; %s\n", client, ofOwnMachine)
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "routelimit: client %s: %s\n", client, ofOwnMachine)
	}
}

func (f *identityFlags) byRequest(cmd *cobra.Command, method, url string) ([]stored.Key, *policy.Policy, error) {
	p, front, err := readPolicy(f.policy, cmd.InOrStdin())
	if err != nil {
		return nil, nil, err
	}
	request, err := f.request(cmd.InOrStdin(), method, url, p, front)
	if err != nil {
		return nil, nil, usage(err)
	}
	if request.Route, err = f.carriedRoute(p, front); err != nil {
		return nil, nil, err
	}
	report := explain.Explain(p, request)
	warnOfLoopback(cmd, report.Client.Address)
	var keys []stored.Key
	var names []string
	for _, k := range report.Keys {
		names = append(names, k.Limits...)
		if f.limit != "" && !slices.Contains(k.Limits, f.limit) {
			continue
		}
		key, err := stored.ParseKey(k.Key)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	switch {
	case len(report.Keys) == 0:
		return nil, nil, &failure{exitFindings, fmt.Errorf("this request is counted nowhere: %s; see routelimit explain", report.Why)}
	case len(keys) == 0:
		return nil, nil, usage(fmt.Errorf("--limit %q limits no such request; write one of %q", f.limit, names))
	}
	return keys, p, nil
}
