package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"routelimit/bootstrap"
	"routelimit/bootstrap/lint"
	"routelimit/policy"
	"routelimit/servers"
)

// stage is everything that one run has going.
type stage struct {
	flags    *runFlags
	progress io.Writer

	policy *policy.Policy
	config *bootstrap.Config
	token  string // of a demo user; "" if the configuration has an issuer of its own

	envoyBinary, redisBinary string

	given    *givenRedis // or
	redis    *servers.Redis
	upstream *servers.Upstream // nil: given
	envoy    *servers.Envoy
	public   string // host:port where a client on this machine reaches Envoy
}

// start does everything that can fail, the cheap checks first.
func (s *stage) start(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.readConfig, s.checkModule,
		func(context.Context) error { return s.flags.checkPorts() },
		s.findServers, s.startRedis, s.tryRedis, s.startUpstream, s.addToken, s.startEnvoy,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends what was started, in the order of the requests' way.
func (s *stage) stop() {
	if s.envoy != nil {
		s.envoy.Stop()
	}
	if s.upstream != nil {
		s.upstream.Stop()
	}
	if s.redis != nil {
		s.redis.Stop()
	}
}

// readConfig reads the Envoy configuration and refuses one whose policy has errors, with their places in the file.
func (s *stage) readConfig(context.Context) error {
	file, err := os.ReadFile(s.flags.config)
	if err != nil {
		return fmt.Errorf("cannot read the Envoy configuration: %w; run in the project's folder, or name a file with --config", err)
	}
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
	if s.config, err = bootstrap.Parse(file); err != nil {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	raw, err := s.config.Policy()
	if err != nil {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	s.policy, err = policy.Parse([]byte(raw), os.LookupEnv)
	return err // lint has read it
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

// findServers fetches what is missing, before anything is started.
func (s *stage) findServers(ctx context.Context) (err error) {
	box := servers.NewToolbox(s.progress)
	box.GivenEnvoy = s.flags.envoy
	if s.envoyBinary, err = box.Envoy(ctx, ""); err != nil {
		return err
	}
	if s.flags.redis == "" {
		s.redisBinary, err = box.Redis(ctx, "")
	}
	return err
}

func (s *stage) startRedis(ctx context.Context) (err error) {
	if s.flags.redis != "" {
		if s.given, err = findRedis(ctx, s.flags.redis); err != nil {
			return err
		}
		return s.given.use(s.config)
	}
	if s.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: s.redisBinary}); err != nil {
		return err
	}
	return s.config.SetRedis(s.redis.Addr())
}

// tryRedis has it decide once.
func (s *stage) tryRedis(ctx context.Context) error {
	prefix := s.policy.Redis.KeyPrefix
	if s.given == nil {
		return tryDecision(ctx, s.redis.Client(), prefix)
	}
	client := s.given.client()
	defer client.Close()
	return tryDecision(ctx, client, prefix)
}

func (s *stage) startUpstream(context.Context) (err error) {
	if s.flags.upstream != "" {
		return s.config.SetUpstream(s.flags.upstream)
	}
	if s.upstream, err = startDemo(""); err != nil {
		return err
	}
	return s.config.SetUpstream(s.upstream.Addr())
}

// addToken makes an issuer for the demo in place of the example key that nobody owns.
func (s *stage) addToken(context.Context) error {
	key, err := newIssuerKey()
	if err != nil {
		return err
	}
	keys, err := key.keySet()
	if err != nil {
		return err
	}
	if issuer, replaced := s.config.ReplacePlaceholderKeys(keys); replaced {
		s.token, err = key.token(issuer, "demo-user", time.Now())
	}
	return err
}

func (s *stage) startEnvoy(ctx context.Context) (err error) {
	if err := s.config.SetListener(bootstrap.PublicListener, s.flags.listen, s.flags.port); err != nil {
		return err
	}
	s.config.SetAdmin("127.0.0.1", s.flags.adminPort)
	fmt.Fprintln(s.progress, "starting Envoy, which compiles the module: a few seconds")
	s.envoy, err = servers.StartEnvoy(ctx, servers.EnvoyOptions{
		Binary: s.envoyBinary, Config: s.config.Bytes(), Concurrency: s.flags.concurrency,
	})
	var refused *servers.EnvoyConfigError
	if errors.As(err, &refused) {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	if err != nil {
		return err
	}
	s.public, err = s.envoy.Address(ctx, bootstrap.PublicListener)
	return err
}

// tail is the last lines of a log.
func tail(log string, lines int) string {
	all := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
