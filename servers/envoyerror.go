package servers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// EnvoyConfigError says why Envoy, or the module in it, refused a configuration.
type EnvoyConfigError struct {
	Reason  string   // Envoy's last word
	Module  []string // the lines that the module said about it, without Envoy's prefix; each says what to do
	LogFile string   // the whole log
}

func (e *EnvoyConfigError) Error() string {
	if len(e.Module) > 0 {
		return fmt.Sprintf("envoy refused its configuration (whole log: %s): %s", e.LogFile, strings.Join(e.Module, "\n"))
	}
	return fmt.Sprintf("envoy refused its configuration: %s; correct it (whole log: %s)", e.Reason, e.LogFile)
}

var (
	bindFailure = regexp.MustCompile(`cannot bind '([^']*):(\d+)': Address already in use`)
	// A line of Envoy's log: [time][thread][level][logger] [file:line] text. The module's lines start with "wasm log" and
	// names, and may go on over lines without any of this.
	logLine    = regexp.MustCompile(`^\[[^\]]+\]\[\d+\]\[(\w+)\]\[\w+\] (?:\[[^\]]*\] )?(.*)`)
	moduleText = regexp.MustCompile(`^wasm log[^:]*: (.*)`)
)

// configError reads from a log why a configuration was refused. Each VM says it again, so lines count once.
func configError(log, logFile string) *EnvoyConfigError {
	refused := &EnvoyConfigError{LogFile: logFile}
	speaking := false // the module, at a level that explains a refusal
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		said := line
		if m := logLine.FindStringSubmatch(line); m != nil {
			text := moduleText.FindStringSubmatch(m[2])
			speaking = text != nil && (m[1] == "error" || m[1] == "critical")
			if speaking {
				said = text[1]
			} else if m[1] == "critical" || refused.Reason == "" {
				refused.Reason = m[2]
			}
		}
		if speaking && !slices.Contains(refused.Module, said) {
			refused.Module = append(refused.Module, said)
		}
	}
	if refused.Reason == "" {
		refused.Reason = lastLine(log)
	}
	return refused
}
