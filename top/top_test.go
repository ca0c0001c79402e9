package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"routelimit/policy"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const limits = `{"identities": {"user": {"from": "header:x-user"}}, "routes": {
	"GET /a": {"limits": [{"name": "address", "identity": "ip", "limit": 100, "window": "365d", "algorithm": "fixed_window"},
	                      {"name": "watched", "identity": "ip", "limit": 1, "window": "365d", "algorithm": "fixed_window", "shadow": true}]},
	"GET /b": {"name": "user", "identity": "user", "limit": 20, "window": "365d", "algorithm": "fixed_window"}}, "default": null}`

// fill stores counts in the window of a year that stands now.
func fill(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	const year = 365 * 24 * 3600
	start := time.Now().Unix() / year * year
	set := func(key, field string, count int) {
		if err := client.HSet(t.Context(), key, field, fmt.Sprintf("%d %d 0", start, count)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		set(fmt.Sprintf("rl:{GET:/a|ip:203.0.113.%d}", i), "w31536000", i+1)
	}
	set("rl:{GET:/a|ip:198.51.100.1}", "w31536000", 100)
	set("rl:{GET:/a|ip:198.51.100.1}", "~w31536000", 1)
	set("rl:{GET:/b|user:alice}", "w31536000", 20)
	set("rl:{GET:/b|user:bob}", "w31536000", 19)
	set("rl:{GET:/b|user:gone}", "w60", 7) // a window that has passed, and no limit of the policy
	set("other:{GET:/b|user:carol}", "w31536000", 99)
	client.HSet(t.Context(), "rl:{GET:/c|cart}", "colour", "red")
	client.Set(t.Context(), "rl:{text|a}", "x", 0)
}

func options() Options {
	return Options{Prefix: "rl", Share: 0.5, Batch: 5, Keys: 1000, Most: 3, Pause: func(time.Duration) error { return nil }}
}

func TestWhoUsesMostIsFoundOnEveryServer(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
	o := options()
	o.Policy = parse(t, limits)
	used := func(identity string, used int64) Entry {
		return Entry{Key: "rl:{GET:/a|" + identity + "}", Scope: "GET:/a", Identity: identity, Used: used, Of: 100, Limit: "address"}
	}
	full := used("ip:198.51.100.1", 100)
	full.Refused = true
	alice := Entry{Key: "rl:{GET:/b|user:alice}", Scope: "GET:/b", Identity: "user:alice", Used: 20, Of: 20, Limit: "user", Refused: true}
	want := &Picture{
		Keys: 45, Foreign: 1, Routes: []Route{{"GET:/a", 41, 920, 1}, {"GET:/b", 2, 39, 1}},
		Used: []Entry{full, used("ip:203.0.113.39", 40), used("ip:203.0.113.38", 39)}, Refused: []Entry{full, alice},
	}
	for servers, client := range map[int]redis.UniversalClient{1: r.Client(), 3: c.Client()} {
		fill(t, client)
		want.Servers = servers
		got, err := Read(t.Context(), client, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Picture{})); diff != "" {
			t.Errorf("%d servers: -want +got\n%s", servers, diff)
		}
	}

	o.Policy = nil
	got, err := Read(t.Context(), r.Client(), o)
	if err != nil || len(got.Refused) != 0 || got.Used[0].Used != 100 || got.Used[0].Limit != "w31536000" || got.Used[0].Of != 0 {
		t.Errorf("without a policy: %+v, %v", got, err)
	}
}

// Reading takes no more than its share of the time, and no more keys than it may.
func TestTheLoadIsBounded(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	fill(t, r.Client())
	o := options()
	o.Share, o.Keys = 0.01, 20
	var pauses []time.Duration
	o.Pause = func(d time.Duration) error { pauses = append(pauses, d); return nil }
	began := time.Now()
	got, err := Read(t.Context(), r.Client(), o)
	took := time.Since(began)
	if err != nil || !got.Sample || got.Keys < 20 || got.Keys > 40 || len(pauses) < 2 {
		t.Errorf("%+v, %v, %d pauses", got, err, len(pauses))
	}
	var paused time.Duration
	for _, d := range pauses {
		if d <= 0 {
			t.Errorf("a pause of %v", d)
		}
		paused += d
	}
	if most := 99 * took; paused > most {
		t.Errorf("paused %v after reading for %v", paused, took)
	}
	enough := errors.New("enough")
	o.Pause = func(time.Duration) error { return enough }
	if _, err := Read(t.Context(), r.Client(), o); !errors.Is(err, enough) {
		t.Errorf("error = %v", err)
	}
}

// Only a user who may not read is told what to allow.
func TestAnErrorSaysWhatToDo(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	if err := r.Client().Do(t.Context(), "ACL", "SETUSER", "blind", "on", ">pass", "~*", "+@connection").Err(); err != nil {
		t.Fatal(err)
	}
	blind := servers.ClientOptions(r.Network(), r.Addr())
	blind.Username, blind.Password = "blind", "pass"
	for want, options := range map[string]*redis.Options{
		"allow this user SCAN, HSCAN and TIME on keys that begin with rl:": blind,
		"see whether it runs and can be reached":                           servers.ClientOptions("tcp", "127.0.0.1:1"),
	} {
		client := redis.NewClient(options)
		defer client.Close()
		_, err := Read(t.Context(), client, Options{Prefix: "rl", Share: 1, Batch: 5, Keys: 10, Most: 3})
		if err == nil || !strings.HasSuffix(err.Error(), "; "+want) || strings.Count(err.Error(), "cannot be read") != 1 {
			t.Errorf("error = %v", err)
		}
	}
}

func TestAPauseIsAsLongAsTheShareAsks(t *testing.T) {
	for share, want := range map[float64]time.Duration{1: 0, 0.5: time.Second, 0.05: 19 * time.Second} {
		o := Options{Share: share, Pause: func(d time.Duration) error {
			if d.Round(time.Millisecond) != want {
				t.Errorf("share %v: %v, want %v", share, d, want)
			}
			return nil
		}}
		o.rest(t.Context(), time.Second)
	}
}

func TestAPrefixIsTakenLiterally(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	for _, key := range []string{"r*[a]?\\:{GET:/|ip:1}", "rxa?\\:{GET:/|ip:2}"} {
		r.Client().HSet(t.Context(), key, "w60", "1 1 1")
	}
	o := options()
	o.Prefix = "r*[a]?\\"
	if got, err := Read(t.Context(), r.Client(), o); err != nil || got.Keys != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAListKeepsTheMostUsedAndEachOnce(t *testing.T) {
	var list []Entry
	for _, e := range []Entry{{Key: "a", Used: 1}, {Key: "b", Used: 5}, {Key: "b", Used: 6}, {Key: "c", Used: 3}, {Key: "d", Used: 2}} {
		list = keep(list, e, 2)
	}
	if diff := cmp.Diff([]Entry{{Key: "b", Used: 6}, {Key: "c", Used: 3}}, list); diff != "" {
		t.Error(diff)
	}
}
