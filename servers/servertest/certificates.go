package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"routelimit/servers"
)

// Files are the files of a server's certificate, and of the authority that signed it, in PEM.
type Files struct {
	Certificate, Key, Authority string
	pool                        *x509.CertPool
}

// Certificates makes an authority, and a certificate for 127.0.0.1 and some names.
func Certificates(t testing.TB, names ...string) *Files {
	t.Helper()
	dir := t.TempDir()
	f := &Files{
		Certificate: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key"), Authority: filepath.Join(dir, "ca.pem"),
		pool: x509.NewCertPool(),
	}
	authorityKey, serverKey := newKey(t), newKey(t)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of tests"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	authorityDER := sign(t, authority, authority, authorityKey, authorityKey)
	serverDER := sign(t, server, authority, serverKey, authorityKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	check(t, err)
	write(t, f.Authority, "CERTIFICATE", authorityDER)
	write(t, f.Certificate, "CERTIFICATE", serverDER)
	write(t, f.Key, "PRIVATE KEY", keyDER)
	parsed, err := x509.ParseCertificate(authorityDER)
	check(t, err)
	f.pool.AddCert(parsed)
	return f
}

// Pool trusts the authority.
func (f *Files) Pool() *x509.CertPool { return f.pool }

// Redis are the files as a server takes them.
func (f *Files) Redis() *servers.RedisTLS {
	return &servers.RedisTLS{Certificate: f.Certificate, Key: f.Key, Authority: f.Authority}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	check(t, err)
	return der
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// TLSRedis is the path of a Redis that speaks TLS; see servers.Toolbox.
func TLSRedis(t testing.TB) string {
	t.Helper()
	path, err := servers.NewToolbox(os.Stderr).TLSRedis(t.Context())
	check(t, err)
	return path
}
