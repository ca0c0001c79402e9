package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"routelimit/bootstrap"
	hosttest "routelimit/host-test"
	"routelimit/module"
	"routelimit/policy"
	"routelimit/policytest"
)

// testFlags are what test was asked for.
type testFlags struct {
	wasm, junit, output string
	redis               redisAccess
	verbose             bool
}

func testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of a policy: requests at given times, and what each must get",
		Long: `Run files of tests for a policy. Each test says in YAML what is sent, when and by whom, and what must come of it. It is played
through the module that runs in Envoy, under a clock of its own, so that hours pass in milliseconds. Nothing has to run: what is
counted stays in memory, unless --redis gives a Redis, whose keys are this run's own and are removed after each test.

  policy: policy.json
  tests:
    - name: ten logins, then none for five minutes
      steps:
        - {send: 10 x POST /login, from: 203.0.113.7, json: {username: alice}, upstream: 401, expect: 401}
        - {send: POST /login, from: 203.0.113.7, json: {username: alice}, expect: {status: 429, retry_after: 300}}

  routelimit test docs/examples/readme.test.yaml --junit report.xml

docs/testing-policies.md describes the fields. Exit code 0: every test passed. 1: one failed, or its policy is wrong.
2: the command line or a file cannot be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.wasm, "wasm", "", "a routelimit.wasm to be tested, in the place of the one in this program")
	f.redis.add(cmd, "URL of a Redis that counts, in the place of memory")
	flags.StringVar(&f.junit, "junit", "", "a file for a report as JUnit XML")
	flags.StringVar(&f.output, "output", "text", "text, or json for programs")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "name the tests that pass, too")
	return cmd
}

func (f *testFlags) run(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	if f.output != "text" && f.output != "json" {
		return usage(fmt.Errorf("--output %q is unknown; write text or json", f.output))
	}
	files, err := readTests(names)
	if err != nil {
		return usage(err)
	}
	wasm, err := module.Read(f.wasm)
	if err != nil {
		return usage(err)
	}
	options := policytest.Options{Store: new(policytest.Embedded)}
	if options.Module, err = compileModule(ctx, wasm); err != nil {
		return usage(err)
	}
	defer options.Module.Close(context.WithoutCancel(ctx))
	if f.redis.url != "" {
		store, err := openTestStore(ctx, &f.redis)
		if err != nil {
			return findings(err)
		}
		defer store.close()
		options.Store, options.KeyPrefix = store, store.prefix
	}
	var results []policytest.Named
	for _, file := range files {
		result, err := file.play(ctx, options)
		if err != nil {
			return err
		}
		results = append(results, policytest.Named{File: file.name, Result: result})
	}
	return f.report(cmd, results)
}

// compileModule keeps what it compiled for the next run, where there is a place.
func compileModule(ctx context.Context, wasm []byte) (*hosttest.Module, error) {
	directory, err := os.UserCacheDir()
	if err != nil {
		return hosttest.Compile(ctx, wasm)
	}
	return hosttest.CompileIn(ctx, wasm, filepath.Join(directory, "routelimit"))
}

// testFile is a file of tests that was read.
type testFile struct {
	name string
	*policytest.File
}

// readTests reads all files before one is played. The error has a line for each problem.
func readTests(names []string) ([]testFile, error) {
	var files []testFile
	var wrong []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%w; give the name of a file of tests", err)
		}
		file, err := policytest.Read(text)
		var problems policytest.Problems
		if errors.As(err, &problems) {
			wrong = append(wrong, problemLines(name, problems)...)
			continue
		}
		files = append(files, testFile{name, file})
	}
	if len(wrong) > 0 {
		return nil, errors.New("the tests cannot be read:\n" + strings.Join(wrong, "\n"))
	}
	return files, nil
}

func problemLines(name string, problems policytest.Problems) []string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", name, p.Line, p.Column, p.Text)
	}
	return lines
}

func (t *testFile) play(ctx context.Context, o policytest.Options) (*policytest.Result, error) {
	raw, where := t.Policy, t.name
	if t.PolicyFile != "" {
		where = t.PolicyFile
		if !filepath.IsAbs(where) {
			where = filepath.Join(filepath.Dir(t.name), where)
		}
		var err error
		if raw, o.Front, err = policyOf(where); err != nil {
			return nil, usage(fmt.Errorf("%s: policy: %w", t.name, err))
		}
	}
	result, err := policytest.Run(ctx, t.File, raw, o)
	var wrong policy.Errors
	var problems policytest.Problems
	switch {
	case errors.As(err, &problems):
		return nil, usage(errors.New("the tests do not fit the policy in " + where + ":\n" + strings.Join(problemLines(t.name, problems), "\n")))
	case errors.As(err, &wrong):
		return nil, &failure{exitFindings, fmt.Errorf("the policy in %s is wrong; correct it:\n%w", where, err)}
	case err != nil:
		return nil, &failure{exitFindings, fmt.Errorf("%s: %w", t.name, err)}
	}
	return result, nil
}

// policyOf reads a policy and what Envoy does before it.
func policyOf(name string) ([]byte, *bootstrap.Front, error) {
	file, err := readFile(name, nil)
	if err != nil {
		return nil, nil, err
	}
	raw, front, err := policyIn(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return raw, front, nil
}

func (f *testFlags) report(cmd *cobra.Command, results []policytest.Named) error {
	if f.junit != "" {
		var xml bytes.Buffer
		err := policytest.WriteJUnit(&xml, results, whyText)
		if err == nil {
			err = os.WriteFile(f.junit, xml.Bytes(), 0o644)
		}
		if err != nil {
			return usage(fmt.Errorf("cannot write --junit: %w; give a file that can be written", err))
		}
	}
	if f.output == "json" {
		writeJSON(cmd.OutOrStdout(), jsonTests(results))
	} else {
		printTests(cmd.OutOrStdout(), results, f.verbose)
	}
	for _, r := range results {
		if r.Failed > 0 {
			return &failure{code: exitFindings}
		}
	}
	return nil
}
