package integration

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// trusted signs what the listener mutual trusts, stranger what it does not.
var trusted, stranger = newAuthority(), newAuthority()

func newAuthority() *authority {
	a := &authority{}
	own := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.certificate, _ = x509.ParseCertificate(own.Certificate[0]) // it was made above
	a.key = own.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

var serial int64

// sign makes a certificate with a key of its own; of an authority without a certificate, its own.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	serial++
	template.SerialNumber = big.NewInt(serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	if err == nil {
		var der []byte
		if der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer); err == nil {
			return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
		}
	}
	panic(err) // the system has no random numbers
}

// pems are the texts of a certificate and its key.
func pems(c tls.Certificate) (certificate, key string) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		panic(err) // it was made by sign
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// mutual asks clients for a certificate, and takes those that show none as well.
var mutual = func() *place {
	one := func(identity string) string {
		return fmt.Sprintf(`{"identity": "%s|ip", "limit": 2, "window": "24h", "on_error": "closed"}`, identity)
	}
	p := listen("mutual", `{"identities": {
			"digest":  {"from": "property:connection.sha256_peer_certificate_digest"},
			"uri":     {"from": "property:connection.uri_san_peer_certificate"},
			"dns":     {"from": "property:connection.dns_san_peer_certificate"},
			"subject": {"from": "property:connection.subject_peer_certificate"}},
		"routes": {"GET /digest": `+one("digest")+`, "GET /uri": `+one("uri")+`, "GET /dns": `+one("dns")+`, "GET /subject": `+one("subject")+`},
		"default": null}`)
	certificate, key := pems(trusted.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}))
	ca, _ := pems(tls.Certificate{Certificate: [][]byte{trusted.certificate.Raw}, PrivateKey: trusted.key})
	p.socket = tree{"name": "envoy.transport_sockets.tls", "typed_config": tree{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
		"common_tls_context": tree{
			"tls_certificates":   []any{tree{"certificate_chain": tree{"inline_string": certificate}, "private_key": tree{"inline_string": key}}},
			"validation_context": tree{"trusted_ca": tree{"inline_string": ca}},
		},
	}}
	return p
}()

// certified makes a client speak TLS and show a certificate, if one is given.
func (c *client) certified(certificates ...tls.Certificate) *client {
	roots := x509.NewCertPool()
	roots.AddCert(trusted.certificate)
	c.tls = true
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, Certificates: certificates}
	return c
}

func TestClientCertificatesTellCallersApart(t *testing.T) {
	e := fresh(t)
	person := func(name, uri string) *x509.Certificate {
		id, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Example {1|2}"}}, URIs: []*url.URL{id}, DNSNames: []string{name + ".example"}}
	}
	alice, renewed := trusted.sign(person("alice", "spiffe://example/alice")), trusted.sign(person("alice", "spiffe://example/alice"))
	bob := trusted.sign(person("bob", "spiffe://example/bob"))
	statusOf := func(path string, certificates ...tls.Certificate) int {
		return dial(t, e, mutual, "127.0.0.30").certified(certificates...).get(path).status
	}
	for _, path := range []string{"/uri", "/dns", "/subject"} {
		got := []int{statusOf(path, alice), statusOf(path, renewed), statusOf(path, alice), statusOf(path, bob), statusOf(path)}
		if err := differ([]int{200, 200, 429, 200, 200}, got); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := differ([]int{200, 200, 200, 200}, []int{statusOf("/digest", alice), statusOf("/digest", renewed), statusOf("/digest", bob), statusOf("/digest")}); err != nil {
		t.Errorf("/digest: %v", err)
	}
	digest := func(c tls.Certificate) string {
		sum := sha256.Sum256(c.Certificate[0])
		return "rl:{GET:/digest|digest:" + hex.EncodeToString(sum[:]) + "}"
	}
	want := []string{
		"rl:{GET:/uri|uri:spiffe://example/alice}", "rl:{GET:/uri|uri:spiffe://example/bob}", "rl:{GET:/uri|ip:127.0.0.30}",
		"rl:{GET:/dns|dns:alice.example}", "rl:{GET:/dns|dns:bob.example}", "rl:{GET:/dns|ip:127.0.0.30}",
		"rl:{GET:/subject|subject:CN=alice,O=Example%20%7B1%7C2%7D}", "rl:{GET:/subject|subject:CN=bob,O=Example%20%7B1%7C2%7D}",
		"rl:{GET:/subject|ip:127.0.0.30}", "rl:{GET:/digest|ip:127.0.0.30}", digest(alice), digest(renewed), digest(bob),
	}
	slices.Sort(want)
	if err := differ(want, keysNow(t)); err != nil {
		t.Error(err)
	}

	// What nobody vouches for never gets as far as a limit.
	upstream.get(t).Reset()
	forged := stranger.sign(person("alice", "spiffe://example/alice"))
	if bytes.Equal(forged.Certificate[0], alice.Certificate[0]) {
		t.Fatal("the forged certificate is the real one")
	}
	if a, err := dial(t, e, mutual, "127.0.0.30").certified(forged).try("GET", "/uri", ""); err == nil {
		t.Errorf("a certificate of a stranger: status %d", a.status)
	}
	if n := upstream.get(t).Started(); n != 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
}
