package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"routelimit/bridge"
)

// storeFlags say which Redis the bridge asks.
type storeFlags struct {
	urls             []string
	cluster          bool
	sentinel         string
	sentinelUser     string
	sentinelPassword string // a file
	password         string // a file
	authority        string
	certificate, key string
	serverName       string
	pool             int
}

func (f *storeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.urls, "redis", nil, "URL of the Redis that counts, or REDIS_URL: redis://user@host:port/database, rediss:// for TLS,\nunix:///path; of a Cluster or of Sentinels several, with commas between")
	flags.BoolVar(&f.cluster, "cluster", false, "the URLs name nodes of a Redis Cluster")
	flags.StringVar(&f.sentinel, "sentinel", "", "the URLs name Sentinels, which know the primary by this name")
	flags.StringVar(&f.sentinelUser, "sentinel-user", "", "a user of the Sentinels themselves")
	flags.StringVar(&f.sentinelPassword, "sentinel-password-file", "", "a file with the Sentinels' own password")
	flags.StringVar(&f.password, "redis-password-file", "", "a file with the password, read anew for each connection; else "+passwordEnv+" holds it, or the URL")
	flags.StringVar(&f.authority, "redis-ca", "", "a file with the certificate authority of a rediss:// Redis, in PEM; else the system's hold")
	flags.StringVar(&f.certificate, "redis-cert", "", "a file with a client certificate for Redis, in PEM")
	flags.StringVar(&f.key, "redis-key", "", "a file with its key")
	flags.StringVar(&f.serverName, "redis-server-name", "", "the name that Redis' certificates have to have, if it is not that of the address")
	flags.IntVar(&f.pool, "pool", 64, "connections to each server of Redis")
}

// read reads the flags, and the files that they name.
func (f *storeFlags) read() (bridge.Store, error) {
	s := bridge.Store{Cluster: f.cluster, Primary: f.sentinel, SentinelUser: f.sentinelUser, PoolSize: f.pool}
	if len(f.urls) == 0 {
		f.urls = strings.FieldsFunc(os.Getenv("REDIS_URL"), func(r rune) bool { return r == ',' })
	}
	switch {
	case len(f.urls) == 0:
		return s, errors.New("no Redis is given; write --redis redis://host:port, or set REDIS_URL")
	case f.cluster && f.sentinel != "":
		return s, errors.New("--cluster and --sentinel are both given; a Redis Cluster needs no Sentinels")
	case !f.cluster && f.sentinel == "" && len(f.urls) > 1:
		return s, errors.New("several addresses are given for one Redis; add --cluster or --sentinel NAME, or leave one address")
	case f.pool < 1 || f.pool > 100_000:
		return s, fmt.Errorf("--pool %d is out of range; write 1 to 100000", f.pool)
	}
	var first *redis.Options
	for _, url := range f.urls {
		o, err := readStoreURL(url)
		if err != nil {
			return s, err
		}
		if first == nil {
			first = o
		} else if (o.TLSConfig == nil) != (first.TLSConfig == nil) || o.Network != first.Network {
			return s, errors.New("the addresses of Redis are of different kinds; write redis:// or rediss:// for all of them")
		}
		s.Addrs = append(s.Addrs, o.Addr)
	}
	if f.cluster && first.DB != 0 {
		return s, fmt.Errorf("the address of Redis names database %d, but a Redis Cluster has no other than 0; take it off", first.DB)
	}
	s.Network, s.User, s.Database = first.Network, first.Username, first.DB
	var err error
	if s.Password, err = f.readPassword(first.Password); err != nil {
		return s, err
	}
	if f.sentinelPassword != "" {
		if s.SentinelPassword, err = readSecret(f.sentinelPassword); err != nil {
			return s, err
		}
	}
	s.TLS, err = f.tls(first.TLSConfig)
	return s, err
}

// readStoreURL reads one address. What is wrong with it is not repeated: it may hold a password.
func readStoreURL(url string) (*redis.Options, error) {
	if !strings.Contains(url, "://") {
		url = "redis://" + url
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("an address of Redis cannot be read; write redis://user@host:port, rediss:// or unix:///path")
	}
	return o, nil
}

// readPassword says where the password comes from: a file that may change, the environment, or the URL.
func (f *storeFlags) readPassword(inURL string) (func() (string, error), error) {
	if f.password != "" {
		_, err := readSecret(f.password)
		return func() (string, error) { return readSecret(f.password) }, err
	}
	password := inURL
	if password == "" {
		password = os.Getenv(passwordEnv)
	}
	return func() (string, error) { return password, nil }, nil
}

// readSecret reads a file with a secret in its only line.
func readSecret(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w; give a file with the password and nothing else", err)
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 || bytes.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("%s holds no password in a single line; write one", file)
	}
	return string(text), nil
}

// tls is how Redis is spoken to; nil in plain text. Each server is verified by the name of its own address, unless
// --redis-server-name says another.
func (f *storeFlags) tls(config *tls.Config) (*tls.Config, error) {
	if config == nil {
		if f.authority != "" || f.certificate != "" || f.key != "" || f.serverName != "" {
			return nil, errors.New("--redis-ca, --redis-cert, --redis-key or --redis-server-name is given and the URL asks for no TLS; write rediss://, or leave it away")
		}
		return nil, nil
	}
	config.ServerName = f.serverName
	if f.authority != "" {
		pool, err := readAuthority(f.authority)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if f.certificate == "" && f.key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return nil, fmt.Errorf("--redis-cert and --redis-key: %w; give both, in PEM", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// readAuthority reads certificates that are trusted.
func readAuthority(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; give a file with certificates in PEM", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate; give a file with certificates in PEM", file)
	}
	return pool, nil
}
