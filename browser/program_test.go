//go:build browser

package browser

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"routelimit/servers/servertest"
)

func yearStart() int64 {
	const year = 365 * 24 * 3600
	return time.Now().Unix() / year * year
}

// root is the project's folder.
const root = ".."

// started is a routelimit run that has said where everything is.
func started(t *testing.T, args ...string) (said string, end func()) {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join(root, "build/routelimit"))
	if err != nil {
		t.Fatal(err)
	}
	line := []string{"run", "--port", "0", "--page-port", "0"}
	if !slices.Contains(args, "wazero") {
		line = append(line, "--admin-port", "0")
	}
	cmd := exec.Command(binary, append(line, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ENVOY="+servertest.Envoy(t, ""), "REDIS="+servertest.Redis(t, ""), "REDIS_URL=")
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; run make build", err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v: %s", err, trouble.String())
		}
	}
	t.Cleanup(end)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if lines.Text() == "Ctrl-C ends everything." {
			return said, end
		}
	}
	t.Fatalf("it ended: %s", trouble.String())
	return "", nil
}

func find(t *testing.T, said, word string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + word + ` +(http://[0-9.:]+)`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no address behind %q in:\n%s", word, said)
	}
	return m[1]
}

// The page shows a login that is tried too often, with either engine.
func TestTheLivePageShowsWhoIsLimited(t *testing.T) {
	browser := chromium(t)
	for _, engine := range []string{"wazero", "envoy"} {
		t.Run(engine, func(t *testing.T) {
			said, end := started(t, "--engine", engine)
			base := find(t, said, engine)
			pages := map[int64]*tab{}
			for _, width := range []int64{phone, screen} {
				pages[width] = open(t, browser, find(t, said, "live page"), width, "light")
				pages[width].until(`document.getElementById('status').className === 'live'`)
			}
			for i := range 14 {
				response, err := http.Post(base+"/login", "application/json", strings.NewReader(`{"username": "alice"}`))
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if want := map[bool]int{true: 401, false: 429}[i < 10]; response.StatusCode != want {
					t.Errorf("request %d: %d, want %d", i, response.StatusCode, want)
				}
			}
			for width, b := range pages {
				b.until(`document.getElementById('routes').innerText.includes('14 requests, 4 refused')`)
				b.until(`document.getElementById('refused').innerText.includes('username:2bd806c97f0e00af')`)
				b.until(`document.getElementById('refusals').innerText.includes('username:2bd806c97f0e00af')`)
				b.until(`document.getElementById('link').innerText.includes('closed') && document.querySelectorAll('#link path').length === 2`)
				b.sound(fmt.Sprintf("live-%s-%d", engine, width))
			}
			end()
			pages[phone].until(`document.getElementById('status').className === 'still'`)
		})
	}
}

// The report of simulate can be read on a phone.
func TestThePageOfSimulate(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.html")
	cmd := exec.Command("build/routelimit", "simulate", "--policy", "docs/examples/policy.json", "--log", "docs/examples/access.log", "--html", report)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	browser := chromium(t)
	for _, width := range []int64{phone, screen} {
		for _, scheme := range []string{"light", "dark"} {
			b := open(t, browser, "file://"+report, width, scheme)
			b.until(`document.querySelectorAll('svg').length > 3`)
			b.sound(fmt.Sprintf("simulate-%d-%s", width, scheme))
		}
	}
}
