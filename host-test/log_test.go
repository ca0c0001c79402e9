package hosttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogsHaveTheirLevel(t *testing.T) {
	p := start(t, Options{LogLevel: LogWarn}, "configure: level; log 2 info; log 3 warned; log 4 wrong; log 9 none")
	want := []LogLine{{LogWarn, "warned"}, {LogError, "wrong"}}
	if diff := cmp.Diff(want, p.VM().Logs(LogTrace)); diff != "" {
		t.Error(diff)
	}
	if got, want := p.VM().LogText(), "warn warned\nerror wrong\n"; got != want {
		t.Errorf("%q", got)
	}
	if got := p.VM().Calls("proxy_get_log_level"); got != 1 {
		t.Errorf("proxy_get_log_level was called %d times", got)
	}
}

func TestOnLogGetsTheLinesInstead(t *testing.T) {
	var lines []LogLine
	p := start(t, Options{LogLevel: LogWarn, OnLog: func(l LogLine) { lines = append(lines, l) }}, "configure: log 3 warned; log 2 info")
	if diff := cmp.Diff([]LogLine{{LogWarn, "warned"}}, lines); diff != "" {
		t.Error(diff)
	}
	if len(p.VM().Logs(LogTrace)) != 0 {
		t.Error("lines were kept")
	}
}
