package hosttest

import "strings"

// LogLevel is a level of proxy_log.
type LogLevel uint32

const (
	LogTrace LogLevel = iota
	LogDebug
	LogInfo
	LogWarn
	LogError
	LogCritical
)

func (l LogLevel) String() string {
	return [...]string{"trace", "debug", "info", "warn", "error", "critical"}[min(l, LogCritical)]
}

// LogLine is one line that the plugin or its Go runtime wrote. What goes to
// standard output has level info, what goes to standard error has level error,
// and a trap of the VM has level critical.
type LogLine struct {
	Level LogLevel
	Text  string
}

// Logs returns the lines written so far, of the level asked for and above.
func (vm *VM) Logs(least LogLevel) []LogLine {
	var lines []LogLine
	for _, line := range vm.logs {
		if line.Level >= least {
			lines = append(lines, line)
		}
	}
	return lines
}

// LogText returns all lines as one text.
func (vm *VM) LogText() string {
	var b strings.Builder
	for _, line := range vm.logs {
		b.WriteString(line.Level.String() + " " + line.Text + "\n")
	}
	return b.String()
}

func (vm *VM) logLine(level LogLevel, text string) {
	line := LogLine{Level: level, Text: text}
	switch o := &vm.host.options; {
	case level < o.LogLevel:
	case o.OnLog != nil:
		o.OnLog(line)
	default:
		vm.logs = append(vm.logs, line)
	}
}

func (in *instance) log(args []uint64) uint32 {
	level := LogLevel(args[0])
	if level > LogCritical {
		return resultBadArgument
	}
	text, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	in.vm.logLine(level, string(text))
	return resultOK
}

func (in *instance) getLogLevel(args []uint64) uint32 {
	if !in.writeUint32(args[0], uint32(in.vm.host.options.LogLevel)) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}
