package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"routelimit/bridge/bridgetest"
	"routelimit/limit"
	"routelimit/resp"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func TestBridgeRefusesWhatItCannotUse(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	text := write(t, "text", "no certificate")
	two := write(t, "two", "a\nb\n")
	socket := filepath.Join(t.TempDir(), "held.sock")
	held, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	const url = "redis://127.0.0.1:6379"
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"", exitUsage, "no Redis is given"},
		{"--redis redis://a:6379,redis://b:6379", exitUsage, "several addresses are given for one Redis"},
		{"--redis redis://a:1,rediss://b:1 --cluster", exitUsage, "of different kinds"},
		{"--redis redis://a:6379/2 --cluster", exitUsage, "names database 2"},
		{"--redis " + url + " --cluster --sentinel main", exitUsage, "both given"},
		{"--redis http://secret:word@a", exitUsage, "cannot be read"},
		{"--redis " + url + " --redis-ca " + text, exitUsage, "asks for no TLS"},
		{"--redis rediss://a:1 --redis-ca " + text, exitUsage, "holds no certificate"},
		{"--redis rediss://a:1 --redis-cert " + text, exitUsage, "--redis-cert and --redis-key"},
		{"--redis " + url + " --redis-password-file nowhere", exitUsage, "no such file"},
		{"--redis " + url + " --redis-password-file " + two, exitUsage, "no password in a single line"},
		{"--redis " + url + " --tls-cert " + text, exitUsage, "--tls-cert and --tls-key"},
		{"--redis " + url + " --tls-client-ca " + text, exitUsage, "without a certificate of the bridge's own"},
		{"--redis " + url + " --timeout 20s", exitUsage, "--timeout 20s is out of range"},
		{"--redis " + url + " --max-streams 0", exitUsage, "--max-streams 0 is out of range"},
		{"--redis " + url + " --max-message 1000", exitUsage, "--max-message 1000 is out of range"},
		{"--redis " + url + " --max-commands 0", exitUsage, "--max-commands 0 is out of range"},
		{"--redis " + url + " --pool 0", exitUsage, "--pool 0 is out of range"},
		{"--redis " + url + " --drain-time 0s", exitUsage, "is too short"},
		{"--redis " + url + " --key-prefix rl:{", exitUsage, "--key-prefix \"rl:{\" is none"},
		{"--redis " + url + " --listen unix://" + socket, exitFindings, "somebody serves"},
		{"--redis " + url + " --listen unix://" + text, exitFindings, "it is no socket"},
		{"--redis " + url + " --listen 127.0.0.1:99999", exitFindings, "write another --listen"},
		{"--redis " + url + " --listen 127.0.0.1:0 --admin 127.0.0.1:99999", exitFindings, "write another --admin"},
	} {
		code, out, stderr := call(t, append([]string{"bridge"}, strings.Fields(tt.args)...)...)
		if code != tt.code || out != "" || !strings.Contains(stderr, tt.says) || strings.Contains(stderr, "word") && strings.Contains(tt.args, "secret") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", tt.args, code, out, stderr)
		}
	}
}

// runBridge runs the command until the test ends it.
func runBridge(t *testing.T, args ...string) (end func() (code int, stderr string)) {
	t.Helper()
	logging.Disable() // as main does
	ctx, cancel := context.WithCancel(t.Context())
	type ending struct {
		code   int
		stderr string
	}
	ended := make(chan ending, 1)
	go func() {
		code, _, stderr := callWith(ctx, "", append([]string{"bridge"}, args...)...)
		ended <- ending{code, stderr}
	}()
	return func() (int, string) {
		cancel()
		e := <-ended
		return e.code, e.stderr
	}
}

// outcomeOf asks for one decision and says what came.
func outcomeOf(ctx context.Context, c *bridgetest.Client) string {
	stream, err := c.Open(ctx)
	if err != nil {
		return err.Error()
	}
	charges := []limit.Charge{{Limit: &limit.Limit{Limit: 100, Window: time.Hour}, Cost: 1}}
	replies, err := stream.Ask(limit.AppendDecide(nil, []byte("rl:{GET:/|all}"), 0, charges), 1)
	if err != nil {
		return err.Error()
	}
	if replies[0].Kind == resp.Error {
		return string(replies[0].Text)
	}
	var d limit.Decision
	if err := limit.ReadDecision(replies[0], charges, &d); err != nil {
		return err.Error()
	}
	return "decided"
}

// until polls a decision.
func until(t *testing.T, c *bridgetest.Client, want string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	got := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		got = outcomeOf(ctx, c)
		cancel()
		if strings.Contains(got, want) {
			return
		}
	}
	t.Errorf("%q, want %q", got, want)
}

