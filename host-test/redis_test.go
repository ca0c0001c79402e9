package hosttest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
)

const bound = 5 * time.Second

func TestRedisAnswersOverTCP(t *testing.T) {
	server := miniredis.RunT(t)
	r := NewRedis(server.Addr(), RedisOptions{})
	defer r.Close()
	p := start(t, Options{Clusters: map[string]Backend{"redis": r}}, "configure: open redis; send "+ping+ping+"\ngrpc_receive: buffer 5 0 99")
	if r.Outstanding() != 2 {
		t.Errorf("%d outstanding", r.Outstanding())
	}
	if err := r.DeliverAll(bound); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(said(p.VM(), "buffer 5 0 99 = 0"), "")
	if got = strings.ReplaceAll(got, "\r\n", ""); got != "+PONG+PONG" || r.Outstanding() != 0 {
		t.Errorf("%q, %d outstanding", got, r.Outstanding())
	}
}

func TestRedisPutsTheClockIntoScriptCalls(t *testing.T) {
	server := miniredis.RunT(t)
	clock := NewClock()
	r := NewRedis(server.Addr(), RedisOptions{VirtualTime: clock})
	defer r.Close()
	// EVAL script 1 key numbers: the script answers with its first argument.
	eval := `*5\r\n$4\r\neval\r\n$14\r\nreturn{ARGV[1]}\r\n$1\r\n1\r\n$1\r\nk\r\n$7\r\n` + strings.Repeat(`\0`, 7) + `\r\n`
	eval = strings.Replace(eval, "$14", "$15", 1)
	p := start(t, Options{Clock: clock, Clusters: map[string]Backend{"redis": r}}, "configure: open redis; ticks 1000\ntick: send "+eval+"\ngrpc_receive: buffer 5 0 99")
	p.VM().Advance(time.Second)
	if err := r.DeliverAll(bound); err != nil {
		t.Fatal(err)
	}
	now := string(packedTime(clock.Now()))
	if got := strings.Join(said(p.VM(), "buffer"), " "); !strings.Contains(got, now) {
		t.Errorf("the script saw %q, the clock says %q", got, now)
	}
}

// packedTime is how a script is told a time: seven bytes, in ms since 1970.
func packedTime(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))[1:]
}

func TestPutTimeChangesScriptCallsOnly(t *testing.T) {
	now := time.UnixMilli(1729771200123)
	left, given, put := strings.Repeat("\x00", 7), strings.Repeat("\x00", 6)+"\x05", string(packedTime(now))
	for text, want := range map[string]string{
		"EVALSHA sha 1 key " + left + "more w60": "EVALSHA sha 1 key " + put + "more w60",
		"evalsha sha 1 key " + left:              "evalsha sha 1 key " + put,
		"EVAL script 1 key " + left + " " + left: "EVAL script 1 key " + put + " " + left,
		"EVALSHA sha 1 key " + given:             "EVALSHA sha 1 key " + given,
		"EVALSHA sha 1 key 0":                    "EVALSHA sha 1 key 0",
		"HSET key a 1 " + left:                   "HSET key a 1 " + left,
		"EVALSHA sha 1 key":                      "EVALSHA sha 1 key",
	} {
		command := bytes.Split([]byte(text), []byte(" "))
		putTime(command, now)
		if diff := cmp.Diff(want, string(bytes.Join(command, []byte(" ")))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRedisEndsStreamsAsEnvoyWould(t *testing.T) {
	listen := func(t *testing.T) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, c := range map[string]struct {
		serve  func(net.Conn)
		status string
	}{
		"refused": {nil, "14"},
		"closed in order": {func(c net.Conn) {
			readPing(c)
			c.Close()
		}, "2"},
		"reset": {func(c net.Conn) {
			readPing(c)
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}, "13"},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			defer l.Close()
			if c.serve == nil {
				l.Close()
			} else {
				go func() {
					if conn, err := l.Accept(); err == nil {
						c.serve(conn)
					}
				}()
			}
			r := NewRedis(l.Addr().String(), RedisOptions{})
			defer r.Close()
			p := start(t, Options{Clusters: map[string]Backend{"redis": r}}, "configure: open redis; send "+ping)
			if err := r.Deliver(bound); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"[6 " + c.status + "]"}, said(p.VM(), "grpc_close ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// readPing waits until the other side has connected and leaves nothing unread,
// which would turn an orderly close into a reset.
func readPing(c net.Conn) { io.ReadFull(c, make([]byte, len("*1\r\n$4\r\nPING\r\n"))) }

func TestRedisDeliverGivesUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // its backlog takes the connection, and nobody answers
	r := NewRedis(l.Addr().String(), RedisOptions{})
	defer r.Close()
	start(t, Options{Clusters: map[string]Backend{"redis": r}}, "configure: open redis; send "+ping)
	err = r.DeliverAll(20 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "sent nothing within 20ms; 1 commands have no reply") {
		t.Errorf("error %v", err)
	}
}

func TestRedisForgetsStreamsThePluginCancelled(t *testing.T) {
	server := miniredis.RunT(t)
	r := NewRedis(server.Addr(), RedisOptions{})
	defer r.Close()
	p := start(t, Options{Clusters: map[string]Backend{"redis": r}}, "configure: ticks 1; open redis; send "+ping+"\ntick: cancel; open redis; send "+ping+"; ticks 0\ngrpc_receive: log 2 received\ngrpc_close: log 2 closed")
	p.VM().Advance(time.Millisecond)
	if err := r.DeliverAll(bound); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"[10 7]"}, said(p.VM(), "grpc_receive ")); diff != "" {
		t.Error(diff)
	}
	if len(said(p.VM(), "closed")) != 0 {
		t.Error("a cancelled stream was closed")
	}
}
