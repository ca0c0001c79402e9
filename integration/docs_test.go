package integration

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/docs/pages"
)

// dialects are listeners for docs/headers.md, one for each way to write quota headers.
var dialects = map[string]*place{}

func init() {
	const orders = `"routes": {"GET /orders": {"limits": [
		{"name": "minute", "identity": "ip", "limit": 10, "window": "1m", "algorithm": "sliding_log"},
		{"name": "hour", "identity": "ip", "limit": 100, "window": "1h", "algorithm": "sliding_log"}]}}, "default": null}`
	for _, name := range []string{"x-ratelimit", "x-ratelimit-epoch", "draft-03", "draft-06", "draft-07", "draft-08", "draft-12"} {
		dialects["headers "+name] = listen("docs "+name, `{"headers": "`+name+`", `+orders)
	}
	dialects["headers refused"] = listen("docs refused", `{`+orders)
	dialects["headers problem"] = listen("docs problem", `{"response": {"format": "problem"}, `+orders)
	dialects["the eleventh login"] = journey
}

// The commands of the pages that need an Envoy, with nothing counted before each block but what its mark says. With
// UPDATE_GOLDEN set the pages are written anew.
func TestTheCommandsOfThePagesGetWhatThePagesSay(t *testing.T) {
	e := fresh(t)
	for page, least := range map[string]int{"../README.md": 1, "../docs/headers.md": 9} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		got := pages.Fill(string(text), func(c pages.Command) (string, bool) {
			mark, ok := strings.CutPrefix(c.Mark, "on an Envoy: ")
			if !ok || strings.HasPrefix(mark, "layers ") {
				return "", false
			}
			where := dialects[mark]
			if where == nil {
				t.Fatalf("%s:%d: nobody knows %q", page, c.Line, mark)
			}
			ran++
			flush(t, store.get(t))
			if mark == "the eleventh login" || mark == "headers refused" || mark == "headers problem" {
				for range 10 {
					shellOn(t, where.address(t, e), c.Text)
				}
			}
			return asOnPage(c, shellOn(t, where.address(t, e), c.Text)), true
		})
		if ran < least {
			t.Errorf("%s: %d commands on an Envoy", page, ran)
		}
		keepOrCompare(t, page, string(text), got)
	}
}

func keepOrCompare(t *testing.T, page, was, is string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("%s says otherwise (-page +server):\n%s", page, diff)
	}
}

// shellOn runs a command against a listener in the place of localhost:10000.
func shellOn(t *testing.T, address, command string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	command = strings.ReplaceAll(command, "localhost:10000", "127.0.0.1:"+port)
	command = strings.ReplaceAll(command, "curl -i ", "curl -si ")
	out, err := exec.CommandContext(t.Context(), "bash", "-c", command).Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

var (
	unshown = regexp.MustCompile(`(?m)^(date|server|x-envoy-[a-z-]+|connection|transfer-encoding): .*\n`)
	epoch   = regexp.MustCompile(`\b\d{10}\b`)
)

// late is a time that has begun to pass.
var late = strings.NewReplacer("3599", "3600", "299", "300", "59", "60")

// asOnPage leaves out what Envoy and the upstream add, and is what the page has if only the time differs.
func asOnPage(c pages.Command, out string) string {
	out = strings.TrimRight(unshown.ReplaceAllString(strings.ReplaceAll(out, "\r\n", "\n"), ""), "\n") + "\n"
	steady := func(text string) string { return late.Replace(epoch.ReplaceAllString(text, "epoch")) }
	if steady(out) == steady(c.Output) {
		return c.Output
	}
	return out
}