// TestBridgeOnASocketToARedisWithTLSAndAUser has a password in a file that changes: connections that are opened then use
// the new one.
func TestBridgeOnASocketToARedisWithTLSAndAUser(t *testing.T) {
	files := servertest.Certificates(t, "redis.example")
	r := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.TLSRedis(t), TLS: files.Redis()})
	allow := func(password string) {
		t.Helper()
		if err := r.Client().Do(t.Context(), "ACL", "SETUSER", "app", "reset", "on", ">"+password, "~rl:{*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
	}
	allow("first-password")
	password := write(t, "password", "first-password\n")
	socket := filepath.Join(t.TempDir(), "bridge.sock")
	stale, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	end := runBridge(t, "--redis", "rediss://app@"+r.TLSAddr(), "--redis-ca", files.Authority, "--redis-server-name", "redis.example",
		"--redis-password-file", password, "--listen", "unix://"+socket, "--admin", "", "--timeout", "5s")
	c := bridgetest.Dial(t, "unix:"+socket, nil)
	until(t, c, "decided")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	allow("second-password")
	if err := r.Client().Do(t.Context(), "CLIENT", "KILL", "USER", "app").Err(); err != nil {
		t.Fatal(err)
	}
	until(t, c, "WRONGPASS")
	if err := os.WriteFile(password, []byte("second-password"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, c, "decided")
	if code, stderr := end(); code != exitOK || strings.Contains(stderr, "first-password") || strings.Contains(stderr, "second-password") || !strings.Contains(stderr, "msg=serving") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
}

// TestBridgeTrustsNoOtherRedis has a certificate of another authority, or one with another name.
func TestBridgeTrustsNoOtherRedis(t *testing.T) {
	files, others := servertest.Certificates(t, "redis.example"), servertest.Certificates(t, "redis.example")
	r := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.TLSRedis(t), TLS: files.Redis()})
	for name, args := range map[string][]string{
		"unknown authority":           {"--redis-ca", others.Authority, "--redis-server-name", "redis.example"},
		"not other.example":           {"--redis-ca", files.Authority, "--redis-server-name", "other.example"},
		"signed by unknown authority": {"--redis-server-name", "redis.example"},
	} {
		socket := filepath.Join(t.TempDir(), "s")
		end := runBridge(t, append(args, "--redis", "rediss://"+r.TLSAddr(), "--listen", "unix://"+socket, "--admin", "", "--timeout", "5s")...)
		until(t, bridgetest.Dial(t, "unix:"+socket, nil), "upstream failure: tls: failed to verify certificate: x509: certificate ")
		end()
		if r.Client().DBSize(t.Context()).Val() != 0 {
			t.Errorf("%s: something was counted", name)
		}
	}
}

func TestBridgeLetsInOnlyWhoHasACertificate(t *testing.T) {
	files, others := servertest.Certificates(t, "bridge.example"), servertest.Certificates(t, "envoy.example")
	r := servertest.StartRedis(t, servers.RedisOptions{})
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	adminPort, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address, admin := servers.Loopback(port), servers.Loopback(adminPort)
	end := runBridge(t, "--redis", r.URL(), "--listen", address, "--admin", admin, "--timeout", "5s",
		"--tls-cert", files.Certificate, "--tls-key", files.Key, "--tls-client-ca", others.Authority)
	envoy, err := tls.LoadX509KeyPair(others.Certificate, others.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: files.Pool(), ServerName: "bridge.example", Certificates: []tls.Certificate{envoy}}
	until(t, bridgetest.Dial(t, "passthrough:///"+address, config), "decided")
	for _, path := range []string{"/healthz", "/metrics"} {
		if a, err := http.Get("http://" + admin + path); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", path, a, err)
		} else {
			a.Body.Close()
		}
	}
	before := r.Client().HGetAll(t.Context(), "rl:{GET:/|all}").Val()
	without := config.Clone()
	without.Certificates = nil
	stranger, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	strange := config.Clone()
	strange.Certificates = []tls.Certificate{stranger}
	for name, c := range map[string]*tls.Config{"no certificate": without, "another authority's": strange, "plain text": nil} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if got := outcomeOf(ctx, bridgetest.Dial(t, "passthrough:///"+address, c)); got == "decided" {
			t.Errorf("%s: let in", name)
		}
		cancel()
	}
	if after := r.Client().HGetAll(t.Context(), "rl:{GET:/|all}").Val(); len(after) != 1 || after["w3600"] != before["w3600"] {
		t.Errorf("%v, then %v", before, after)
	}
	if code, stderr := end(); code != exitOK {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}
