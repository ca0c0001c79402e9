package servers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"routelimit/bootstrap"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func plain(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// get is the body of a page.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestEnvoyServesAndLeavesNothing(t *testing.T) {
	for _, version := range servers.EnvoyVersions() {
		t.Run(version, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			e, err := servers.StartEnvoy(t.Context(), servers.EnvoyOptions{Binary: servertest.Envoy(t, version), Config: plain(t)})
			if err != nil {
				t.Fatal(err)
			}
			addr := servertest.Address(t, e, "public")
			if got := get(t, "http://"+addr+"/"); got != "fine" {
				t.Errorf("body = %q", got)
			}
			info, err := e.Get(t.Context(), "/server_info")
			if err != nil || !strings.Contains(string(info), "/"+version+"/") {
				t.Errorf("server_info = %s, %v", info, err)
			}
			pid := e.PID()
			e.Stop()
			if alive(pid) {
				t.Errorf("pid %d lives after Stop", pid)
			}
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				t.Error("the port is open after Stop")
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestEnvoyAdminPageIsRead(t *testing.T) {
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{Config: plain(t), Concurrency: 2})
	get(t, "http://"+servertest.Address(t, e, "public")+"/")
	ctx := t.Context()
	stats, err := e.Stats(ctx, "^(http.public.downstream_rq_total|server.concurrency)$")
	if err != nil || stats["http.public.downstream_rq_total"] != 1 || stats["server.concurrency"] != 2 || len(stats) != 2 {
		t.Errorf("stats = %v, %v", stats, err)
	}
	if text, err := e.Prometheus(ctx); err != nil || !strings.Contains(text, "envoy_http_downstream_rq_total{") {
		t.Errorf("prometheus = %.200s, %v", text, err)
	}
	if dump, err := e.ConfigDump(ctx); err != nil || !strings.Contains(string(dump), `"stat_prefix": "public"`) {
		t.Errorf("config dump = %.200s, %v", dump, err)
	}
	if _, err := e.Post(ctx, "/logging?main=info"); err != nil {
		t.Error(err)
	}
	if _, err := e.Get(ctx, "/nothing/here"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an unknown page: error = %v", err)
	}
	if _, err := e.Address(ctx, "privat"); err == nil || !strings.Contains(err.Error(), "privat") {
		t.Errorf("an unknown listener: error = %v", err)
	}
}

func TestEnvoyOnTakenPortNamesIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, which := range []string{"public", "admin"} {
		t.Run(which, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			c, err := bootstrap.Parse(plain(t))
			if err != nil {
				t.Fatal(err)
			}
			if which == "admin" {
				c.SetAdmin("127.0.0.1", port)
			} else if err := c.SetListener("public", "127.0.0.1", port); err != nil {
				t.Fatal(err)
			}
			_, err = servers.StartEnvoy(t.Context(), servers.EnvoyOptions{Binary: servertest.Envoy(t, ""), Config: c.Bytes()})
			var taken *servers.PortInUseError
			if !errors.As(err, &taken) || taken.Port != port || !strings.Contains(err.Error(), which) {
				t.Errorf("error = %v", err)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestEnvoyRefusingItsConfigurationSaysWhy(t *testing.T) {
	broken := []byte(strings.Replace(string(plain(t)), "stat_prefix", "stat_prefiks", 1))
	start := func(ctx context.Context, o servers.EnvoyOptions) error {
		_, err := servers.StartEnvoy(ctx, o)
		return err
	}
	for name, run := range map[string]func(context.Context, servers.EnvoyOptions) error{
		"start": start, "validate": servers.ValidateEnvoy,
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), servers.EnvoyOptions{Binary: servertest.Envoy(t, ""), Config: broken, Dir: t.TempDir()})
			var refused *servers.EnvoyConfigError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "stat_prefiks") || strings.HasPrefix(refused.Reason, "[") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestEnvoyValidatesAGoodConfiguration(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	err := servers.ValidateEnvoy(t.Context(), servers.EnvoyOptions{Binary: servertest.Envoy(t, ""), Config: plain(t)})
	if err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEnvoyKilledIsNoticed(t *testing.T) {
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{Config: plain(t)})
	if err := syscall.Kill(e.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	if _, err := e.Get(t.Context(), "/ready"); err == nil || !strings.Contains(err.Error(), "envoy.log") {
		t.Errorf("error = %v", err)
	}
}

func TestEnvoyStartInterruptedLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: servertest.Envoy(t, ""), Config: plain(t), Dir: dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if out := processesNaming(t, dir); out != "" {
		t.Errorf("still running: %s", out)
	}
}

// processesNaming lists the command lines of running processes that hold a text.
func processesNaming(t *testing.T, text string) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("no processes to look through: %v", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), text) {
			return strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return ""
}
