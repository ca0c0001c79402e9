package bridge

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Store says which Redis is asked, and how it is entered.
type Store struct {
	Network string   // tcp or unix
	Addrs   []string // host:port, or a socket's path; of a Cluster some nodes, of Sentinels some of them
	Cluster bool
	Primary string // the name under which Sentinels know it; "": these are no Sentinels

	User     string
	Password func() (string, error) // asked for each connection, so that it can change
	Database int                    // not of a Cluster
	TLS      *tls.Config            // nil: none
	PoolSize int                    // connections to each server

	SentinelUser     string
	SentinelPassword string
}

// What does not depend on what one reply may take: opening connections goes on after a question has been given up, so
// that the next one finds them.
const (
	dialTime = time.Second
	idle     = 2 // connections kept ready
)

// open makes a client, which connects when it is asked.
func (s Store) open(timeout time.Duration) redis.UniversalClient {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	credentials := func(context.Context) (string, string, error) {
		password, err := s.Password()
		return s.User, password, err
	}
	switch {
	case s.Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: s.Addrs, TLSConfig: s.TLS, CredentialsProviderContext: credentials,
			MaxRedirects: 3, MinRetryBackoff: -1, MaxRetryBackoff: -1, DisableRoutingPolicies: true, ClusterStateReloadInterval: 2 * time.Second,
			Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet,
			DialTimeout: dialTime, DialerRetries: 1, ReadTimeout: dialTime, WriteTimeout: dialTime, ContextTimeoutEnabled: true,
			PoolSize: s.PoolSize, PoolTimeout: timeout, MinIdleConns: idle,
		})
	case s.Primary != "":
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: s.Primary, SentinelAddrs: s.Addrs, SentinelUsername: s.SentinelUser, SentinelPassword: s.SentinelPassword,
			TLSConfig: s.TLS, CredentialsProviderContext: credentials, DB: s.Database,
			MaxRetries: -1, Protocol: 2, DisableIdentity: true,
			DialTimeout: dialTime, DialerRetries: 1, ReadTimeout: dialTime, WriteTimeout: dialTime, ContextTimeoutEnabled: true,
			PoolSize: s.PoolSize, PoolTimeout: timeout, MinIdleConns: idle,
		})
	}
	return redis.NewClient(&redis.Options{
		Network: s.Network, Addr: s.Addrs[0], TLSConfig: s.TLS, CredentialsProviderContext: credentials, DB: s.Database,
		MaxRetries: -1, Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet,
		DialTimeout: dialTime, DialerRetries: 1, ReadTimeout: dialTime, WriteTimeout: dialTime, ContextTimeoutEnabled: true,
		PoolSize: s.PoolSize, PoolTimeout: timeout, MinIdleConns: idle,
	})
}
