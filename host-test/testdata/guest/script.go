//go:build wasip1

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// execution is one run of a callback's script.
type execution struct {
	id, root uint32
	answer   uint32
}

// token of the gRPC stream that the commands open, send, half and cancel mean.
var token uint32

// turn counts the answers of turns.
var turn int

// metrics and queues by name.
var ids = map[string]uint32{}

// unescaped puts line ends and zero bytes into arguments, which hold none themselves.
var unescaped = strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\0`, "\x00")

// do runs one command. Arguments hold no blanks; "/" joins the elements of a
// property's path.
func (e *execution) do(words []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	num := func(i int) uint32 {
		n, _ := strconv.ParseInt(arg(i), 0, 64)
		return uint32(n)
	}
	var r result
	var word uint32
	var long uint64
	p, l := unsafe.Pointer(&word), unsafe.Pointer(&long)
	log := func(rc uint32, brought ...any) {
		say(strings.TrimSpace(fmt.Sprint(strings.Join(words, " "), " = ", rc, " ", fmt.Sprint(brought...))))
	}
	switch words[0] {
	case "answer":
		e.answer = num(1)
	case "turns": // answer each argument in turn
		e.answer = num(1 + turn%(len(words)-1))
		turn++

	case "get":
		rc := proxyGetHeaderMapValue(num(1), at(arg(2)), size(arg(2)), r.at(), r.size())
		log(rc, r.text())
	case "pairs":
		rc := proxyGetHeaderMapPairs(num(1), r.at(), r.size())
		log(rc, pairs(r.text()))
	case "mapsize":
		rc := proxyGetHeaderMapSize(num(1), p)
		log(rc, word)
	case "add":
		log(proxyAddHeaderMapValue(num(1), at(arg(2)), size(arg(2)), at(arg(3)), size(arg(3))))
	case "replace":
		log(proxyReplaceHeaderMapValue(num(1), at(arg(2)), size(arg(2)), at(arg(3)), size(arg(3))))
	case "remove":
		log(proxyRemoveHeaderMapValue(num(1), at(arg(2)), size(arg(2))))
	case "setpairs":
		b := encode(words[2:])
		log(proxySetHeaderMapPairs(num(1), at(b), size(b)))

	case "buffer":
		rc := proxyGetBufferBytes(num(1), int32(num(2)), int32(num(3)), r.at(), r.size())
		log(rc, r.text())
	case "buffersize":
		rc := proxyGetBufferStatus(num(1), p, l)
		log(rc, word)
	case "setbuffer":
		log(proxySetBufferBytes(num(1), int32(num(2)), int32(num(3)), at(arg(4)), size(arg(4))))

	case "property":
		path := strings.ReplaceAll(arg(1), "/", "\x00")
		rc := proxyGetProperty(at(path), size(path), r.at(), r.size())
		log(rc, r.text())
	case "setproperty":
		path := strings.ReplaceAll(arg(1), "/", "\x00")
		log(proxySetProperty(at(path), size(path), at(arg(2)), size(arg(2))))
	case "foreign":
		b := unescaped.Replace(arg(2))
		log(proxyCallForeignFunction(at(arg(1)), size(arg(1)), at(b), size(b), r.at(), r.size()))

	case "reply": // reply status grpcStatus body details name value …
		h := encode(words[min(5, len(words)):])
		log(proxySendLocalResponse(num(1), at(arg(4)), size(arg(4)), at(arg(3)), size(arg(3)), at(h), size(h), int32(num(2))))
	case "continue":
		log(proxyContinueStream(num(1)))
	case "close":
		log(proxyCloseStream(num(1)))
	case "effective":
		id := map[string]uint32{"root": e.root, "self": e.id}[arg(1)]
		if id == 0 {
			id = num(1)
		}
		log(proxySetEffectiveContext(id))
	case "all": // all continue | all reply status: every held stream
		held = slices.DeleteFunc(held, func(id uint32) bool { return proxySetEffectiveContext(id) != 0 })
		for _, id := range held {
			proxySetEffectiveContext(id)
			if arg(1) == "continue" {
				proxyContinueStream(0)
			} else {
				proxySendLocalResponse(num(2), nil, 0, nil, 0, nil, 0, -1)
			}
		}
	case "done":
		log(proxyDone())

	case "now":
		rc := proxyGetCurrentTime(l)
		log(rc, long)
	case "level":
		rc := proxyGetLogLevel(p)
		log(rc, word)
	case "log":
		proxyLog(num(1), at(arg(2)), size(arg(2)))
	case "ticks":
		log(proxySetTickPeriod(num(1)))
	case "env":
		log(0, os.Getenv(arg(1)))

	case "define":
		rc := proxyDefineMetric(num(1), at(arg(2)), size(arg(2)), p)
		ids[arg(2)] = word
		log(rc)
	case "increment":
		n, _ := strconv.ParseInt(arg(2), 10, 64)
		log(proxyIncrementMetric(ids[arg(1)], n))
	case "record":
		log(proxyRecordMetric(ids[arg(1)], uint64(num(2))))
	case "metric":
		rc := proxyGetMetric(ids[arg(1)], l)
		log(rc, long)

	case "getshared":
		rc := proxyGetSharedData(at(arg(1)), size(arg(1)), r.at(), r.size(), p)
		log(rc, r.text(), " ", word)
	case "setshared":
		log(proxySetSharedData(at(arg(1)), size(arg(1)), at(arg(2)), size(arg(2)), num(3)))
	case "register":
		rc := proxyRegisterSharedQueue(at(arg(1)), size(arg(1)), p)
		ids[arg(1)] = word
		log(rc)
	case "resolve":
		rc := proxyResolveSharedQueue(nil, 0, at(arg(1)), size(arg(1)), p)
		ids[arg(1)] = word
		log(rc)
	case "enqueue":
		log(proxyEnqueueSharedQueue(ids[arg(1)], at(arg(2)), size(arg(2))))
	case "dequeue":
		rc := proxyDequeueSharedQueue(ids[arg(1)], r.at(), r.size())
		log(rc, r.text())

	case "httpcall":
		h := encode(nil)
		log(proxyHTTPCall(at(arg(1)), size(arg(1)), at(h), size(h), nil, 0, at(h), size(h), 0, p))
	case "call":
		s, h := service(arg(1)), encode(nil)
		log(proxyGRPCCall(at(s), size(s), at("s"), 1, at("m"), 1, at(h), size(h), nil, 0, 0, p))
	case "open":
		s, h := service(arg(1)), encode(nil)
		rc := proxyGRPCStream(at(s), size(s), at("routelimit.Link"), 15, at("Pipe"), 4, at(h), size(h), p)
		token = word
		log(rc, token)
	case "send": // send text [end]
		b := unescaped.Replace(arg(1))
		log(proxyGRPCSend(token, at(b), size(b), int32(num(2))))
	case "half":
		log(proxyGRPCClose(token))
	case "cancel":
		log(proxyGRPCCancel(token))
	case "status":
		rc := proxyGetStatus(p, r.at(), r.size())
		log(rc, word, " ", r.text())
	default:
		if !e.disturb(words[0], int(num(1))) {
			say("unknown command " + words[0])
		}
	}
}

// service encodes envoy.config.core.v3.GrpcService{envoy_grpc{cluster_name}}.
func service(cluster string) string {
	inner := "\x0a" + string(rune(len(cluster))) + cluster
	return "\x0a" + string(rune(len(inner))) + inner
}

// encode returns names and values in turn as pairs.
func encode(words []string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(words)/2))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(w)))
	}
	for _, w := range words {
		b = append(append(b, w...), 0)
	}
	return string(b)
}

// pairs returns encoded pairs as "name=value name=value".
func pairs(s string) string {
	if s == "" {
		return ""
	}
	n := int(binary.LittleEndian.Uint32([]byte(s)))
	fields := strings.Split(s[4+8*n:], "\x00")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s=%s ", fields[2*i], fields[2*i+1])
	}
	return b.String()
}
