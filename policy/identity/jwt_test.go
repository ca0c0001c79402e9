package identity

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// token makes a token of which only the claims matter.
func token(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + ".c2ln"
}

func TestG07_UnverifiedToken(t *testing.T) {
	padded := base64.URLEncoding.EncodeToString([]byte(`{"sub":"u-1"}`))
	unpadded := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"u-1"}`))
	if padded == unpadded {
		t.Fatal("the claims need no padding, so padding is not tested")
	}
	none := resolved{fallen, "ip", NoIdentity}
	for name, tt := range map[string]struct {
		authorization string
		want          resolved
	}{
		"plain":                {"Bearer " + token(`{"sub":"u-1"}`), resolved{"id:u-1", "id", 0}},
		"another case, blanks": {"bEARER  " + token(`{"sub":"u-1"}`) + " ", resolved{"id:u-1", "id", 0}},
		"no signature":         {"Bearer h." + unpadded + ".", resolved{"id:u-1", "id", 0}},
		"padded":               {"Bearer h." + padded + ".s", resolved{"id:u-1", "id", 0}},
		"numeric sub":          {"Bearer " + token(`{"sub":42}`), resolved{"id:42", "id", 0}},
		"long sub":             {"Bearer " + token(`{"iss":"i","sub":"a longer subject that was escaped: \u00e9"}`), resolved{"id:a%20longer%20subject%20that%20was%20escaped:%20%C3%A9", "id", 0}},
		"sub twice":            {"Bearer " + token(`{"sub":"u-1","sub":"u-2"}`), resolved{fallen, "ip", NoIdentity | Ambiguous}},
		"no sub":               {"Bearer " + token(`{"iss":"i"}`), none},
		"sub is an object":     {"Bearer " + token(`{"sub":{}}`), none},
		"sub is a fraction":    {"Bearer " + token(`{"sub":4.2}`), none},
		"sub is empty":         {"Bearer " + token(`{"sub":""}`), none},
		"claims are a list":    {"Bearer " + token(`["sub","u-1"]`), none},
		"claims are no JSON":   {"Bearer " + token(`{"sub":"u-1"`), none},
		"not a token":          {"Bearer x", none},
		"two parts":            {"Bearer h." + unpadded, none},
		"five parts":           {"Bearer h." + unpadded + ".s.a.b", none},
		"not base64url":        {"Bearer h.+/+/.s", none},
		"empty claims":         {"Bearer h..s", none},
		"no scheme":            {token(`{"sub":"u-1"}`), none},
		"another scheme":       {"Basic " + token(`{"sub":"u-1"}`), none},
		"junk before":          {"x Bearer " + token(`{"sub":"u-1"}`), none},
		"scheme alone":         {"Bearer", none},
		"scheme and blanks":    {"Bearer   ", none},
		"empty":                {"", none},
	} {
		t.Run(name, func(t *testing.T) {
			got := resolve(single(t, "jwt_unverified:sub"), header("authorization", tt.authorization))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestG07_TwoAuthorizationLinesAreAmbiguous(t *testing.T) {
	bearer := "Bearer " + token(`{"sub":"u-1"}`)
	got := resolve(single(t, "jwt_unverified:sub"), header("authorization", bearer, "authorization", bearer))
	if want := (resolved{fallen, "ip", NoIdentity | Ambiguous}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A limit for the address beside one for the key holds whatever the key says.
func TestG07_FreshKeysDoNotChangeTheAddress(t *testing.T) {
	d := NewDefinitions([]Component{{Name: "api_key", Source: source(t, "header:x-api-key"), Secret: true}}, noHops, nil)
	keys, addresses := map[string]bool{}, map[string]bool{}
	for _, random := range []string{"r0", "r1", "r2", "", "r3"} {
		r := header("x-api-key", random)
		keys[keyOf(expr(t, d, "api_key"), r)] = true
		addresses[keyOf(expr(t, d, "ip"), r)] = true
	}
	if len(keys) != 5 || len(addresses) != 1 {
		t.Errorf("got %d keys and %d addresses, want 5 and 1", len(keys), len(addresses))
	}
}

func TestJWTClaimByPath(t *testing.T) {
	claims := `{"https://ns/x":"a","realm":{"user":"b"}}`
	for path, want := range map[string]string{`https://ns/x`: "id:a", "realm.user": "id:b", "realm": fallen} {
		r := header("authorization", "Bearer "+token(claims))
		if got := keyOf(single(t, "jwt_unverified:"+path), r); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
