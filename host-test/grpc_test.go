package hosttest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// link returns a root whose configuration opens a stream, and its far end.
// Further commands run on the tick, one a millisecond: tick N is the N-th.
func link(t *testing.T, script string) (*Plugin, *Scripted) {
	t.Helper()
	far := &Scripted{}
	return start(t, Options{Clusters: map[string]Backend{"redis": far}}, script), far
}

func TestGRPCStreamCarriesMessagesBothWays(t *testing.T) {
	p, far := link(t, "configure: open redis; send PING\ngrpc_initial_metadata: pairs 4\ngrpc_receive: buffer 5 0 99; send MORE\n")
	g := far.Stream()
	if g.Cluster != "redis" || g.Service != "routelimit.Link" || g.Method != "Pipe" || g.Token() != 6 || g.Plugin() != p {
		t.Errorf("%+v", g)
	}
	for _, b := range []string{"one", "two"} {
		if err := g.Deliver([]byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"open redis = 0 6", "send PING = 0",
		"grpc_initial_metadata [6 2]", "pairs 4 = 0 :status=200 content-type=application/grpc",
		"grpc_receive [6 3]", "buffer 5 0 99 = 0 one", "send MORE = 0",
		"grpc_receive [6 3]", "buffer 5 0 99 = 0 two", "send MORE = 0",
	}
	if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
		t.Error(diff)
	}
	if g.Messages() != 3 || g.Bytes() != 12 {
		t.Errorf("%d messages of %d bytes", g.Messages(), g.Bytes())
	}
}

