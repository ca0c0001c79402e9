package servers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"routelimit/bootstrap"
)

// EnvoyOptions says how to run one Envoy.
type EnvoyOptions struct {
	Binary      string   // see Toolbox.Envoy
	Config      []byte   // YAML or JSON. Port 0 anywhere in it is fine; ask Address for what became of it
	Concurrency int      // workers; 0: 1
	LogLevel    string   // "": warning
	Args        []string // added to the command line
	Env         []string // added to the environment, for example a hash key
	WorkDir     string   // what relative file names in Config start from; "": this program's
	Dir         string   // where its log and configuration go; "": a temporary one, removed by Stop
}

// Envoy is a running Envoy.
type Envoy struct {
	*process
	dir    directory
	admin  string // http://host:port
	client *http.Client
}

// envoyStartTime bounds the wait for /ready if the caller's context does not: a module is compiled on the way,
// which takes three seconds of a processor for each role, and most of a minute where twenty others want it.
const envoyStartTime = 3 * time.Minute

// envoyGrace is what Envoy gets to end by itself, with its access logs written.
const envoyGrace = 2 * time.Second

// StartEnvoy runs Envoy and returns when it is ready to serve. A port in the configuration that is taken is a
// *PortInUseError; a configuration that Envoy or the module refuses is an *EnvoyConfigError.
func StartEnvoy(ctx context.Context, o EnvoyOptions) (*Envoy, error) {
	if err := checkAddresses(o.Config); err != nil {
		return nil, err
	}
	dir, err := openDirectory(o.Dir, "envoy")
	if err != nil {
		return nil, err
	}
	e := &Envoy{dir: dir, client: &http.Client{Timeout: 10 * time.Second}}
	if err := e.prepare(o, "--admin-address-path", dir.file("admin")); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, envoyStartTime)
	defer cancel()
	if err := e.waitUntil(ctx, e.ready); err != nil {
		e.end(0)
		return nil, e.startError(err)
	}
	return e, nil
}

// checkAddresses refuses ports that are taken, also by another Envoy: with SO_REUSEPORT it would share them silently.
func checkAddresses(config []byte) error {
	c, err := bootstrap.Parse(config)
	if err != nil {
		return err
	}
	for _, a := range c.Addresses() {
		if a.Port == 0 {
			continue
		}
		if err := CheckPort(a.Host, a.Port); err != nil {
			return fmt.Errorf("envoy's listener %q: %w", a.Name, err)
		}
	}
	return nil
}

// prepare writes the configuration and starts the process; on failure nothing is left.
func (e *Envoy) prepare(o EnvoyOptions, mode ...string) error {
	file := e.dir.file("envoy.yaml")
	if err := os.WriteFile(file, o.Config, 0o600); err != nil {
		e.dir.remove()
		return fmt.Errorf("cannot write Envoy's configuration: %w; choose another directory", err)
	}
	level := o.LogLevel
	if level == "" {
		level = "warning"
	}
	// No hot restart: it would need a shared memory segment and a base id that no other Envoy uses.
	args := []string{
		"-c", file, "--disable-hot-restart", "--concurrency", strconv.Itoa(max(1, o.Concurrency)), "--log-level", level,
		"--component-log-level", "wasm:info", // refusals are logged at this level
	}
	p, err := spawn(command{
		name: "envoy", binary: o.Binary, args: slices.Concat(args, mode, o.Args),
		env: o.Env, workDir: o.WorkDir, log: e.dir.file("envoy.log"),
	})
	if err != nil {
		e.dir.remove()
		return err
	}
	e.process = p
	return nil
}

// ready learns the admin address from the file that Envoy writes, and asks it.
func (e *Envoy) ready(ctx context.Context) error {
	if e.admin == "" {
		addr, err := os.ReadFile(e.dir.file("admin"))
		if err != nil || len(addr) == 0 {
			return errors.New("envoy has not opened its admin page")
		}
		e.admin = "http://" + string(addr)
	}
	_, err := e.Get(ctx, "/ready")
	return err
}

// startError explains why Envoy did not come up, from its log.
func (e *Envoy) startError(err error) error {
	log := e.Log()
	if m := bindFailure.FindStringSubmatch(log); m != nil {
		e.dir.remove()
		port, _ := strconv.Atoi(m[2]) // the pattern matches digits
		return &PortInUseError{Host: m[1], Port: port}
	}
	if !errors.Is(err, errEnded) {
		return fmt.Errorf("envoy was not ready in time: %w; see its log %s", err, e.log)
	}
	return configError(log, e.log)
}

// Stop ends Envoy and removes what it left.
func (e *Envoy) Stop() {
	e.client.CloseIdleConnections()
	e.end(envoyGrace)
	e.dir.remove()
}

// AdminURL is http://host:port of the admin page.
func (e *Envoy) AdminURL() string { return e.admin }

// ValidateEnvoy lets Envoy judge a configuration without serving it. The error is an *EnvoyConfigError.
func ValidateEnvoy(ctx context.Context, o EnvoyOptions) error {
	dir, err := openDirectory(o.Dir, "envoy")
	if err != nil {
		return err
	}
	e := &Envoy{dir: dir}
	if err := e.prepare(o, "--mode", "validate"); err != nil {
		return err
	}
	ctx, cancel := within(ctx, envoyStartTime)
	defer cancel()
	select {
	case <-e.Done():
	case <-ctx.Done():
		e.end(0)
		return fmt.Errorf("envoy did not come to a verdict in time: %w; see its log %s", ctx.Err(), e.log)
	}
	if e.exit != nil {
		return configError(e.Log(), e.log)
	}
	dir.remove()
	return nil
}
