package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// unfit says which settings of a Redis, or of any primary of a Cluster, make limits forget. info is what the one says that
// was asked.
func (r *givenRedis) unfit(ctx context.Context, info string) []string {
	if !r.cluster {
		return evicts("this Redis", info)
	}
	var mu sync.Mutex
	var warnings []string
	client := r.client().(*redis.ClusterClient)
	defer client.Close()
	err := client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := node.Info(ctx, "memory").Result()
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, evicts("the primary at "+node.Options().Addr, info)...)
		return err
	})
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("not every primary of the Redis Cluster answers: %v; requests whose keys it holds go by on_error: see redis-cli --cluster check", err))
	}
	return warnings
}

// evicts warns of a maxmemory-policy that lets keys go.
func evicts(who, info string) []string {
	settings := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			settings[name] = value
		}
	}
	policy := settings["maxmemory_policy"]
	if policy == "" || policy == "noeviction" {
		return nil
	}
	when := "when its memory is full"
	if settings["maxmemory"] == "0" {
		when = "once maxmemory is set"
	}
	return []string{fmt.Sprintf("%s has maxmemory-policy %s and evicts keys %s, and an evicted key is a forgotten count: set maxmemory-policy noeviction", who, policy, when)}
}

// systemAuthorities are where systems keep the certificates of the authorities that they trust, as crypto/x509 knows them.
var systemAuthorities = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// authorityFile is the file by which Envoy is to know Redis: the one that is given, or the system's.
func authorityFile(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	for _, name := range append([]string{os.Getenv("SSL_CERT_FILE")}, systemAuthorities...) {
		if info, err := os.Stat(name); name != "" && err == nil && info.Mode().IsRegular() {
			return name, nil
		}
	}
	return "", errors.New("no file with certificate authorities is found on this system, and Envoy needs one for a rediss:// Redis; give it with --redis-ca")
}
