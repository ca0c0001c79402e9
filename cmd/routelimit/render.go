package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"routelimit/bootstrap/lint"
	"routelimit/render"
)

// renderFlags are what render was asked for.
type renderFlags struct {
	platform string
	policy   string
	file     string
	setup    render.Setup
	redis    renderRedis
	keys     string
}

// platforms are what --for may say.
var platforms = map[string]func(*renderFlags) (render.Output, error){
	"envoy": func(f *renderFlags) (render.Output, error) { return render.Envoy(f.setup) },
}

func renderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Write what Envoy, Istio, Envoy Gateway or Higress needs for a policy and a Redis",
		Long: `Write all that a platform needs to hold a policy with the counts in a Redis. Neither is asked anything, nor is Redis.
For envoy it is a whole bootstrap, which starts as it is; for the others, resources for kubectl apply. docs/platforms.md says
what each platform cannot do, and the way around it.

  routelimit render --for envoy --redis redis://10.0.0.7:6379 --policy policy.json --upstream 127.0.0.1:8080 --output envoy.yaml
  routelimit render --for envoy --redis rediss://routelimit@redis-1.example:6379,redis-2.example:6379 --redis-cluster --policy policy.json

No password is ever written: --redis-password-env or --redis-password-file says where Envoy finds it.

Exit code 0: it was written. 1: the policy has errors, as lint says them. 2: the command line or a file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.platform, "for", "", "the platform: envoy")
	flags.StringVar(&f.policy, "policy", "envoy.yaml", "a policy, or an Envoy configuration with one, of which the policy alone is taken")
	flags.StringVarP(&f.file, "output", "o", "-", "the file to write; - is standard output")
	f.redis.add(cmd)
	flags.StringVar(&f.setup.Module.File, "module", "build/routelimit.wasm", "the module's file, from where Envoy is started")
	flags.StringVar(&f.setup.Listen, "listen", "0.0.0.0:10000", "where clients come in")
	flags.StringVar(&f.setup.Admin, "admin", "127.0.0.1:9901", "Envoy's admin page, which can stop it: never a public address")
	flags.StringVar(&f.setup.Upstream, "upstream", "127.0.0.1:8080", "what is protected: host:port, or the path of a unix socket")
	flags.StringVar(&f.setup.Tokens.Issuer, "jwt-issuer", "", "the issuer of tokens, where the policy reads their claims")
	flags.StringVar(&f.keys, "jwt-keys", "", "a file with the issuer's keys, a JSON Web Key Set")
	return cmd
}

func (f *renderFlags) run(cmd *cobra.Command) error {
	out, err := f.render(cmd)
	if err != nil {
		return err
	}
	text, err := out.YAML()
	if err != nil {
		return &failure{exitFindings, err}
	}
	for _, note := range append(f.redis.notes, out.Notes...) {
		fmt.Fprintln(cmd.ErrOrStderr(), "routelimit:", note)
	}
	if f.file == "-" {
		_, err = cmd.OutOrStdout().Write(text)
	} else {
		err = os.WriteFile(f.file, text, 0o644)
	}
	if err != nil {
		return usage(fmt.Errorf("cannot write: %w; give another --output", err))
	}
	return nil
}

func (f *renderFlags) render(cmd *cobra.Command) (render.Output, error) {
	make, ok := platforms[f.platform]
	if !ok {
		return render.Output{}, usage(fmt.Errorf("--for %q is unknown; write envoy", f.platform))
	}
	var err error
	if f.setup.Redis, err = f.redis.read(); err != nil {
		return render.Output{}, usage(err)
	}
	if f.keys != "" {
		keys, err := os.ReadFile(f.keys)
		if err != nil {
			return render.Output{}, usage(fmt.Errorf("%w; give --jwt-keys a JSON Web Key Set", err))
		}
		f.setup.Tokens.KeySet = string(keys)
	}
	if f.setup.Policy, err = f.readPolicy(cmd); err != nil {
		return render.Output{}, err
	}
	out, err := make(f)
	if err != nil {
		return render.Output{}, usage(err)
	}
	return out, nil
}

// readPolicy reads the policy and prints what lint finds wrong with it. Whether the Envoy around it fits, is not asked:
// another one is made.
func (f *renderFlags) readPolicy(cmd *cobra.Command) ([]byte, error) {
	file, err := readFile(f.policy, cmd.InOrStdin())
	if err != nil {
		return nil, usage(err)
	}
	raw, _, err := policyIn(file)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", f.policy, err))
	}
	found, err := lint.File(raw, lint.Options{Env: os.LookupEnv})
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", f.policy, err))
	}
	if errors, _ := count(found); errors > 0 {
		lintPrinters["text"](cmd.ErrOrStderr(), f.policy, found)
		return nil, &failure{exitFindings, fmt.Errorf("nothing was written, since the policy has errors; correct them, and check it with: routelimit lint %s", f.policy)}
	}
	return raw, nil
}
