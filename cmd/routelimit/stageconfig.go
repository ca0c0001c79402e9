package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"routelimit/bootstrap"
	"routelimit/bootstrap/lint"
	"routelimit/policy"
	"routelimit/render"
)

// readConfig reads the Envoy configuration, or the policy by itself, and refuses one whose policy has errors, with their
// places in the file.
func (s *stage) readConfig(context.Context) error {
	file, err := os.ReadFile(s.flags.config)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w; run in the project's folder, or name a file with --config", err)
	}
	if err := s.check(file); err != nil {
		return err
	}
	if s.config, err = configOf(file); err != nil {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	if s.raw, err = s.config.Policy(); err != nil {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	s.env = map[string]string{}
	s.policy, err = policy.Parse([]byte(s.raw), func(name string) (string, bool) {
		value, set := os.LookupEnv(name)
		if set {
			s.env[name] = value
		}
		return value, set
	})
	return err // lint has read it
}

// check lints the file, and shows what is not meant for certain.
func (s *stage) check(file []byte) error {
	var key hashKey
	found, err := lint.File(file, lint.Options{Env: key.lookup})
	if err != nil {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	if key.wrong != nil {
		return fmt.Errorf("%s: %w", s.flags.config, key.wrong)
	}
	if errors, _ := count(found); errors > 0 {
		var list strings.Builder
		printText(&list, s.flags.config, found)
		return fmt.Errorf("the configuration has errors; correct them:\n%s", strings.TrimSpace(list.String()))
	}
	if len(found) > 0 {
		printText(s.progress, s.flags.config, found)
	}
	return nil
}

// configOf is the Envoy configuration that a file is, or one around the policy that it is.
func configOf(file []byte) (*bootstrap.Config, error) {
	raw, _, err := policyIn(file)
	if err != nil {
		return nil, err
	}
	if config, err := bootstrap.Parse(file); err == nil && len(config.Plugins()) > 0 {
		return config, nil
	}
	// The addresses are put in later, as into any other configuration.
	rendered, err := render.Bootstrap(render.Setup{Policy: raw, Redis: render.Redis{Nodes: []string{"127.0.0.1:6379"}}})
	if err != nil {
		return nil, err
	}
	text, err := render.YAML(rendered)
	if err != nil {
		return nil, err
	}
	return bootstrap.Parse(text)
}

// checkModule says how to get a module that is not there, before Envoy says it less clearly.
func (s *stage) checkModule(context.Context) error {
	for _, p := range s.config.Plugins() {
		if p.Module() == "" {
			continue // not a local file
		}
		if _, err := os.Stat(p.Module()); err != nil {
			return fmt.Errorf("the module cannot be read: %w; build it with: make wasm", err)
		}
	}
	return nil
}
