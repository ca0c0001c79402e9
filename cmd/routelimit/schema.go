package main

import (
	"github.com/spf13/cobra"

	"routelimit/policy/schema"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a policy",
		Long: `Print the JSON Schema (draft 07) of a policy, for editors and other tools, which find it where the policy has "$schema": "./schema.json".

  routelimit schema > schema.json

Exit code 0: it was printed. 2: the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schema.Document())
			return err
		},
	}
}
