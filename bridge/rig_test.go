package bridge

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"routelimit/limit"
	"routelimit/resp"
)

func TestMain(m *testing.M) {
	logging.Disable() // as the program does
	os.Exit(m.Run())
}

// fakeRedis is a server that a test plays. It notes every command that carries a script, and PONGs.
type fakeRedis struct {
	t        *testing.T
	listener net.Listener

	mutex sync.Mutex
	play  func(command []string) string // "": it says nothing; "close": it hangs up
	seen  []string                      // the names and keys of commands with a script
}

func startFake(t *testing.T, play func([]string) string) *fakeRedis {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeRedis{t: t, listener: listener, play: play}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

func (f *fakeRedis) addr() string { return f.listener.Addr().String() }

func (f *fakeRedis) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		command, err := readCommand(in)
		if err != nil {
			return
		}
		reply := f.reply(command)
		if reply == "close" {
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func (f *fakeRedis) reply(command []string) string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch name := strings.ToUpper(command[0]); name {
	case "EVALSHA", "EVAL":
		f.seen = append(f.seen, name+" "+command[3])
	case "ASKING":
		f.seen = append(f.seen, name)
		return "+OK\r\n"
	case "PING":
		return "+PONG\r\n"
	case "HELLO":
		return "-ERR unknown command 'HELLO'\r\n"
	}
	return f.play(command)
}

func (f *fakeRedis) commands() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]string{}, f.seen...)
}

func readCommand(in *bufio.Reader) ([]string, error) {
	count, err := readLength(in)
	if err != nil {
		return nil, err
	}
	var command []string
	for range count {
		size, err := readLength(in)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		command = append(command, string(text[:size]))
	}
	return command, nil
}

func readLength(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// echo answers a call with its key.
func echo(command []string) string {
	return string(resp.AppendBulk(nil, command[3]))
}

// rig is a bridge with what a test needs of it.
type rig struct {
	t       *testing.T
	bridge  *Bridge
	addr    string
	admin   string
	end     context.CancelFunc
	ended   chan error
	logText *logText
}

type logText struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// patience is what anything may take on a busy machine.
const patience = 20 * time.Second

func start(t *testing.T, store Store, change ...func(*Options)) *rig {
	t.Helper()
	log := &logText{}
	if store.Password == nil {
		store.Password = func() (string, error) { return "", nil }
	}
	store.Network, store.PoolSize = "tcp", 16
	o := Options{
		Store: store, Prefixes: []string{"rl"}, Timeout: patience, MaxStreams: 8, MaxMessage: 1 << 20, MaxCommands: 1000,
		SendTimeout: patience, DrainTime: patience, Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	streams, admin := listen(), listen()
	ctx, end := context.WithCancel(context.Background())
	r := &rig{t: t, bridge: New(o), addr: streams.Addr().String(), admin: "http://" + admin.Addr().String(), end: end, ended: make(chan error, 1), logText: log}
	go func() { r.ended <- r.bridge.Serve(ctx, streams, admin) }()
	t.Cleanup(func() {
		end()
		r.waitEnd()
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
	return r
}

// waitEnd waits until Serve has returned, once.
func (r *rig) waitEnd() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			r.t.Errorf("Serve: %v", err)
		}
	case <-time.After(2 * patience):
		r.t.Error("Serve does not return")
	}
}

// client is one stream of the module's.
type client struct {
	t       *testing.T
	conn    *grpc.ClientConn
	stream  grpc.ClientStream
	decoder resp.Decoder
}

// connection is one to the bridge, which may carry several streams.
func (r *rig) connection() *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

func (r *rig) open() *client { return r.openOn(r.connection()) }

func (r *rig) openOn(conn *grpc.ClientConn) *client {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.t.Cleanup(cancel)
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+service+"/"+method)
	if err != nil {
		r.t.Fatal(err)
	}
	return &client{t: r.t, conn: conn, stream: stream}
}

func (c *client) send(message []byte) {
	c.t.Helper()
	if err := c.stream.SendMsg(replies(message)); err != nil && err != io.EOF {
		c.t.Fatal(err)
	}
}

// receive is the next n replies: a bulk string's or an error's text, an integer in decimal.
func (c *client) receive(n int) (texts []string, err error) {
	for len(texts) < n {
		v, short := c.decoder.Next()
		if short == resp.ErrShort {
			if err := c.stream.RecvMsg(&c.decoder); err != nil {
				return texts, err
			}
			continue
		}
		if short != nil {
			return texts, short
		}
		text := string(v.Text)
		switch v.Kind {
		case resp.Error:
			text = "-" + text
		case resp.Integer:
			text = ":" + strconv.FormatInt(v.Int, 10)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// ask sends a message and returns n replies.
func (c *client) ask(message []byte, n int) []string {
	c.t.Helper()
	c.send(message)
	got, err := c.receive(n)
	if err != nil {
		c.t.Fatalf("after %q: %v", got, err)
	}
	return got
}

var oneLimit = []limit.Charge{{Limit: &limit.Limit{Limit: 10, Window: time.Minute}, Cost: 1}}

// decide is the module's command for a caller, whose key is keyOf it.
func decide(caller string) []byte { return limit.AppendDecide(nil, []byte(keyOf(caller)), 0, oneLimit) }

func keyOf(caller string) string { return "rl:{GET:/|caller:" + caller + "}" }

// array is a command as it is written.
func array(elems ...string) []byte {
	b := resp.AppendArray(nil, len(elems))
	for _, e := range elems {
		b = resp.AppendBulk(b, e)
	}
	return b
}

// eventually polls until check is true.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !check(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
