package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"routelimit/bootstrap"
	"routelimit/bootstrap/lint"
	"routelimit/module"
	"routelimit/policy"
	"routelimit/render"
)

// readConfig reads the Envoy configuration, or the policy by itself, and refuses one whose policy has errors, with their
// places in the file.
func (s *stage) readConfig(context.Context) error {
	file, err := os.ReadFile(s.flags.config)
	if err != nil {
		return usage(fmt.Errorf("cannot read the configuration: %w; run in the project's folder, or name a file with --config", err))
	}
	if err := s.check(file); err != nil {
		return err
	}
	if s.config, s.bare, err = configOf(file); err != nil {
		return usage(fmt.Errorf("%s: %w", s.flags.config, err))
	}
	if s.raw, err = s.config.Policy(); err != nil {
		return usage(fmt.Errorf("%s: %w", s.flags.config, err))
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
		return usage(fmt.Errorf("%s: %w", s.flags.config, err))
	}
	if key.wrong != nil {
		return usage(fmt.Errorf("%s: %w", s.flags.config, key.wrong))
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

// configOf is the Envoy configuration that a file is, or one around the policy that it is, and which of the two.
func configOf(file []byte) (config *bootstrap.Config, bare bool, err error) {
	raw, _, err := policyIn(file)
	if err != nil {
		return nil, false, err
	}
	if config, err := bootstrap.Parse(file); err == nil && len(config.Plugins()) > 0 {
		return config, false, nil
	}
	// The addresses are put in later, as into any other configuration.
	rendered, err := render.Bootstrap(render.Setup{Policy: raw, Redis: render.Redis{Nodes: []string{"127.0.0.1:6379"}}})
	if err != nil {
		return nil, true, err
	}
	text, err := render.YAML(rendered)
	if err != nil {
		return nil, true, err
	}
	config, err = bootstrap.Parse(text)
	return config, true, err
}

// findModule makes Envoy load a module that is there: the one of --wasm, else those that the configuration names, and in the
// place of one that is absent the one that this program holds. A policy by itself names none.
func (s *stage) findModule(context.Context) error {
	wanted := s.config.Plugins()
	if s.flags.wasm == "" && !s.bare {
		wanted = slices.DeleteFunc(wanted, func(p bootstrap.Plugin) bool {
			_, err := os.Stat(p.Module())
			return p.Module() == "" || !errors.Is(err, fs.ErrNotExist) // no local file, or for Envoy to judge
		})
		for _, p := range wanted {
			fmt.Fprintf(s.progress, "there is no module at %s, which %s names for %s: the one in this program is used\n", p.Module(), s.flags.config, p.VMID())
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	wasm, err := s.readModule()
	if err != nil {
		return err
	}
	if err := s.writeModule(wasm); err != nil {
		return fmt.Errorf("cannot write the module for Envoy: %w; set TMPDIR to a folder that can be written", err)
	}
	for _, p := range wanted {
		p.SetModule(s.moduleFile)
	}
	return nil
}

// readModule reads the module of --wasm, or the one that this program holds.
func (s *stage) readModule() ([]byte, error) {
	wasm, err := module.Read(s.flags.wasm)
	if err != nil && s.flags.wasm != "" {
		return nil, usage(err)
	}
	return wasm, err
}

// writeModule makes a file of the module, which stop removes.
func (s *stage) writeModule(wasm []byte) error {
	file, err := os.CreateTemp("", "routelimit-*.wasm")
	if err != nil {
		return err
	}
	s.moduleFile = file.Name()
	_, err = file.Write(wasm)
	return errors.Join(err, file.Close())
}
