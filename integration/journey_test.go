package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// journey is envoy.yaml's own policy.
var journey = listen("journey", "")

// hashed is how a secret stands in keys where the policy names no hash key.
func hashed(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

func TestLoginPassesTenOfTwelveAndSaysWhenToComeBack(t *testing.T) {
	eachWay(t, loginPassesTenOfTwelveAndSaysWhenToComeBack)
}

func loginPassesTenOfTwelveAndSaysWhenToComeBack(t *testing.T, w way) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	c := dial(t, e, w.journey, "127.0.0.2")
	for i := range 12 {
		a := c.login("hush-alice")
		if i < 10 {
			checkPassed(t, a, 10, 9-i)
		} else {
			checkRefused(t, a, 10, 300)
		}
	}
	if n := upstream.get(t).Started(); n != 10 {
		t.Errorf("the upstream saw %d logins, want 10", n)
	}

	// A refusal charges nothing, and a login that is not answered 401 or 403 does not count for the account.
	eventually(t, "what was charged", func() error {
		got := map[string]counts{}
		for _, key := range keysNow(t) {
			got[key] = stored(t, store.get(t).Client(), key)
		}
		user := "username:" + hashed("hush-alice") + "}"
		return differ(map[string]counts{
			"rl:{POST:/login|ip:127.0.0.2|" + user: {"l300": 10},
			"rl:{POST:/login|" + user:              {"w3600": 0},
			"rl:{POST:/login|ip:127.0.0.2}":        {"w300": 10},
		}, got)
	})
}

// differ is what cmp says.
func differ(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got)\n%s", diff)
	}
	return nil
}

// checkPassed finds the quota headers of a passed response: ours, each once.
func checkPassed(t *testing.T, a answer, limit, remaining int) {
	t.Helper()
	got := []int{a.status, a.number("x-ratelimit-limit"), a.number("x-ratelimit-remaining")}
	if diff := cmp.Diff([]int{http.StatusOK, limit, remaining}, got); diff != "" {
		t.Fatalf("status, limit, remaining: %s", diff)
	}
	if reset := a.number("x-ratelimit-reset"); reset < 1 {
		t.Errorf("reset in %d s", reset)
	}
	if a.number("retry-after") != 77 {
		t.Errorf("retry-after = %q, want the upstream's", a.header.Values("retry-after"))
	}
}

const day = 24 * 60 * 60 // in seconds

// checkRefused finds everything that a refusal says. longest is how many seconds the caller may have to wait: one window,
// or two under a sliding window, where what was used in one counts into the next.
func checkRefused(t *testing.T, a answer, limit, longest int) {
	t.Helper()
	got := []int{a.status, a.number("x-ratelimit-limit"), a.number("x-ratelimit-remaining")}
	if diff := cmp.Diff([]int{http.StatusTooManyRequests, limit, 0}, got); diff != "" {
		t.Fatalf("status, limit, remaining: %s", diff)
	}
	after := a.number("retry-after")
	if after < 1 || after > longest || a.number("x-ratelimit-reset") != after {
		t.Errorf("retry-after %q, reset %q, want the same from 1 to %d", a.header["Retry-After"], a.header["X-Ratelimit-Reset"], longest)
	}
	want := fmt.Sprintf(`{"error":"rate_limited","retryAfterSec":%d}`, after)
	if a.body != want || a.header.Get("content-type") != "application/json" || a.header.Get("cache-control") != "no-store" {
		t.Errorf("body %q, headers %v", a.body, a.header)
	}
}

func TestG06UsernameIsTrimmedAndLowered(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, journey, "127.0.0.3")
	got := statuses(12, func(i int) answer {
		spelling := [...]string{"hush-alice", "  Hush-Alice ", `HUSH-ALICE\t`, `hush-\u0061lice`}[i%4]
		return c.send("POST", "/login", `{"username":"`+spelling+`"}`, "content-type", "application/json")
	})
	if diff := cmp.Diff(passThenRefuse(10, 12), got); diff != "" {
		t.Error(diff)
	}
	if keys := keysNow(t); len(keys) != 3 {
		t.Errorf("keys %q, want one account", keys)
	}
}

func TestLoginCountsGuessesForTheAccountFromAllAddresses(t *testing.T) {
	eachWay(t, loginCountsGuessesForTheAccountFromAllAddresses)
}

