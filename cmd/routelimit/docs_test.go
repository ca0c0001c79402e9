package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/docs/pages"
	"routelimit/limit"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// asProgram tells the test's own binary to be the program.
const asProgram = "ROUTELIMIT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every command of every page is run in a shell, in the project's folder, and prints what stands behind it. With
// UPDATE_GOLDEN set the pages are written anew.
func TestTheCommandsOfThePagesPrintWhatThePagesSay(t *testing.T) {
	names, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tools, "routelimit"), []byte("#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	t.Setenv("NO_COLOR", "1")
	ran := 0
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { ran += pageIsTrue(t, name, tools) })
	}
	if ran < 15 {
		t.Errorf("%d commands", ran)
	}
}

// pageIsTrue runs the commands of a page and says how many there were.
func pageIsTrue(t *testing.T, name, scratch string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	stores := map[string]string{} // by the mark of a block, the URL of its Redis
	got := pages.Fill(string(text), func(c pages.Command) (string, bool) {
		kind, what, _ := strings.Cut(c.Mark, ": ")
		command := c.Text
		switch kind {
		case "on an Envoy":
			return "", false // integration runs it
		case "not run":
			if len(what) < 10 {
				t.Errorf("line %d: %q says no reason", c.Line, c.Mark)
			}
			return "", false
		case "on a Redis":
			if stores[what] == "" {
				stores[what] = prepared(t, what)
			}
			command = strings.ReplaceAll(command, "redis://127.0.0.1:6379", stores[what])
		case "":
		default:
			t.Errorf("line %d: nobody knows what %q means", c.Line, c.Mark)
		}
		ran++
		out := inShell(t, strings.ReplaceAll(command, "build/routelimit ", "routelimit "), scratch)
		if kind == "on a Redis" && steady(out) == steady(c.Output) {
			return c.Output, true
		}
		return out, true
	})
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return ran
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("the page says otherwise (-page +program):\n%s", diff)
	}
	return ran
}

// inShell runs a command as somebody would who stands in the project's folder, but what it writes to files goes elsewhere.
func inShell(t *testing.T, command, scratch string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	command = written.ReplaceAllString(command, "${1}"+scratch+"/$2")
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// written are the files that a command writes.
var written = regexp.MustCompile(`(> ?|--html )([\w.]+)`)

var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? UTC|\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b|\b\d+m\b`)

// steady takes out of a text what is different each time.
func steady(text string) string { return moments.ReplaceAllString(text, "·") }

// prepared starts a Redis that holds what a page tells of, and returns its URL.
func prepared(t *testing.T, what string) string {
	t.Helper()
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	switch what {
	case "alice": // ten logins of hers just now, and 14 of the address in this window
		pair := &limit.Limit{Algorithm: limit.SlidingLog, Limit: 10, Window: 5 * time.Minute}
		for range 10 {
			charge(t, r, "rl:{POST:/login|ip:203.0.113.7|username:2bd806c97f0e00af}", limit.Charge{Limit: pair, Cost: 1})
		}
		now, err := r.Client().Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		key := "rl:{POST:/login|ip:203.0.113.7}"
		window := strconv.FormatInt((now.Unix()+30)/300*300, 10) + " 14 0" // a start that is to come counts from its beginning
		if err := r.Client().HSet(t.Context(), key, "w300", window).Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.Client().Expire(t.Context(), key, 10*time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("nobody knows what %q is", what)
	}
	return r.URL()
}
