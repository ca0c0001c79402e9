package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"
)

func upstreamCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "upstream",
		Short: "Serve the demo upstream alone",
		Long: `Serve the upstream that run starts, for demos in containers, until Ctrl-C: POST /login takes the password "` + demoPassword + `" alone, in JSON or a form,
and answers 401 to others, POST /orders answers 201, anything else 200, and each answer tells what arrived:

  routelimit upstream --listen 127.0.0.1:8080

Exit code 0: it was ended by Ctrl-C. 1: it could not listen. 2: the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := net.SplitHostPort(listen); err != nil {
				return usage(fmt.Errorf("--listen %q is no address; write host:port", listen))
			}
			u, err := startDemo(listen)
			if err != nil {
				return &failure{exitFindings, err}
			}
			defer u.Stop()
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "the demo upstream serves", u.URL()); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "host:port to listen on")
	return cmd
}
