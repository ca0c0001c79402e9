package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func (o Options) programs(ctx context.Context) error {
	for _, t := range o.Targets {
		out, err := filepath.Abs(filepath.Join(o.Out, t.program()))
		if err != nil {
			return err
		}
		// Nothing of this machine: no paths, no build id, no state of a repository.
		_, err = o.goes(ctx, []string{"GOOS=" + t.OS, "GOARCH=" + t.Arch, "CGO_ENABLED=0"}, "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -buildid= -X main.released="+o.Version, "-o", out, "./cmd/routelimit")
		if err != nil {
			return err
		}
	}
	return nil
}

func (t Target) program() string { return "routelimit-" + t.OS + "-" + t.Arch }

// goes runs the go command in the project's folder and returns its output.
func (o Options) goes(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = o.Root
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s, %s: %w\n%s", args[0], strings.Join(env, " "), err, said.String())
	}
	return string(out), nil
}
