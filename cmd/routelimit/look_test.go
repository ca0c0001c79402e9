package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routelimit/limit"
	"routelimit/policy/explain"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

const looked = `{"default": {"limits": [
	{"name": "pair", "identity": "ip", "limit": 3, "window": "1h", "algorithm": "fixed_window", "cost": 2},
	{"name": "watched", "identity": "ip", "limit": 1, "window": "1h", "shadow": true},
	{"name": "bucket", "identity": "all", "limit": 5, "window": "1h", "algorithm": "token_bucket", "burst": 10}]}}`

func TestExplainLooksWithoutCharging(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	path := write(t, "policy.json", looked)
	see := func() (int, *explain.Report) {
		t.Helper()
		return explained(t, "GET", "/", "--policy", path, "--from", "203.0.113.7", "--redis", r.URL())
	}
	left := func(passes bool, remaining int64) explain.Left {
		return explain.Left{Remaining: remaining, Passes: passes}
	}
	check := func(wantCode int, want ...[]explain.Left) {
		t.Helper()
		code, report := see()
		var got [][]explain.Left
		for _, key := range report.Keys {
			got = append(got, key.Left)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(explain.Left{}, "ResetMS")); diff != "" || code != wantCode {
			t.Errorf("code %d, %s: %s\n%s", code, report.Outcome, report.Why, diff)
		}
	}
	for range 3 { // looking changes nothing
		check(exitOK, []explain.Left{left(true, 3), left(true, 1)}, []explain.Left{left(true, 10)})
	}
	if keys := r.Client().DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("looking left %d keys", keys)
	}

	pair := &limit.Limit{Algorithm: limit.FixedWindow, Limit: 3, Window: time.Hour}
	watched := &limit.Limit{Limit: 1, Window: time.Hour, Shadow: true}
	charge(t, r, "rl:{default|ip:203.0.113.7}", limit.Charge{Limit: pair, Cost: 2}, limit.Charge{Limit: watched, Cost: 1})
	check(exitFindings, []explain.Left{left(false, 1), left(false, 0)}, []explain.Left{left(true, 10)})

	_, out, _ := call(t, "explain", "GET", "/", "--policy", path, "--from", "203.0.113.7", "--redis", r.URL())
	for _, want := range []string{"           left 1, more in ", "s: the request would be refused\n", "s: the request would be refused, were it no shadow\n", "           left 10: the request would pass\n", ", decided together with watched\n", `outcome    refused: limit "pair" has 1 left`} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
}

// charge counts a request as the filter would.
func charge(t *testing.T, r *servers.Redis, key string, charges ...limit.Charge) {
	t.Helper()
	command := limit.AppendEval(nil, limit.AppendDecide(nil, []byte(key), 0, charges))
	reply, err := ask(t.Context(), r.Client(), command)
	var decision limit.Decision
	if err != nil || limit.ReadDecision(reply, charges, &decision) != nil || !decision.Allowed {
		t.Fatalf("%+v, %v", reply, err)
	}
}

func TestExplainOfARedisThatCannotAnswerExitsOne(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	path := write(t, "policy.json", looked)
	if err := r.Client().Set(t.Context(), "rl:{default|ip:127.0.0.1}", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if code, report := explained(t, "GET", "/", "--policy", path, "--redis", r.URL()); code != exitOK || !report.Keys[0].Left[0].Passes {
		t.Errorf("a foreign key: code %d, %+v", code, report.Keys)
	}
	url := r.URL()
	r.Stop()
	code, out, stderr := call(t, "explain", "GET", "/", "--policy", path, "--redis", url)
	if code != exitFindings || !strings.Contains(stderr, "does not answer") || !strings.Contains(out, "outcome    asks") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

func TestExplainAsksTheNodesOfACluster(t *testing.T) {
	c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
	path := write(t, "policy.json", looked)
	for _, from := range []string{"203.0.113.7", "203.0.113.8", "203.0.113.9", "2001:db8::7"} {
		code, report := explained(t, "GET", "/", "--policy", path, "--from", from, "--redis", c.Addrs()[0])
		if code != exitOK || report.Outcome != explain.Passes || len(report.Keys) != 2 {
			t.Fatalf("code %d, %+v", code, report)
		}
		for _, key := range report.Keys {
			want, err := c.Client().ClusterKeySlot(t.Context(), key.Key).Result()
			if err != nil || int64(key.Slot) != want {
				t.Errorf("slot of %s: got %d, want %d, %v", key.Key, key.Slot, want, err)
			}
		}
	}
}

func TestExplainOfARedisWithAPasswordSaysHowToGiveIt(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	if err := r.Client().ConfigSet(t.Context(), "requirepass", "hush").Err(); err != nil {
		t.Fatal(err)
	}
	path := write(t, "policy.json", looked)
	for name, url := range map[string]string{"none": "redis://" + r.Addr(), "wrong": "redis://:hushed@" + r.Addr()} {
		code, _, stderr := call(t, "explain", "GET", "/", "--policy", path, "--redis", url)
		if code != exitFindings || !strings.Contains(stderr, "write redis://USER:PASSWORD@"+r.Addr()) || strings.Contains(stderr, "hush") {
			t.Errorf("%s: code %d, stderr %q", name, code, stderr)
		}
	}
	if code, _ := explained(t, "GET", "/", "--policy", path, "--redis", "redis://:hush@"+r.Addr()); code != exitOK {
		t.Errorf("the right one: code %d", code)
	}
}

func TestDurationsAreWrittenAsPeopleDo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		20 * time.Millisecond: "20ms", 999 * time.Millisecond: "999ms", time.Second: "1s", 59*time.Second + 1: "1m", 5 * time.Minute: "5m",
		time.Hour + 21*time.Minute + 43*time.Second: "1h21m43s", 365 * 24 * time.Hour: "365d", 25 * time.Hour: "1d1h",
	} {
		if got := inWords(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
