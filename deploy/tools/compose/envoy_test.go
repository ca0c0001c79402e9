package compose

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/bootstrap"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

const clusterFile = root + "/deploy/compose/envoy-cluster.yaml"

const made = `# Made from envoy.yaml, with its block "A Redis Cluster" in force, for docker-compose.yml. Change envoy.yaml, then write this
# file anew: UPDATE_GOLDEN=1 go test -C deploy/tools ./compose -run ClusterFile
#
`

// TestEnvoyClusterFileIsMadeFromEnvoyYAML does what the comment in envoy.yaml says: it deletes the cluster "redis" and takes
// the "# " off the block below. UPDATE_GOLDEN=1 writes the file.
func TestEnvoyClusterFileIsMadeFromEnvoyYAML(t *testing.T) {
	text := read(t, root+"/envoy.yaml")
	before, rest, found := strings.Cut(text, "  - name: redis\n")
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal(`envoy.yaml has no cluster "redis" that ends with an empty line`)
	}
	var out strings.Builder
	out.WriteString(made + before)
	_, after, found = strings.Cut(after, "Its nodes need cluster-require-full-coverage no: else the death of one stops all of them for a second or two.\n")
	if !found {
		t.Fatal("the comment above the block of the Cluster has changed")
	}
	inBlock := false
	for line := range strings.Lines(after) {
		inBlock = strings.HasPrefix(line, "  # - name: redis\n") || inBlock && strings.HasPrefix(line, "  # ")
		if inBlock {
			line = "  " + strings.TrimPrefix(line, "  # ")
		}
		out.WriteString(line)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(clusterFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(out.String(), read(t, clusterFile)); diff != "" {
		t.Errorf("(- from envoy.yaml, + held):\n%s", diff)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestClusterProfileRuns starts what profile cluster starts, by its own commands: six nodes of Redis with the same file,
// the command that forms the Cluster, the demo upstream, and Envoy with envoy-cluster.yaml. Only ports are others.
func TestClusterProfileRuns(t *testing.T) {
	services, base := all(t), freePorts(t)
	here := func(text string) string {
		for i := range nodes {
			text = strings.ReplaceAll(text, strconv.Itoa(7001+i), strconv.Itoa(base+i))
		}
		return text
	}
	binary := servertest.Redis(t, "")
	for i, name := range nodes {
		command := services[name].Command
		if len(command) != 4 || command[0] != "redis-server" || command[1] != services[name].Volumes[0].Target || command[3] != strconv.Itoa(7001+i) {
			t.Fatalf("%s runs %v with %v", name, command, services[name].Volumes)
		}
		start(t, exec.Command(binary, services[name].Volumes[0].Source, command[2], here(command[3])))
	}
	form := services["redis-form"].Command
	if form[0] != "sh" || form[1] != "-c" {
		t.Fatalf("redis-form runs %v", form)
	}
	cli := servertest.RedisCLI(t)
	for i := range nodes {
		eventually(t, "a node answers", func() error {
			return exec.Command(cli, "-p", strconv.Itoa(base+i), "ping").Run()
		})
	}
	for range 2 { // the second time it finds the Cluster formed
		cmd := exec.Command(form[0], form[1], here(form[2]))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(cli)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		eventually(t, "the Cluster is whole", func() error {
			if out, err := exec.Command(cli, "-p", strconv.Itoa(base), "cluster", "info").CombinedOutput(); err != nil || !strings.Contains(string(out), "cluster_state:ok") {
				return fmt.Errorf("%v\n%s", err, out)
			}
			return nil
		})
	}

	config, err := bootstrap.Parse([]byte(here(read(t, clusterFile))))
	if err != nil {
		t.Fatal(err)
	}
	config.SetAdmin("127.0.0.1", 0)
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for _, err := range []error{config.SetListener(bootstrap.PublicListener, "127.0.0.1", 0), config.SetUpstream(upstream.Addr())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	envoy := servertest.StartEnvoy(t, servers.EnvoyOptions{Config: config.Bytes(), WorkDir: root})
	url := "http://" + servertest.Address(t, envoy, bootstrap.PublicListener) + "/login"
	passed := 0
	eventually(t, "the eleventh login is refused", func() error {
		a, err := http.Post(url, "application/json", strings.NewReader(`{"username": "alice"}`))
		if err != nil {
			return err
		}
		a.Body.Close()
		if a.StatusCode == http.StatusOK {
			passed++
		}
		if a.StatusCode != http.StatusTooManyRequests { // 503 until Envoy knows the nodes
			return fmt.Errorf("status %d, %d passed", a.StatusCode, passed)
		}
		return nil
	})
	if passed > 10 || passed == 0 {
		t.Errorf("%d passed, want 10 at most", passed)
	}
}

// freePorts is the first of six ports that are free, and whose bus ports, 10,000 above, are too.
func freePorts(t *testing.T) int {
	t.Helper()
	for base := 21001; base < 50000; base += 500 {
		if allFree(base) && allFree(base+10000) {
			return base
		}
	}
	t.Fatal("no six ports in a row are free")
	return 0
}

func allFree(base int) bool {
	for i := range nodes {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(base+i)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// start runs a command in a folder of its own until the end of the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Dir = t.TempDir()
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = io.Writer(&log), io.Writer(&log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd, log.String())
		}
	})
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for err := check(); err != nil; err = check() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not after a minute: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
