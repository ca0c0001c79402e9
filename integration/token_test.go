package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
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

// verified reads claims of every kind. A token that fails its test goes on as if there were none.
var verified = listen("verified", `{"identities": {
		"nested": {"from": "metadata:envoy.filters.http.jwt_authn/payload/realm/user"},
		"named":  {"from": "metadata:envoy.filters.http.jwt_authn/payload/https:\\/\\/example\\/user"},
		"dotted": {"from": "metadata:envoy.filters.http.jwt_authn/payload/a.b"},
		"plain":  {"from": "metadata:envoy.filters.http.jwt_authn/payload/plain"}},
	"routes": {
		"GET /nested": {"identity": "nested", "limit": 9, "window": "24h", "on_error": "closed"},
		"GET /named":  {"identity": "named", "limit": 9, "window": "24h", "on_error": "closed"},
		"GET /dotted": {"identity": "dotted", "limit": 9, "window": "24h", "on_error": "closed"},
		"GET /plain":  {"identity": "plain", "limit": 9, "window": "24h", "on_error": "closed"}
	}, "default": null}`, func(manager tree) {
	for _, f := range manager["http_filters"].([]any) {
		if config := f.(tree)["typed_config"].(tree); f.(tree)["name"] == "envoy.filters.http.jwt_authn" {
			config["rules"] = []any{tree{"match": tree{"prefix": "/"}, "requires": tree{"requires_any": tree{"requirements": []any{
				tree{"provider_name": "issuer"}, tree{"allow_missing_or_failed": tree{}},
			}}}}}
		}
	}
})

func TestClaimsThatJWTAuthnHasVerifiedTellCallersApart(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, verified, "127.0.0.31")
	forged := func(claims tree) string {
		token := bearer(t, claims)
		return token[:len(token)-6] + "AAAAAA"
	}
	const nobody = "ip:127.0.0.31"
	for name, tt := range map[string]struct{ path, token, want string }{
		"within an object":        {"/nested", bearer(t, tree{"realm": tree{"user": "dave"}}), "nested:dave"},
		"an object itself":        {"/plain", bearer(t, tree{"plain": tree{"user": "dave"}}), nobody},
		"below a text":            {"/nested", bearer(t, tree{"realm": "dave"}), nobody},
		"a URL for a name":        {"/named", bearer(t, tree{"https://example/user": "dave"}), "named:dave"},
		"a name with a dot":       {"/dotted", bearer(t, tree{"a.b": "dave", "a": tree{"b": "eve"}}), "dotted:dave"},
		"a text of eight letters": {"/plain", bearer(t, tree{"plain": "abcdefgh"}), "plain:abcdefgh"},
		"a number":                {"/plain", bearer(t, tree{"plain": 42}), "plain:42"},
		"a negative number":       {"/plain", bearer(t, tree{"plain": -1}), "plain:-1"},
		"a fraction":              {"/plain", bearer(t, tree{"plain": 1.5}), nobody},
		"a number too large":      {"/plain", bearer(t, tree{"plain": 1 << 53}), nobody},
		"a truth":                 {"/plain", bearer(t, tree{"plain": true}), nobody},
		"a list":                  {"/plain", bearer(t, tree{"plain": []any{"dave", "eve"}}), nobody},
		"an empty text":           {"/plain", bearer(t, tree{"plain": ""}), nobody},
		"null":                    {"/plain", bearer(t, tree{"plain": nil}), nobody},
		"beside a null":           {"/plain", bearer(t, tree{"plain": "dave", "other": nil}), "plain:dave"},
		"in many letters":         {"/plain", bearer(t, tree{"plain": "d\u00e4ve {|}"}), "plain:d%C3%A4ve%20%7B%7C%7D"},
		"a forged token":          {"/plain", forged(tree{"plain": "dave"}), nobody},
		"no token":                {"/plain", "", nobody},
		"another scheme":          {"/plain", "Basic ZGF2ZTpodXNo", nobody},
	} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			var h []string
			if tt.token != "" {
				h = []string{"authorization", tt.token}
			}
			if a := c.get(tt.path, h...); a.status != http.StatusOK || a.number("x-ratelimit-remaining") != 8 {
				t.Fatalf("status %d, headers %v", a.status, a.header)
			}
			if err := differ([]string{"rl:{GET:" + tt.path + "|" + tt.want + "}"}, keysNow(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
