package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// issuerKey signs the tokens of one run. It is made when the program starts and never written anywhere.
type issuerKey struct{ private *ecdsa.PrivateKey }

func newIssuerKey() (issuerKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issuerKey{}, fmt.Errorf("cannot make a key for the demo's tokens: %w; try again", err)
	}
	return issuerKey{private}, nil
}

var encode = base64.RawURLEncoding.EncodeToString

// keySet is the public half as a JSON Web Key Set (RFC 7517).
func (k issuerKey) keySet() (string, error) {
	point, err := k.private.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return "", fmt.Errorf("cannot write the demo's key: %w; try again", err)
	}
	return fmt.Sprintf(`{"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "x": %q, "y": %q}]}`,
		encode(point[1:33]), encode(point[33:65])), nil
}

// token is a JSON Web Token for a subject, signed with ES256 (RFC 7518, 3.4), good for a day.
func (k issuerKey) token(issuer, subject string, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": subject, "exp": now.Add(24 * time.Hour).Unix()})
	if err != nil {
		return "", fmt.Errorf("cannot write the demo's token: %w; try again", err)
	}
	signed := encode([]byte(`{"alg":"ES256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return "", fmt.Errorf("cannot sign the demo's token: %w; try again", err)
	}
	return signed + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)), nil
}
