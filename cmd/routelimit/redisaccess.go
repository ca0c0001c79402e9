package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
)

// redisAccess is how a command line says which Redis to ask.
type redisAccess struct{ url, authority string }

// passwordEnv holds the password where the URL has none, as for redis-cli.
const passwordEnv = "REDISCLI_AUTH"

func (a *redisAccess) add(cmd *cobra.Command, about string) {
	flags := cmd.Flags()
	flags.StringVar(&a.url, "redis", "", about+", one node or any of a Cluster:\nredis://user:password@host:port, rediss:// for TLS, or unix:///path;\nthe password may be in "+passwordEnv)
	flags.StringVar(&a.authority, "redis-ca", "", "a file with the certificate authority of a rediss:// Redis, in PEM; else the system's hold")
}

// require takes the URL from the environment where no flag gives it.
func (a *redisAccess) require() error {
	if a.url == "" {
		a.url = os.Getenv("REDIS_URL")
	}
	if a.url == "" {
		return errors.New("no Redis is given; write --redis redis://host:port, or set REDIS_URL")
	}
	return nil
}

// find asks the Redis what it is.
func (a *redisAccess) find(ctx context.Context) (*givenRedis, error) {
	options, err := readRedisURL(a.url)
	if err != nil {
		return nil, usage(err)
	}
	if options.Password == "" {
		options.Password = os.Getenv(passwordEnv)
	}
	if a.authority == "" {
		return askRedis(ctx, options)
	}
	if options.TLSConfig == nil {
		return nil, usage(errors.New("--redis-ca is given and the URL asks for no TLS; write rediss://, or leave --redis-ca away"))
	}
	if options.TLSConfig.RootCAs, err = readAuthority(a.authority); err != nil {
		return nil, usage(err)
	}
	found, err := askRedis(ctx, options)
	if err == nil {
		found.authority = a.authority
	}
	return found, err
}
