package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
	"routelimit/top"
)

func TestTopShowsWhoUsesMost(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	code, out, stderr := call(t, "top", "--redis", r.URL())
	if code != exitOK || stderr != "" || out != "0 keys of rl:{…} on 1 server, read in at most 5% of the time\nnothing is counted now\n" {
		t.Errorf("empty: code %d, stderr %q\n%s", code, stderr, out)
	}
	counted(t, r)
	path := write(t, "policy.json", peekedPolicy)
	code, out, stderr = call(t, "top", "--redis", r.URL(), "--policy", path, "--once")
	want := regexp.MustCompile(`^1 key of rl:\{…\} on 1 server, read in at most 5% of the time

route        callers  used  refused now
POST:/login        1     [12]            0

most used
caller          used  of  (  limit|limit)        route
ip:203.0.113.7     [12]  +(6|10)  +(burst|address)  POST:/login

refused now nobody
$`)
	if code != exitOK || stderr != "" || !want.MatchString(out) {
		t.Errorf("code %d, stderr %q\n%s", code, stderr, out)
	}
	code, out, _ = call(t, "top", "--redis", r.URL(), "--output", "json")
	var got top.Picture
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.Keys != 1 || got.Used[0].Key != addressKey || got.Used[0].Used != 2 {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
}

func TestTopThatCannotLookSaysWhatToDo(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	if err := r.Client().Do(t.Context(), "ACL", "SETUSER", "writer", "on", ">secret-word", "~*", "+@all", "-scan").Err(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REDIS_URL", "")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no Redis":      {nil, exitUsage, "write --redis redis://host:port, or set REDIS_URL"},
		"nobody there":  {[]string{"--redis", "127.0.0.1:1"}, exitFindings, "does not answer"},
		"not permitted": {[]string{"--redis", "redis://writer:secret-word@" + r.Addr()}, exitFindings, "allow this user SCAN"},
		"a share":       {[]string{"--redis", r.URL(), "--share", "0"}, exitUsage, "write a percentage above 0"},
		"no number":     {[]string{"--redis", r.URL(), "--share", "NaN"}, exitUsage, "write a percentage above 0"},
		"a batch":       {[]string{"--redis", r.URL(), "--batch", "0"}, exitUsage, "--batch 0"},
		"keys":          {[]string{"--redis", r.URL(), "--keys", "0"}, exitUsage, "--keys 0"},
		"entries":       {[]string{"--redis", r.URL(), "--top", "0"}, exitUsage, "--top 0"},
		"an interval":   {[]string{"--redis", r.URL(), "--interval", "-1s"}, exitUsage, "--interval -1s"},
		"an output":     {[]string{"--redis", r.URL(), "--output", "xml"}, exitUsage, "write text or json"},
	} {
		code, out, stderr := call(t, append([]string{"top"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret-word") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
}
