package hosttest

import (
	"encoding/binary"
	"io"

	"github.com/tetratelabs/wazero/api"
)

const wasiModule = "wasi_snapshot_preview1"

// The errors of WASI that Envoy answers.
const (
	errnoBadf   = 8
	errnoFault  = 21
	errnoInval  = 28
	errnoNoent  = 44
	errnoNosys  = 52
	errnoNotsup = 58
)

// wasiFunctions are the 18 functions of WASI that every Envoy since 1.33
// offers, with its answers (proxy-wasm-cpp-host, exports.cc). Envoy 1.39 added
// the rest of WASI, which a module that is to load everywhere cannot import.
var wasiFunctions = []hostFunction{
	{name: "args_get", params: ints(2), run: wasiAnswer(0)},
	{name: "args_sizes_get", params: ints(2), run: (*instance).wasiTwoZeros},
	{name: "environ_get", params: ints(2), run: (*instance).wasiEnviron},
	{name: "environ_sizes_get", params: ints(2), run: (*instance).wasiEnvironSizes},
	{name: "clock_time_get", params: []api.ValueType{i32, i64, i32}, run: (*instance).wasiClockTime},
	{name: "random_get", params: ints(2), run: (*instance).wasiRandom},
	{name: "poll_oneoff", params: ints(4), run: (*instance).wasiPoll},
	{name: "sched_yield", params: nil, run: wasiAnswer(0)},
	{name: "proc_exit", params: ints(1), void: true, run: (*instance).wasiExit},
	{name: "fd_write", params: ints(4), run: (*instance).wasiWrite},
	{name: "fd_read", params: ints(4), run: wasiAnswer(errnoNosys)},
	{name: "fd_seek", params: []api.ValueType{i32, i64, i32, i32}, run: (*instance).wasiSeek},
	{name: "fd_close", params: ints(1), run: (*instance).wasiClose},
	{name: "fd_fdstat_get", params: ints(2), run: (*instance).wasiFdstat},
	{name: "fd_fdstat_set_flags", params: ints(2), run: wasiAnswer(errnoNosys)},
	{name: "fd_prestat_get", params: ints(2), run: wasiAnswer(errnoBadf)},
	{name: "fd_prestat_dir_name", params: ints(3), run: wasiAnswer(errnoNosys)},
	{name: "path_open", params: []api.ValueType{i32, i32, i32, i32, i32, i64, i64, i32, i32}, run: wasiAnswer(errnoNoent)},
}

func wasiAnswer(errno uint32) func(*instance, []uint64) uint32 {
	return func(*instance, []uint64) uint32 { return errno }
}

// allowedAtStart are the calls that Envoy allows while _initialize runs
// (proxy-wasm-cpp-host, wasm.cc, startVm); any other traps.
func allowedAtStart(g Generation) map[string]bool {
	allowed := allow("fd_write", "args_sizes_get", "args_get", "environ_sizes_get", "environ_get",
		"fd_prestat_get", "fd_prestat_dir_name", "clock_time_get", "random_get", "fd_fdstat_get", "fd_fdstat_set_flags")
	if g == Current {
		allowed[wasiModule+".poll_oneoff"] = true
	}
	return allowed
}

// allowedInAllocate are the calls that Envoy allows while the plugin allocates
// memory for it (allocMemory in wasm.h).
func allowedInAllocate(g Generation) map[string]bool {
	if g == Current {
		return allow("fd_write", "clock_time_get", "poll_oneoff")
	}
	return allow("fd_write", "clock_time_get")
}

func allow(wasi ...string) map[string]bool {
	allowed := map[string]bool{"env.proxy_log": true}
	for _, name := range wasi {
		allowed[wasiModule+"."+name] = true
	}
	return allowed
}

func (in *instance) wasiTwoZeros(args []uint64) uint32 {
	if !in.writeUint32(args[0], 0) || !in.writeUint32(args[1], 0) {
		return errnoFault
	}
	return 0
}

