package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	"routelimit/live"
	"routelimit/policy"
	"routelimit/servers"
)

// stage is everything that one run has going.
type stage struct {
	flags    *runFlags
	progress io.Writer

	policy *policy.Policy
	raw    string            // the policy as the module reads it
	env    map[string]string // the variables that it names
	config *bootstrap.Config
	bare   bool   // it was made around a policy by itself
	token  string // of a demo user; "" if nobody issues one

	envoyBinary, redisBinary string
	moduleFile               string // written for this run; ""

	given    *givenRedis // or
	redis    *servers.Redis
	client   redis.UniversalClient // of either
	upstream *servers.Upstream     // nil: given
	engine   engine
	public   string // host:port where a client on this machine reaches it
	admin    string // URL of Envoy's admin page; "": there is no Envoy
	page     *live.Page
	warnings []string
}

// start does everything that can fail, the cheap checks first.
func (s *stage) start(ctx context.Context) error {
	for _, step := range s.steps() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) steps() []func(context.Context) error {
	ports := func(context.Context) error { return s.flags.checkPorts() }
	if s.flags.engine == withWazero {
		return []func(context.Context) error{
			s.readConfig, ports, s.findServers, s.startRedis, s.tryRedis, s.startUpstream, s.tryUpstream, s.startWazero, s.startPage,
		}
	}
	return []func(context.Context) error{
		s.readConfig, s.findModule, ports, s.findServers, s.startRedis, s.pointAtRedis, s.tryRedis, s.startUpstream, s.tryUpstream,
		s.addToken, s.startEnvoy, s.startPage,
	}
}

// stop ends what was started, in the order of the requests' way.
func (s *stage) stop() {
	if s.page != nil {
		s.page.Stop()
	}
	if s.engine != nil {
		s.engine.Stop()
	}
	if s.upstream != nil {
		s.upstream.Stop()
	}
	if s.client != nil {
		s.client.Close()
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	if s.moduleFile != "" {
		os.Remove(s.moduleFile)
	}
}

// findServers fetches what is missing, before anything is started.
func (s *stage) findServers(ctx context.Context) (err error) {
	box := servers.NewToolbox(s.progress)
	box.GivenEnvoy = s.flags.envoy
	if s.flags.engine == withEnvoy {
		s.envoyBinary, err = box.Envoy(ctx, "")
		switch {
		case err != nil && s.flags.envoy != "":
			return usage(err)
		case err != nil:
			return err
		}
	}
	if s.flags.redis.url == "" {
		s.redisBinary, err = box.Redis(ctx, "")
	}
	return err
}

func (s *stage) startRedis(ctx context.Context) (err error) {
	if s.flags.redis.url != "" {
		if s.given, err = s.flags.redis.find(ctx); err != nil {
			return err
		}
		s.client = s.given.client()
		s.warnings = append(s.warnings, s.given.warnings...)
		return nil
	}
	if s.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: s.redisBinary}); err != nil {
		return err
	}
	s.client = s.own().client()
	return nil
}

// own is the Redis that was started, as if it were given.
func (s *stage) own() *givenRedis {
	return &givenRedis{network: s.redis.Network(), addr: s.redis.Addr()}
}

// pointAtRedis makes Envoy use it.
func (s *stage) pointAtRedis(context.Context) error {
	redis := s.given
	if redis == nil {
		redis = s.own()
	}
	if err := redis.use(s.config); err != nil {
		return usage(err)
	}
	return nil
}

// tryRedis has it decide once.
func (s *stage) tryRedis(ctx context.Context) error {
	return tryDecision(ctx, s.client, s.policy.Redis.KeyPrefix)
}

func (s *stage) startUpstream(context.Context) (err error) {
	if s.flags.upstream == "" {
		if s.upstream, err = startDemo(""); err != nil {
			return err
		}
	}
	if err := s.config.SetUpstream(s.upstreamAddr()); err != nil {
		return usage(err)
	}
	return nil
}

func (s *stage) upstreamAddr() string {
	if s.upstream != nil {
		return s.upstream.Addr()
	}
	return s.flags.upstream
}

// upstreamPatience is how long a given upstream may take to take a connection.
const upstreamPatience = 2 * time.Second

// tryUpstream warns of one that is not there. It may come later.
func (s *stage) tryUpstream(ctx context.Context) error {
	if s.upstream != nil {
		return nil
	}
	network, addr := "tcp", s.flags.upstream
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	dialer := net.Dialer{Timeout: upstreamPatience}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("the upstream does not answer: %v; whatever passes its limits gets 503 until it does: start it, or correct --upstream", err))
		return ctx.Err()
	}
	return conn.Close()
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

func (s *stage) startPage(ctx context.Context) (err error) {
	if s.flags.noPage {
		return nil
	}
	s.page, err = live.Start(ctx, live.Options{
		Source: s.engine, Policy: s.policy, Redis: s.client, LogFile: s.engine.LogFile(), Facts: s.facts(), Warnings: s.warnings,
		Port: s.flags.pagePort,
	})
	return err
}

// tail is the last lines of a log.
func tail(log string, lines int) string {
	all := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