func TestGRPCStreamWithoutAHostFailsAndClosesAnUnknownToken(t *testing.T) {
	for cluster, why := range map[string]string{"none": "Cluster not available", "redis": "no healthy upstream"} {
		t.Run(why, func(t *testing.T) {
			far := &Scripted{Refuse: true}
			p := start(t, Options{Clusters: map[string]Backend{"redis": far}}, "configure: open "+cluster+"; log 2 still-configuring\ngrpc_close: status; half")
			want := []string{"open " + cluster + " = 10 0", "still-configuring", "grpc_close [6 14]", "status = 0 14 " + why, "half = 2"}
			if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGRPCTokensCountUpByFour(t *testing.T) {
	p, _ := link(t, "configure: open redis; open none; open redis")
	if diff := cmp.Diff([]string{"redis = 0 6", "none = 10 0", "redis = 0 14"}, said(p.VM(), "open ")); diff != "" {
		t.Error(diff)
	}
}

// What the plugin's calls answer once a stream has ended, by how it did.
func TestGRPCCallsAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		remote bool // the far end closes before the tick
		want   []string
	}{
		"remote end: sends vanish until closed": {"tick: send X; half; send X; half; cancel", true,
			[]string{"send X = 0", "half = 0", "send X = 1", "half = 1", "cancel = 1"}},
		"own close":       {"tick: half; send X; half", false, []string{"half = 0", "send X = 1", "half = 1"}},
		"own cancel":      {"tick: cancel; send X; half; cancel", false, []string{"cancel = 0", "send X = 1", "half = 1", "cancel = 1"}},
		"end of own side": {"tick: send X 1; send X; half; send X", false, []string{"send X 1 = 0", "send X = 0", "half = 0", "send X = 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, far := link(t, "configure: open redis; ticks 1\n"+c.script)
			g := far.Stream()
			if c.remote {
				if err := g.CloseRemote(13, "reset"); err != nil {
					t.Fatal(err)
				}
			}
			p.VM().Advance(time.Millisecond)
			got := said(p.VM(), "")
			if diff := cmp.Diff(c.want, got[len(got)-len(c.want):]); diff != "" {
				t.Error(diff)
			}
			sent := map[string]int{"end of own side": 1}[name]
			if g.Messages() != sent {
				t.Errorf("%d messages reached the far end", g.Messages())
			}
		})
	}
}

func TestGRPCCloseTellsStatus(t *testing.T) {
	p, far := link(t, "configure: open redis\ngrpc_close: status; half\ngrpc_trailing_metadata: pairs 5")
	g := far.Stream()
	if err := g.CloseRemote(2, "via_upstream"); err != nil {
		t.Fatal(err)
	}
	want := []string{"grpc_initial_metadata [6 2]", "grpc_trailing_metadata [6 0]", "pairs 5 = 0", "grpc_close [6 2]", "status = 0 2 via_upstream", "half = 0"}
	if diff := cmp.Diff(want, said(p.VM(), "")[2:]); diff != "" {
		t.Error(diff)
	}
	for _, err := range []error{g.CloseRemote(13, ""), g.Deliver([]byte("late"))} {
		if !errors.Is(err, ErrStreamClosed) {
			t.Errorf("error %v", err)
		}
	}
}

func TestGRPCCancelHasNoCallback(t *testing.T) {
	p, far := link(t, "configure: open redis; ticks 1\ntick: cancel\ngrpc_close: log 2 closed")
	g := far.Stream()
	p.VM().Advance(time.Millisecond)
	if len(said(p.VM(), "closed")) != 0 || g.Open() || far.Stream() != nil {
		t.Errorf("open %v\n%s", g.Open(), p.VM().LogText())
	}
}

func TestGRPCTokensBelongToTheirRoot(t *testing.T) {
	p, far := link(t, "configure: open redis\ngrpc_receive: log 2 old-received")
	plugin(t, p.VM(), "configure: send X; half; cancel\ngrpc_receive: log 2 new-received")
	if diff := cmp.Diff([]string{"send X = 1", "half = 1", "cancel = 1"}, said(p.VM(), "")[3:]); diff != "" {
		t.Error(diff)
	}
	if err := far.Stream().Deliver([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if len(said(p.VM(), "old-received")) != 1 || len(said(p.VM(), "new-received")) != 0 {
		t.Error(p.VM().LogText())
	}
}

func TestGRPCStreamOpenedByARequestOutlivesIt(t *testing.T) {
	p, far := link(t, "request_headers: open redis\ngrpc_receive: log 2 received")
	p.Request(get(), nil).Disconnect()
	if err := far.Stream().Deliver([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := said(p.VM(), "grpc_receive"); len(got) != 1 || len(said(p.VM(), "received")) != 1 {
		t.Error(p.VM().LogText())
	}
}

func TestGRPCReceiveAnswersWaitingStreams(t *testing.T) {
	p, far := link(t, "request_headers: open redis; answer 4\ngrpc_receive: all reply 429")
	a, b := p.Request(get(), nil), p.Request(get(), nil)
	if err := far.Streams()[0].Deliver([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if a.Status() != "429" || b.Status() != "429" {
		t.Errorf("%q %q", a.Status(), b.Status())
	}
	noFaults(t, p.VM())
}

func TestGRPCCallsWithBadArguments(t *testing.T) {
	p, _ := link(t, "configure: half; open redis; call redis; httpcall redis")
	want := []string{"half = 2", "open redis = 0 6", "call redis = 10", "httpcall redis = 2", "grpc_close [5 14]"}
	if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestClusterOfReadsTheServiceMessage(t *testing.T) {
	for service, want := range map[string]string{
		"\x0a\x07\x0a\x05redis":          "redis",
		"\x12\x01x\x0a\x07\x0a\x05redis": "redis", // another field before
		"":                               "error",
		"\x0a\x07\x0a\x05red":            "error",
		"\x12\x02hi":                     "error",
		"\x08\x01":                       "error",
	} {
		got, err := clusterOf([]byte(service))
		if (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%q: %q, %v", service, got, err)
		}
	}
}

func TestDeliverFromInsideAHostcallIsRefused(t *testing.T) {
	var inside error
	far := &Scripted{}
	far.Reply = func([][]byte) []byte {
		inside = far.Stream().Deliver([]byte("x"))
		return nil
	}
	start(t, Options{Clusters: map[string]Backend{"redis": far}}, `configure: open redis; send *1\r\n$4\r\nPING\r\n`)
	if inside == nil || !strings.Contains(inside.Error(), "inside a hostcall") {
		t.Errorf("error %v", inside)
	}
}
