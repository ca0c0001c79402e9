package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"routelimit/servers"
)

// dockerfile is the Dockerfile as BuildKit reads it, without a warning of its linter.
func dockerfile(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	warn := func(rule, description, _, text string, _ []parser.Range) {
		t.Errorf("%s: %s (%s)", rule, text, description)
	}
	stages, _, err := instructions.Parse(read.AST, linter.New(&linter.Config{Warn: warn}))
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// dockerfileUsers are the stages by name, and as whom their containers run.
func dockerfileUsers(t *testing.T) map[string]string {
	t.Helper()
	users := map[string]string{}
	for _, s := range dockerfile(t) {
		users[s.Name] = ""
		for _, c := range s.Commands {
			if u, ok := c.(*instructions.UserCommand); ok {
				users[s.Name] = u.User
			}
		}
	}
	return users
}

func TestDockerfileBuildsByTheMakefile(t *testing.T) {
	var runs []string
	for _, s := range dockerfile(t) {
		if s.BaseName != "scratch" && !pinned(s.BaseName) && !strings.HasPrefix(s.BaseName, "gcr.io/distroless/static-debian12:") {
			t.Errorf("stage %s: image %s names no version", s.Name, s.BaseName)
		}
		for _, c := range s.Commands {
			if run, ok := c.(*instructions.RunCommand); ok {
				runs = append(runs, strings.Join(run.CmdLine, " "))
			}
		}
	}
	if diff := cmp.Diff([]string{"go mod download", "make build"}, runs); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if out, err := exec.Command("make", "-C", root, "-n", "build").CombinedOutput(); err != nil {
		t.Errorf("make build: %v\n%s", err, out)
	}
}

// TestDockerfileFindsWhatItCopies looks for each file, from the project's folder less what .dockerignore leaves out, or
// from the stage that builds it.
func TestDockerfileFindsWhatItCopies(t *testing.T) {
	file, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	built := []string{"/src/build/routelimit.wasm", "/src/build/routelimit"}
	copies := 0
	for _, s := range dockerfile(t) {
		for _, c := range s.Commands {
			copied, ok := c.(*instructions.CopyCommand)
			if !ok {
				continue
			}
			for _, source := range copied.SourcePaths {
				copies++
				if copied.From != "" {
					if copied.From != "build" || !strings.Contains(strings.Join(built, " ")+" ", source+" ") {
						t.Errorf("stage %s copies %s from %s", s.Name, source, copied.From)
					}
					continue
				}
				left, err := ignored.MatchesOrParentMatches(source)
				if _, missing := os.Stat(filepath.Join(root, source)); err != nil || left || missing != nil {
					t.Errorf("stage %s copies %s: left out %v, %v, %v", s.Name, source, left, err, missing)
				}
			}
		}
	}
	if copies < 8 {
		t.Errorf("%d files are copied", copies)
	}
	for _, secret := range []string{".git/config", ".tools/x", "build/routelimit"} {
		if left, err := ignored.MatchesOrParentMatches(secret); err != nil || !left {
			t.Errorf("%s goes into the build: %v", secret, err)
		}
	}
	if left, err := ignored.MatchesOrParentMatches("module/built/.gitignore"); err != nil || left {
		t.Errorf("what Go embeds is left out: %v", err)
	}
}

// TestTheEnvoyOfTheImageIsOneThatIsTested compares its version with the one that the tests run.
func TestTheEnvoyOfTheImageIsOneThatIsTested(t *testing.T) {
	for _, s := range dockerfile(t) {
		if s.Name == "envoy" && s.BaseName != "envoyproxy/envoy:distroless-v"+servers.EnvoyVersion {
			t.Errorf("the image is of %s, the tests are of %s", s.BaseName, servers.EnvoyVersion)
		}
	}
}
