package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	"routelimit/resp"
	"routelimit/servers"
)

// givenRedis is a Redis that somebody else runs.
type givenRedis struct {
	network, addr  string // tcp and host:port, or unix and a socket's path
	user, password string
	tls            *tls.Config // nil: none
	authority      string      // the file that tls was made of; "": the system's authorities
	cluster        bool
	warnings       []string // about settings that are not fit
}

// redisPatience is how long a given Redis may take to answer.
const redisPatience = 2 * time.Second

// askRedis asks a Redis what it is. The error says what to do if it does not answer or cannot be used.
func askRedis(ctx context.Context, options *redis.Options) (*givenRedis, error) {
	client := redis.NewClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	info, err := client.Info(ctx, "cluster", "memory").Result()
	if err != nil && strings.Contains(err.Error(), "syntax error") { // before Redis 7, INFO takes one section
		info, err = client.Info(ctx).Result()
	}
	if err != nil && isAuth(err) {
		scheme := map[string]string{"tcp": "redis", "unix": "unix"}[options.Network]
		if options.TLSConfig != nil {
			scheme = "rediss"
		}
		return nil, fmt.Errorf("redis at %s wants another user or password: %w; write %s://USER:PASSWORD@%s, without USER for the default one",
			options.Addr, err, scheme, options.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("redis at %s does not answer: %w; %s", options.Addr, err, cureOfSilence(err))
	}
	found := &givenRedis{network: options.Network, addr: options.Addr, user: options.Username, password: options.Password, tls: options.TLSConfig}
	found.cluster = strings.Contains(info, "cluster_enabled:1")
	found.warnings = found.unfit(ctx, info)
	return found, nil
}

// cureOfSilence is what to do about a Redis that cannot be talked to.
func cureOfSilence(err error) string {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return "give the authority of its certificate with --redis-ca"
	}
	return "start it, or correct --redis or REDIS_URL"
}

func isAuth(err error) bool { return resp.ClassifyError([]byte(err.Error())) == resp.Auth }

// readRedisURL reads redis://user:password@host:port, rediss:// for TLS, unix:///path or host:port.
func readRedisURL(url string) (*redis.Options, error) {
	if !strings.Contains(url, "://") {
		url = "redis://" + url
	}
	parsed, err := redis.ParseURL(url)
	if err != nil {
		// The parser's error would repeat the password.
		return nil, errors.New("the address of Redis cannot be read; write redis://user:password@host:port, unix:///path or host:port")
	}
	if parsed.DB != 0 {
		return nil, fmt.Errorf("the address of Redis names database %d, but Envoy's redis_proxy uses 0 always; take it off", parsed.DB)
	}
	options := servers.ClientOptions(parsed.Network, parsed.Addr)
	options.Username, options.Password, options.ContextTimeoutEnabled = parsed.Username, parsed.Password, true
	options.TLSConfig = parsed.TLSConfig
	return options, nil
}

// use points a configuration at this Redis, whatever it said before about another one.
func (r *givenRedis) use(c *bootstrap.Config) error {
	set := func() error { return c.SetRedis(r.addr) }
	if r.cluster {
		set = func() error { return c.SetRedisCluster(r.addr) }
	}
	if err := set(); err != nil {
		return err
	}
	host, authority := "", ""
	if r.tls != nil {
		var err error
		if authority, err = authorityFile(r.authority); err != nil {
			return err
		}
		host = r.tls.ServerName
	}
	if err := c.SetRedisTLS(host, authority); err != nil {
		return err
	}
	return c.SetRedisAuth(r.user, r.password)
}

// describe is the line that a person sees.
func (r *givenRedis) describe() string {
	if r.cluster {
		return r.addr + "  (given, a Redis Cluster)"
	}
	return r.addr + "  (given)"
}