func loginCountsGuessesForTheAccountFromAllAddresses(t *testing.T, w way) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	refused := 0
	for address := range 6 {
		c := dial(t, e, w.journey, fmt.Sprintf("127.0.1.%d", address+1))
		for range 9 {
			if c.login("hush-bob", "x-want-status", "401").status == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	if refused != 6*9-50 {
		t.Errorf("%d of 54 guesses refused, want 4", refused)
	}
	key := "rl:{POST:/login|username:" + hashed("hush-bob") + "}"
	if diff := cmp.Diff(counts{"w3600": 50}, stored(t, store.get(t).Client(), key)); diff != "" {
		t.Error(diff)
	}
}

func TestUsernameOfAFormCountsLikeThatOfJSON(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, journey, "127.0.0.4")
	got := statuses(12, func(i int) answer {
		if i%2 == 0 {
			return c.login("hush-carol")
		}
		return c.send("POST", "/login", "password=x&username=Hush-Carol+", "content-type", "application/x-www-form-urlencoded")
	})
	if diff := cmp.Diff(passThenRefuse(10, 12), got); diff != "" {
		t.Error(diff)
	}
}

func TestOrdersCountTheSubjectOfAVerifiedToken(t *testing.T) {
	eachWay(t, ordersCountTheSubjectOfAVerifiedToken)
}

func ordersCountTheSubjectOfAVerifiedToken(t *testing.T, w way) {
	e := fresh(t)
	token := bearer(t, tree{"sub": "dave"})
	for i := range 3 { // from three addresses: the address plays no part
		c := dial(t, e, w.journey, fmt.Sprintf("127.0.2.%d", i+1))
		checkPassed(t, c.send("POST", "/orders", "{}", "authorization", token), 30, 29-i)
	}
	if diff := cmp.Diff([]string{"rl:{POST:/orders|user_id:dave}"}, keysNow(t)); diff != "" {
		t.Error(diff)
	}
	c := dial(t, e, w.journey, "127.0.0.5")
	if a := c.send("POST", "/orders", "{}", "authorization", token[:len(token)-4]+"AAAA"); a.status != http.StatusUnauthorized {
		t.Errorf("a forged token: status %d", a.status)
	}
	checkPassed(t, c.send("POST", "/orders", "{}"), 30, 29) // without a token: by address
}

var claims = listen("claims", `{
	"identities": {"number": {"from": "metadata:envoy.filters.http.jwt_authn/payload/number"}},
	"default": {"identity": "number", "limit": 3, "window": "24h"}}`)

func TestG07NumericClaimCountsAsItsDecimalText(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, claims, "")
	for _, number := range []int64{42, 1 << 40, 12345678} {
		checkPassed(t, c.get("/", "authorization", bearer(t, tree{"sub": "dave", "number": number})), 3, 2)
	}
	checkPassed(t, c.get("/", "authorization", bearer(t, tree{"sub": "dave", "number": "42"})), 3, 1)
	want := []string{"rl:{default|number:1099511627776}", "rl:{default|number:12345678}", "rl:{default|number:42}"}
	if diff := cmp.Diff(want, keysNow(t)); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultAndUnlimitedRoutes(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, journey, "127.0.0.6")
	checkPassed(t, c.get("/anything/else"), 120, 119)
	if a := c.get("/healthz"); a.status != http.StatusOK || !slices.Equal(a.header["X-Ratelimit-Limit"], upstreamHeader["X-Ratelimit-Limit"]) {
		t.Errorf("status %d, headers %v; want the upstream's own", a.status, a.header)
	}
	want := []string{"rl:{default|ip:127.0.0.6}"}
	if diff := cmp.Diff(want, keysNow(t)); diff != "" {
		t.Error(diff)
	}
	c.get("/api/search", "x-api-key", "hush-key")
	want = []string{"rl:{GET:/api/search|api_key:" + hashed("hush-key") + "}", "rl:{GET:/api/search|ip:127.0.0.6}", want[0]}
	if diff := cmp.Diff(want, keysNow(t)); diff != "" {
		t.Error(diff)
	}
}

// TestShippedFileLimits tests envoy.yaml as it is, deadlines included. A busy machine may leave some logins undecided,
// and those get 503; in the end it refuses.
func TestShippedFileLimits(t *testing.T) {
	eachWay(t, shippedFileLimits)
}

func shippedFileLimits(t *testing.T, w way) {
	e := fresh(t)
	c := dial(t, e, w.public, "127.0.0.7")
	passed := 0
	eventually(t, "the shipped policy refuses", func() error {
		a := c.login("hush-erin")
		switch a.status {
		case http.StatusOK:
			passed++
			return fmt.Errorf("%d passed", passed)
		case http.StatusTooManyRequests:
			checkRefused(t, a, 10, 300)
			return nil
		}
		return fmt.Errorf("status %d: %s", a.status, a.body)
	})
	if passed > 10 {
		t.Errorf("%d passed, want 10 at most", passed)
	}
	var seen struct{ Path string }
	if a := c.get("/api/search?q=1"); json.Unmarshal([]byte(a.body), &seen) != nil || seen.Path != "/api/search?q=1" {
		t.Errorf("the upstream's answer: %d %s", a.status, a.body)
	}
	if log := e.Log(); !strings.Contains(log, `"event":"rate_limited"`) {
		t.Error("no log line of the refusal")
	}
}