func (in *instance) wasiEnviron(args []uint64) uint32 {
	pointers, at := args[0], args[1]
	for _, v := range in.vm.host.options.environment() {
		if !in.writeUint32(pointers, uint32(at)) || !in.mod.Memory().Write(uint32(at), append([]byte(v), 0)) {
			return errnoFault
		}
		pointers += 4
		at += uint64(len(v)) + 1
	}
	return 0
}

func (in *instance) wasiEnvironSizes(args []uint64) uint32 {
	env := in.vm.host.options.environment()
	size := 0
	for _, v := range env {
		size += len(v) + 1
	}
	if !in.writeUint32(args[0], uint32(len(env))) || !in.writeUint32(args[1], uint32(size)) {
		return errnoFault
	}
	return 0
}

func (in *instance) wasiClockTime(args []uint64) uint32 {
	const realtime, monotonic = 0, 1
	clock := in.vm.host.Clock()
	var now uint64
	switch args[0] {
	case realtime:
		now = uint64(clock.real.UnixNano())
	case monotonic:
		now = uint64(monotonicStart + clock.elapsed)
	default:
		return errnoNotsup
	}
	if !in.writeUint64(args[2], now) {
		return errnoFault
	}
	return 0
}

// maxRandom is the most that Envoy gives in one call of random_get.
const maxRandom = 64 << 10

func (in *instance) wasiRandom(args []uint64) uint32 {
	if args[1] > maxRandom {
		return errnoInval
	}
	view, ok := in.mod.Memory().Read(uint32(args[0]), uint32(args[1]))
	if !ok {
		return errnoFault
	}
	if _, err := io.ReadFull(in.vm.host.options.Random, view); err != nil {
		return errnoFault
	}
	return 0
}

// wasiPoll reports no event. Envoy up to 1.38 does not know the call.
func (in *instance) wasiPoll(args []uint64) uint32 {
	if in.vm.host.options.Generation == Old {
		return errnoNosys
	}
	if !in.writeUint32(args[3], 0) {
		return errnoFault
	}
	return 0
}

// wasiExit only logs, as in Envoy; what a runtime does after it traps.
func (in *instance) wasiExit([]uint64) uint32 {
	in.vm.logLine(LogError, "wasi_unstable proc_exit")
	return 0
}

func (in *instance) wasiSeek([]uint64) uint32 {
	in.vm.logLine(LogError, "wasi_unstable fd_seek")
	return 0
}

func (in *instance) wasiClose([]uint64) uint32 {
	in.vm.logLine(LogError, "wasi_unstable fd_close")
	return 0
}

const stdout, stderr = 1, 2

// wasiFdstat knows standard output and standard error, which can be written to.
func (in *instance) wasiFdstat(args []uint64) uint32 {
	if args[0] != stdout && args[0] != stderr {
		return errnoBadf
	}
	const rightsWrite = 64
	stat := make([]byte, 24)
	binary.LittleEndian.PutUint64(stat[8:], rightsWrite)
	if !in.mod.Memory().Write(uint32(args[1]), stat) {
		return errnoFault
	}
	return 0
}

// wasiWrite makes each write one log line.
func (in *instance) wasiWrite(args []uint64) uint32 {
	levels := map[uint64]LogLevel{stdout: LogInfo, stderr: LogError}
	level, ok := levels[args[0]]
	if !ok {
		return errnoBadf
	}
	var text []byte
	for i := range args[2] {
		vector, ok := in.read(args[1]+8*i, 8)
		if !ok {
			return errnoFault
		}
		b, ok := in.read(uint64(binary.LittleEndian.Uint32(vector)), uint64(binary.LittleEndian.Uint32(vector[4:])))
		if !ok {
			return errnoFault
		}
		text = append(text, b...)
	}
	if n := len(text); n > 0 {
		line := text
		if line[n-1] == '\n' {
			line = line[:n-1]
		}
		in.vm.logLine(level, string(line))
	}
	if !in.writeUint32(args[3], uint32(len(text))) {
		return errnoFault
	}
	return 0
}
