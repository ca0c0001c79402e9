package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// operatorLine is what docs/redis.md allows an operator, as the arguments of ACL SETUSER, with a password of the test's.
func operatorLine(t *testing.T) []any {
	t.Helper()
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "<!-- acl: operator -->\n```\n")
	text, _, _ := strings.Cut(rest, "\n```")
	var args []any
	for _, word := range strings.Fields(text) {
		args = append(args, strings.ReplaceAll(word, ">PASSWORD", ">operator-password"))
	}
	if !found || len(args) < 5 || args[2] != "operator" {
		t.Fatalf("the page has no such line: %q", text)
	}
	return slices.Insert(args, 3, any("reset"))
}

// TestTheOperatorsLine looks, watches and resets as the user of the page, on every server, and as one who lacks any of
// its commands.
func TestTheOperatorsLine(t *testing.T) {
	policy := write(t, "policy.json", peekedPolicy)
	t.Setenv(passwordEnv, "operator-password")
	for _, version := range servers.RedisVersions() {
		t.Run(version, func(t *testing.T) {
			r := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.Redis(t, version)})
			url := "redis://operator@" + r.Addr()
			works := func() (failed string) {
				servertest.FlushAll(t, r)
				counted(t, r)
				lasting := "rl:{POST:/login|ip:203.0.113.9}" // somebody took its expiry away
				charge(t, r, lasting, limit.Charge{Limit: &limit.Limit{Limit: 9, Window: time.Hour}, Cost: 1})
				if err := r.Client().Persist(t.Context(), lasting).Err(); err != nil {
					t.Fatal(err)
				}
				if err := r.Client().ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{
					{"peek", "POST", "/login", "--policy", policy, "--from", "203.0.113.9", "-H", "x-name: a"},
					{"peek", "POST", "/login", "--policy", policy, "--from", "203.0.113.7", "-H", "x-name: a"},
					{"explain", "POST", "/login", "--policy", policy, "--from", "203.0.113.7", "-H", "x-name: a"},
					{"top", "--once", "--policy", policy},
					{"reset", addressKey, "--yes"},
				} {
					if code, _, stderr := call(t, append(args, "--redis", url)...); code != exitOK {
						return strings.Join(args[:2], " ") + ": " + stderr
					}
				}
				if r.Client().Exists(t.Context(), addressKey).Val() != 0 {
					return "reset deleted nothing"
				}
				return ""
			}
			line := operatorLine(t)
			if err := r.Client().Do(t.Context(), line...).Err(); err != nil {
				t.Fatal(err)
			}
			if failed := works(); failed != "" {
				t.Errorf("with the whole line: %s", failed)
			}
			for i, word := range line {
				if !strings.HasPrefix(word.(string), "+") {
					continue
				}
				if err := r.Client().Do(t.Context(), slices.Delete(slices.Clone(line), i, i+1)...).Err(); err != nil {
					t.Fatal(err)
				}
				if works() == "" {
					t.Errorf("all works without %s; take it off the page", word)
				}
			}
		})
	}
}
