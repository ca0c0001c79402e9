package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"routelimit/bootstrap/lint"
	"routelimit/render"
)

// renderFlags are what render was asked for.
type renderFlags struct {
	platform string
	policy   string
	file     string
	module   string
	plugin   string
	keys     string
	setup    render.Setup
	redis    renderRedis
	mesh     render.Mesh
	gateway  render.EnvoyGateways
}

// platforms are what --for may say.
var platforms = map[string]func(*renderFlags) (render.Output, error){
	"envoy":         func(f *renderFlags) (render.Output, error) { return render.Envoy(f.setup) },
	"istio":         func(f *renderFlags) (render.Output, error) { return render.Istio(f.setup, f.mesh) },
	"envoy-gateway": func(f *renderFlags) (render.Output, error) { return render.EnvoyGateway(f.setup, f.gateway) },
	"higress":       func(f *renderFlags) (render.Output, error) { return render.Higress(f.setup, f.mesh) },
}

// flagPlatforms are those flags that say nothing on other platforms.
var flagPlatforms = map[string][]string{
	"listen": {"envoy"}, "admin": {"envoy"}, "upstream": {"envoy"}, "jwt-issuer": {"envoy"}, "jwt-keys": {"envoy"},
	"module-sha256": {"istio", "envoy-gateway", "higress"},
	"namespace":     {"istio", "envoy-gateway", "higress"},
	"selector":      {"istio", "higress"},
	"plugin":        {"istio", "higress"},
	"sidecars":      {"istio"},
	"gateway":       {"envoy-gateway"}, "listener": {"envoy-gateway"},
}

func renderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Write what Envoy, Istio, Envoy Gateway or Higress needs for a policy and a Redis",
		Long: `Write all that a platform needs to hold a policy with the counts in a Redis. Neither of them is asked anything. For envoy it
is a whole bootstrap, which starts as it is; for the others, resources for kubectl apply. docs/platforms.md says what each
platform cannot do, and the way around it.

  routelimit render --for envoy --redis redis://10.0.0.7:6379 --policy docs/examples/policy.json --upstream 127.0.0.1:8080 --output front.yaml
  routelimit render --for envoy --redis rediss://routelimit@redis-1.example:6379,redis-2.example:6379 --redis-cluster
  routelimit render --for istio --redis rediss://routelimit@redis.shop:6379 --module oci://registry.example/routelimit:1.0 | kubectl apply -f -

No password is ever written: the output says where Envoy finds it. What is left to do is printed, and stands on top of the output.

Exit code 0: it was written. 1: the policy has errors, as lint says them. 2: the command line or a file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.platform, "for", "", "the platform: "+platformNames())
	flags.StringVar(&f.policy, "policy", "envoy.yaml", "a policy, or an Envoy configuration with one, of which the policy alone is taken")
	flags.StringVarP(&f.file, "output", "o", "-", "the file to write; - is standard output")
	f.redis.add(cmd)
	flags.StringVar(&f.module, "module", "", "the module: for envoy a file, by its whole path or from where Envoy is started (build/routelimit.wasm);\nfor the others an image (oci://registry/name:version), or a file's address (https://…) but for envoy-gateway")
	flags.StringVar(&f.setup.Module.SHA256, "module-sha256", "", "the SHA-256 of the image, or of the module behind https://")
	flags.StringVar(&f.setup.Listen, "listen", "0.0.0.0:10000", "envoy: where clients come in")
	flags.StringVar(&f.setup.Admin, "admin", "127.0.0.1:9901", "envoy: its admin page, which can stop it: never a public address")
	flags.StringVar(&f.setup.Upstream, "upstream", "127.0.0.1:8080", "envoy: what is protected, host:port or the path of a unix socket")
	flags.StringVar(&f.setup.Tokens.Issuer, "jwt-issuer", "", "envoy: the issuer of tokens, where the policy reads their claims")
	flags.StringVar(&f.keys, "jwt-keys", "", "envoy: a file with the issuer's keys, a JSON Web Key Set")
	flags.StringVar(&f.mesh.Namespace, "namespace", "", "of the resources (istio-ingress, default, higress-system)")
	flags.StringToStringVar(&f.mesh.Selector, "selector", nil, "istio, higress: the labels of the proxies (istio=ingressgateway, app=higress-gateway)")
	flags.BoolVar(&f.mesh.Sidecars, "sidecars", false, "istio: the proxies are sidecars, and what comes in is limited")
	flags.StringVar(&f.plugin, "plugin", "auto", "istio, higress: wasmplugin where the policy reads no body (auto), or envoyfilter")
	flags.StringVar(&f.gateway.Gateway, "gateway", "eg", "envoy-gateway: the name of the Gateway")
	flags.StringSliceVar(&f.gateway.Listeners, "listener", []string{"http"}, "envoy-gateway: the names of its listeners")
	return cmd
}

func platformNames() string {
	return strings.Join([]string{"envoy", "istio", "envoy-gateway", "higress"}, ", ")
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
		return render.Output{}, usage(fmt.Errorf("--for %q is unknown; write one of %s", f.platform, platformNames()))
	}
	err := f.checkFlags(cmd)
	if err != nil {
		return render.Output{}, usage(err)
	}
	if f.setup.Redis, err = f.redis.read(f.platform != "envoy"); err != nil {
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

// checkFlags refuses flags that would do nothing on the platform, and gives the others to whom they are for.
func (f *renderFlags) checkFlags(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if only := flagPlatforms[flag.Name]; only != nil && !slices.Contains(only, f.platform) && wrong == nil {
			wrong = fmt.Errorf("--%s is for %s alone; leave it away, or correct --for", flag.Name, strings.Join(only, " and "))
		}
	})
	if f.plugin != "auto" && f.plugin != "envoyfilter" {
		return fmt.Errorf("--plugin %q is unknown; write auto or envoyfilter", f.plugin)
	}
	f.mesh.Patch = f.plugin == "envoyfilter"
	f.gateway.Namespace = f.mesh.Namespace
	if f.platform == "envoy" {
		f.setup.Module.File = f.module
	} else {
		f.setup.Module.URL = f.module
	}
	return wrong
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
