package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// issuer is the one that envoy.yaml trusts, with a key of the tests' own.
const issuer = "https://issuer.example"

var issuerKey = func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // the system has no random numbers
	}
	return key
}()

var base64url = base64.RawURLEncoding.EncodeToString

// issuerKeys is the public key as a JSON Web Key Set (RFC 7517).
func issuerKeys() string {
	point, err := issuerKey.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err) // it was made above
	}
	return fmt.Sprintf(`{"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "x": %q, "y": %q}]}`,
		base64url(point[1:33]), base64url(point[33:]))
}

// bearer is an Authorization header with a token that makes these claims, signed with ES256 (RFC 7518, 3.4).
func bearer(t *testing.T, claims tree) string {
	t.Helper()
	claims["iss"], claims["exp"] = issuer, time.Now().Add(time.Hour).Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64url([]byte(`{"alg":"ES256","typ":"JWT"}`)) + "." + base64url(payload)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, issuerKey, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return "Bearer " + signed + "." + base64url(signature)
}
