package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command says what to run and where its output goes.
type command struct {
	name   string // for messages: "envoy", "redis"
	binary string
	args   []string
	env    []string // added to this program's environment
	log    string   // file that gets stdout and stderr

	workDir string // "": this program's
}

// process is a child that ends with Stop or with this program.
type process struct {
	command
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and was waited for
	exit error         // how it ended; read only after done
}

// starts carries commands to the one thread that starts all children.
//
// Linux ends a child when the *thread* that forked it ends, not the program, and Go's threads come and go. So one
// goroutine that never returns holds one thread for all of them.
var starts = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// spawn runs a command. The error names the binary and what to do.
func spawn(c command) (*process, error) {
	out, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("cannot write the log of %s: %w; choose another directory", c.name, err)
	}
	defer out.Close()
	cmd := exec.Command(c.binary, c.args...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.env...), c.workDir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()

	started := make(chan error)
	starts() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot run %s: %w; check that %s is a program for this machine", c.name, err, c.binary)
	}
	p := &process{command: c, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.exit = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the child's process id.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended, for whatever reason.
func (p *process) Done() <-chan struct{} { return p.done }

// Log is everything that the child wrote so far.
func (p *process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// LogFile is the file that holds the child's output. Stop removes it, if the directory was not given by the caller.
func (p *process) LogFile() string { return p.log }

// Kill ends the child at once, as a crash would, and whatever the child started. Its files stay.
func (p *process) Kill() {
	select {
	case <-p.done: // its process id may be another's by now
	default:
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // fails only for a child that ends just now
		<-p.done
	}
}

// Pause freezes the child until Resume: its connections stay open and nothing is answered.
func (p *process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused child go on.
func (p *process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// end asks the child to stop and kills it if it is still there after grace.
func (p *process) end(grace time.Duration) {
	if grace > 0 {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.Resume() // a frozen child would never see it
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	p.Kill()
}

var errEnded = errors.New("it ended")

// waitUntil polls check until it is nil. It gives up when the child ends or ctx does, with the last thing check said.
func (p *process) waitUntil(ctx context.Context, check func(context.Context) error) error {
	return poll(ctx, p.done, check)
}

// poll calls check every few milliseconds until it is nil, ctx ends or ended is closed.
func poll(ctx context.Context, ended <-chan struct{}, check func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// within bounds a wait for which the caller set no deadline of its own.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// lastLine is the last line of a log that holds one of the words, or its last line at all.
func lastLine(log string, words ...string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		for _, word := range words {
			if strings.Contains(lines[i], word) {
				return strings.TrimSpace(lines[i])
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
