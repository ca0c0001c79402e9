package hosttest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ping = `*1\r\n$4\r\nPING\r\n`

func pong([][]byte) []byte { return []byte("+PONG\r\n") }

func TestScriptedAnswersWhenDelivered(t *testing.T) {
	p, far := link(t, "configure: ticks 1; open redis; send "+ping+ping+"\ntick: send "+ping+"\ngrpc_receive: buffer 5 0 99")
	far.Reply = pong
	p.VM().Advance(2 * time.Millisecond)
	if got := far.Pending(); got != 2*len("+PONG\r\n") {
		t.Errorf("%d bytes wait: what was asked before Reply was set is never answered", got)
	}
	if len(far.Commands()) != 4 {
		t.Errorf("%d commands", len(far.Commands()))
	}
	for range 2 {
		if n, err := far.DeliverBytes(5); n != 5 || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := far.Deliver(); n != 4 || err != nil || far.Pending() != 0 {
		t.Fatal(n, err, far.Pending())
	}
	want := []string{"5 0 99 = 0 +PONG", "5 0 99 = 0 \r\n+PO", "5 0 99 = 0 NG"}
	if diff := cmp.Diff(want, said(p.VM(), "buffer ")); diff != "" {
		t.Error(diff)
	}
	if n, err := far.Deliver(); n != 0 || err != nil {
		t.Error(n, err)
	}
	if far.Err() != nil {
		t.Error(far.Err())
	}
}

func TestScriptedReadsCommandsCutAnywhere(t *testing.T) {
	whole := "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n*1\r\n$4\r\nPING\r\n"
	for cut := range len(whole) {
		var c commands
		first, err := c.read([]byte(whole[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.read([]byte(whole[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		want := [][][]byte{{[]byte("ECHO"), []byte("hi")}, {[]byte("PING")}}
		if diff := cmp.Diff(want, append(first, second...)); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
	}
}

func TestScriptedReadsManyCommandsInOneMessage(t *testing.T) {
	var c commands
	list, err := c.read([]byte(strings.Repeat("*1\r\n$4\r\nPING\r\n", 10000)))
	if len(list) != 10000 || err != nil {
		t.Errorf("%d commands, %v", len(list), err)
	}
}

func TestScriptedReportsWhatIsNoCommand(t *testing.T) {
	for _, text := range []string{"PING\r\n", "+PING\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"} {
		var c commands
		if list, err := c.read([]byte(text)); err == nil {
			t.Errorf("%q was read as %q", text, list)
		}
	}
}

func TestScriptedClosesWhatThePluginHalfClosed(t *testing.T) {
	p, far := link(t, "configure: open redis; ticks 1\ntick: send "+ping+"; half; ticks 0\ngrpc_close: log 2 closed\ngrpc_receive: log 2 received")
	far.Reply = pong
	p.VM().Advance(time.Millisecond)
	if len(said(p.VM(), "closed")) != 0 {
		t.Error("closed before Deliver")
	}
	if n, err := far.Deliver(); n != 0 || err != nil {
		t.Error(n, err)
	}
	if diff := cmp.Diff([]string{"[6 2]"}, said(p.VM(), "grpc_close ")); diff != "" {
		t.Error(diff)
	}
	if len(said(p.VM(), "received")) != 0 {
		t.Error("a reply came behind the half close")
	}
}

func TestScriptedCloseAll(t *testing.T) {
	p, far := link(t, "configure: open redis; open redis")
	if err := far.CloseAll(13, "reset"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"[6 13]", "[10 13]"}, said(p.VM(), "grpc_close ")); diff != "" {
		t.Error(diff)
	}
	if far.Stream() != nil {
		t.Error("a stream is open")
	}
}

func TestScriptedFrozenReadsLater(t *testing.T) {
	p, far := link(t, "configure: ticks 1; open redis\ntick: send "+ping)
	far.Reply, far.Frozen = pong, true
	p.VM().Advance(2 * time.Millisecond)
	if n, err := far.Deliver(); n != 0 || err != nil || len(far.Commands()) != 0 {
		t.Errorf("%d bytes, %v, %d commands", n, err, len(far.Commands()))
	}
	far.Frozen = false
	if n, err := far.Deliver(); n != 2*len("+PONG\r\n") || err != nil || len(far.Commands()) != 2 {
		t.Errorf("%d bytes, %v, %d commands", n, err, len(far.Commands()))
	}
}

func TestScriptedFrozenTripsTheFloodGuard(t *testing.T) {
	p, far := link(t, "configure: ticks 1; open redis\ntick: send x")
	far.Frozen = true
	p.VM().Advance(10000 * time.Millisecond)
	if far.Stream() == nil {
		t.Fatal("closed by 10,000 messages")
	}
	p.VM().Advance(time.Millisecond)
	if diff := cmp.Diff([]string{"[6 13]"}, said(p.VM(), "grpc_close ")); diff != "" {
		t.Error(diff)
	}
}
