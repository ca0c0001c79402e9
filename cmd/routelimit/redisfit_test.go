package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARedisThatEvictsIsTold(t *testing.T) {
	for info, want := range map[string]string{
		"# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n": "",
		"maxmemory:1000000\r\nmaxmemory_policy:noeviction\r\n":       "",
		"": "", // a service that does not say
		"maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru\r\n":                  "evicts keys when its memory is full",
		"maxmemory:0\r\nmaxmemory_policy:volatile-ttl\r\nmaxmemory_human:0B\r\n": "has maxmemory-policy volatile-ttl and evicts keys once maxmemory is set",
		"maxmemory_policy:allkeys-lfu\r\n":                                       "evicts keys when its memory is full",
	} {
		got := strings.Join(evicts("this Redis", info), "; ")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", info, got)
		}
	}
}

func TestEnvoyKnowsRedisByTheAuthorityThatIsGivenOrTheSystems(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(own))
	if got, err := authorityFile("own.pem"); err != nil || got != own {
		t.Errorf("given: %q, %v", got, err)
	}
	t.Setenv("SSL_CERT_FILE", own)
	if got, err := authorityFile(""); err != nil || got != own {
		t.Errorf("of SSL_CERT_FILE: %q, %v", got, err)
	}
	known := systemAuthorities
	t.Cleanup(func() { systemAuthorities = known })
	t.Setenv("SSL_CERT_FILE", "")
	systemAuthorities = []string{"/absent.pem", "/"}
	if _, err := authorityFile(""); err == nil || !strings.Contains(err.Error(), "give it with --redis-ca") {
		t.Errorf("error = %v", err)
	}
}
