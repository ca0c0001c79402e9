package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// words cuts a command line at blanks outside of single quotes, up to a pipe or a redirection.
func words(line string) (list []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		if word == "|" || word == "<" || word == ">" {
			break
		}
		list = append(list, strings.Trim(word, "'"))
	}
	return list
}

// examples are the command lines in the help of a verb.
func examples(verb *cobra.Command) (list [][]string) {
	for line := range strings.Lines(verb.Long + "\n" + verb.Example) {
		line = strings.TrimSpace(line)
		if _, after, piped := strings.Cut(line, "| routelimit "); piped {
			line = "routelimit " + after
		}
		if rest, ok := strings.CutPrefix(line, "routelimit "); ok {
			list = append(list, words(rest))
		}
	}
	return list
}

// verbs are those of this program, without what cobra adds.
func verbs() []*cobra.Command {
	return slices.DeleteFunc(newRoot().Commands(), func(c *cobra.Command) bool { return c.Name() == "help" || c.Name() == "completion" })
}

// needServers are the verbs whose examples need a Redis or an Envoy to run, or serve until they are told to end, or need files
// that are not here; their flags are read all the same.
var needServers = []string{"run", "peek", "reset", "top", "bridge", "upstream", "import"}

func TestTheExamplesOfEveryVerbWork(t *testing.T) {
	t.Chdir("../..")
	for _, verb := range verbs() {
		list := examples(verb)
		if len(list) == 0 {
			t.Errorf("the help of %s has no example", verb.Name())
		}
		if !strings.Contains(verb.Long, "Exit code 0") && !strings.Contains(verb.Long, "exit code 0") {
			t.Errorf("the help of %s names no exit codes", verb.Name())
		}
		for _, args := range list {
			line := strings.Join(args, " ")
			found, rest, err := newRoot().Find(args)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err == nil {
				err = found.ValidateRequiredFlags()
			}
			if err != nil || found.Name() != verb.Name() {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if slices.Contains(needServers, verb.Name()) {
				continue
			}
			stdin := "a-key\n"
			for i := range args {
				switch args[i] {
				case "report.html", "report.xml", "front.yaml":
					args[i] = filepath.Join(t.TempDir(), args[i])
				case "-":
					stdin = read(t, "docs/examples/access.log")
				}
			}
			if code, _, stderr := callWith(t.Context(), stdin, args...); code == exitUsage || verb.Name() != "diff" && code != exitOK {
				t.Errorf("%s: code %d, stderr %q", line, code, stderr)
			}
		}
	}
}

// wrong is a command line with its exit code, and where it is not well, what is typed in.
type wrong struct {
	args []string
	code int
	in   string
}

// outcomes are command lines of every verb, for each of its exit codes that needs no server. Files are in the project's folder.
func outcomes(t *testing.T) map[string][]wrong {
	const redis = "redis://127.0.0.1:1"
	broken := write(t, "broken.json", `{"default": {"identity": "ip", "limit": "many", "window": "1m"}}`)
	empty := write(t, "empty.log", "")
	return map[string][]wrong{
		"run": {{args: []string{"--config", "absent.yaml"}, code: 2}, {args: []string{"--config", empty}, code: 2}, {args: []string{"--config", broken}, code: 1}, {args: []string{"--port", "99999"}, code: 2},
			{args: []string{"--redis", "redis://a:b:c"}, code: 2}, {args: []string{"--envoy", "/absent"}, code: 2}, {args: []string{"--engine", "docker"}, code: 2}, {args: []string{"--concurrency", "0"}, code: 2}, {args: []string{"--wasm", "absent"}, code: 2}, {args: []string{"--engine", "wazero", "--envoy", "x"}, code: 2}, {args: []string{"--engine", "wazero", "--admin-port", "9901"}, code: 2}},
		"lint": {{args: []string{"envoy.yaml"}}, {args: []string{broken}, code: 1}, {args: []string{"absent"}, code: 2}, {args: []string{empty}, code: 2}, {args: []string{"--output", "xml", "envoy.yaml"}, code: 2}, {code: 2}},
		"test": {{args: []string{"docs/examples/readme.test.yaml"}}, {args: []string{"docs/examples/failing.test.yaml"}, code: 1}, {args: []string{"absent"}, code: 2}, {args: []string{"--wasm", "absent", "docs/examples/readme.test.yaml"}, code: 2}, {code: 2}},
		"explain": {{args: []string{"GET", "/"}}, {args: []string{"GET", "/", "--policy", broken}, code: 1}, {args: []string{"GET", "/", "--redis", redis}, code: 1}, {args: []string{"GET", "/", "--redis", "redis://a:b:c"}, code: 2}, {args: []string{"GET"}, code: 2}, {args: []string{"GET", "nowhere"}, code: 2},
			{args: []string{"GET", "/", "--policy", "absent"}, code: 2}, {args: []string{"GET", "/", "-H", "no header"}, code: 2}, {args: []string{"GET", "/", "--from", "nobody"}, code: 2}, {args: []string{"GET", "/", "--set", "x=y"}, code: 2}},
		"simulate": {{args: []string{"--policy", "docs/examples/policy.json", "docs/examples/access.log"}}, {args: []string{"--log", empty}, code: 1}, {args: []string{"--policy", broken, "docs/examples/access.log"}, code: 1}, {args: []string{"--log", "absent"}, code: 2},
			{code: 2}, {args: []string{"--log", "docs"}, code: 2}, {args: []string{"--field", "x", "docs/examples/access.log"}, code: 2}, {args: []string{"--html", "/absent/x", "docs/examples/access.log"}, code: 2}},
		"diff":  {{args: []string{"--old", "envoy.yaml", "--new", "envoy.yaml", "docs/examples/access.log"}}, {args: []string{"--old", broken, "--new", "envoy.yaml", "docs/examples/access.log"}, code: 1}, {args: []string{"--old", "envoy.yaml", "docs/examples/access.log"}, code: 2}, {args: []string{"--old", "-", "--new", "-", "docs/examples/access.log"}, code: 2}},
		"hash":  {{args: []string{"api_key", "x"}}, {args: []string{"api_key", "--policy", broken, "x"}, code: 1}, {args: []string{"absent", "x"}, code: 2}, {args: []string{"api_key"}, in: "a\nb\n", code: 2}, {code: 2}},
		"peek":  {{args: []string{"rl:{default|ip:1}", "--redis", redis}, code: 1}, {args: []string{"rl:{default|ip:1}"}, code: 2}, {args: []string{"no key", "--redis", redis}, code: 2}, {args: []string{"rl:{default|ip:1}", "--redis", "redis://a:b:c"}, code: 2}},
		"reset": {{args: []string{"rl:{default|ip:1}", "--redis", redis, "--yes"}, code: 1}, {args: []string{"rl:{default|ip:1}"}, code: 2}, {args: []string{"no key", "--redis", redis}, code: 2}},
		"top":   {{args: []string{"--redis", redis}, code: 1}, {code: 2}, {args: []string{"--redis", redis, "--share", "0"}, code: 2}, {args: []string{"--redis", redis, "--redis-ca", "absent"}, code: 2}},
		"render": {{args: []string{"--for", "envoy", "--redis", redis, "--policy", "docs/examples/policy.json"}}, {args: []string{"--for", "envoy", "--redis", redis, "--policy", broken}, code: 1},
			{args: []string{"--for", "docker", "--redis", redis}, code: 2}, {args: []string{"--for", "envoy"}, code: 2}, {args: []string{"--for", "envoy", "--redis", redis, "--policy", "absent"}, code: 2}},
		"import":   {{args: []string{"absent"}, code: 2}, {code: 2}},
		"bridge":   {{args: []string{"--redis", "redis://a:b:c"}, code: 2}, {args: []string{"now"}, code: 2}},
		"upstream": {{args: []string{"now"}, code: 2}, {args: []string{"--listen", "nope"}, code: 2}},
		"schema":   {{}, {args: []string{"x"}, code: 2}},
		"version":  {{}, {args: []string{"x"}, code: 2}},
	}
}

// todo are the words with which an error says what to do.
var todo = regexp.MustCompile(`(?i)(; see: routelimit|correct them:\n|\b(write|give|name|correct|choose|set|start|leave|run|take|build|put|export|add|log|use|check)\b[^;\n]*\s*$)`)

// Every verb ends with 0, 1 or 2 as its help says, its errors say in their end what to do, and what is no terminal gets no colours.
func TestEveryVerbEndsAsItsHelpSays(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	lists := outcomes(t)
	t.Chdir("../..")
	for _, verb := range verbs() {
		if len(lists[verb.Name()]) == 0 {
			t.Errorf("no command line of %s is tried", verb.Name())
		}
		for _, c := range lists[verb.Name()] {
			line := verb.Name() + " " + strings.Join(c.args, " ")
			code, stdout, stderr := callWith(t.Context(), c.in, append([]string{verb.Name()}, c.args...)...)
			if code != c.code {
				t.Errorf("%s: code %d, want %d; stderr %q", line, code, c.code, stderr)
			}
			if strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("%s: colours for what is no terminal: %q %q", line, stdout, stderr)
			}
			if code == exitUsage && (stdout != "" || !strings.HasPrefix(stderr, "routelimit: ")) {
				t.Errorf("%s: stdout %q, stderr %q", line, stdout, stderr)
			}
			if (code == exitUsage || code == exitFindings && stdout == "") && !todo.MatchString(strings.TrimSpace(stderr)) {
				t.Errorf("%s does not say what to do: %q", line, stderr)
			}
		}
	}
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		noColor, term string
		out           *os.File
		want          bool
	}{
		{"", "xterm", terminal, true}, {"1", "xterm", terminal, false}, {"0", "xterm", terminal, false}, // no-color.org: whatever it holds
		{"", "dumb", terminal, false}, {"", "xterm", file, false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := paintFor(c.out); bool(got) != c.want || strings.Contains(got.red("x"), "\x1b") != c.want {
			t.Errorf("NO_COLOR=%q TERM=%s %s: %v", c.noColor, c.term, c.out.Name(), got)
		}
	}
}

func TestShellsAreHelpedToComplete(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, _ := call(t, "completion", shell); code != exitOK || !strings.Contains(out, "routelimit") || len(out) < 1000 {
			t.Errorf("%s: code %d, %d bytes", shell, code, len(out))
		}
	}
	for line, want := range map[string]string{"__complete si": "simulate", "__complete run --engine ": "wazero", "__complete top --re": "--redis"} {
		args := words(line)
		if strings.HasSuffix(line, " ") {
			args = append(args, "")
		}
		if code, out, _ := call(t, args...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%q: code %d, %q", line, code, out)
		}
	}
}
