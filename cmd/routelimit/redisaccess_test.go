package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// selfSigned writes a certificate for 127.0.0.1, which is its own authority, and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "redis.crt"), filepath.Join(dir, "redis.key")
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// behindTLS is an address at which a Redis speaks TLS: the servers at hand are built without it.
func behindTLS(t *testing.T, r *servers.Redis, certificate, key string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", r.Addr())
			if err != nil {
				client.Close()
				continue
			}
			go func() { io.Copy(server, client); server.Close() }()
			go func() { io.Copy(client, server); client.Close() }()
		}
	}()
	return listener.Addr().String()
}

func TestARedisBehindTLSIsReachedByItsAuthority(t *testing.T) {
	certificate, key := selfSigned(t)
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	const stored = "rl:{default|ip:203.0.113.7}"
	charge(t, r, stored, limit.Charge{Limit: &limit.Limit{Limit: 9, Window: time.Hour}, Cost: 1})
	url := "rediss://" + behindTLS(t, r, certificate, key)
	if code, out, stderr := call(t, "peek", stored, "--redis", url, "--redis-ca", certificate); code != exitOK || !strings.Contains(out, ": 1 counted") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	if code, _, stderr := call(t, "peek", stored, "--redis", url); code != exitFindings || !strings.Contains(stderr, "with --redis-ca") {
		t.Errorf("of an unknown authority: code %d, stderr %q", code, stderr)
	}
}
