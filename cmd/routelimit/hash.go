package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func hashCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "hash IDENTITY [VALUE]",
		Short: "Print an identity by its hash, as exempt takes it",
		Long: `Print IDENTITY:HASH for a value of an identity that a policy declares: what a route's "exempt" takes, and, where the
identity is secret, what stands in keys, logs and metrics. The value is folded where the identity is. With hash_key_env in the
policy, the key is read from that environment variable, which must be set here as it is for Envoy.

The value is what a request sends. Without VALUE one line of standard input is read, which no shell remembers and no process list
shows:

  routelimit hash api_key < key.txt

Exit code 0: it was printed. 1: the policy is wrong. 2: the command line or a file cannot be read, or there is no such identity.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.hash(cmd.OutOrStdout(), cmd.InOrStdin(), args)
		},
	}
	cmd.Flags().StringVar(&f.policy, "policy", "envoy.yaml", "a policy, or an Envoy configuration with one, that declares the identity")
	return cmd
}

func (f *explainFlags) hash(out io.Writer, stdin io.Reader, args []string) error {
	p, _, err := readPolicy(f.policy, stdin)
	if err != nil {
		return err
	}
	value := ""
	if len(args) == 2 {
		value = args[1]
	} else if value, err = oneLine(stdin); err != nil {
		return usage(err)
	}
	caller, err := p.Definitions().Hash(args[0], value)
	if err != nil {
		return usage(err)
	}
	fmt.Fprintln(out, caller)
	return nil
}

// oneLine is the only line of standard input, without its end.
func oneLine(stdin io.Reader) (string, error) {
	text, err := io.ReadAll(stdin)
	if err != nil {
		return "", fmt.Errorf("cannot read standard input: %w; give the value as an argument", err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("standard input has more than one line; give one value at a time")
	}
	return line, nil
}
