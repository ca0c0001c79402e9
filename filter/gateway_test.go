//go:build !wasip1

package main_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

// frame is a message of gRPC as it travels.
func frame(message []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(b, message...)
}

// tunnel opens a stream through a filter in the gateway role.
func tunnel(t testing.TB) (*rig, *hosttest.Stream) {
	t.Helper()
	r := onScript(t, nil, `{"role": "gateway"}`)
	return r, open(r)
}

func open(r *rig) *hosttest.Stream {
	s := r.plugin.NewStream()
	s.SendHeaders(hosttest.RequestHeaders("POST", "gateway", "/routelimit.Link/Pipe", "content-type", "application/grpc"), false)
	return s
}

var command = []byte("*1\r\n$4\r\nPING\r\n")

func TestGatewayTakesTheFrameHeadsOffWhereverTheyAreCut(t *testing.T) {
	r, _ := tunnel(t)
	two := append(frame(command), frame([]byte("x"))...)
	for cut := range len(two) + 1 {
		s := open(r)
		r.want("passed", s)
		s.SendBody(two[:cut], false)
		s.SendBody(two[cut:], false)
		if got, want := s.Upstream().Body, append(bytes.Clone(command), 'x'); !bytes.Equal(got, want) {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
	}
	s := open(r)
	for i := range two {
		s.SendBody(two[i:i+1], false)
	}
	if got, want := s.Upstream().Body, append(bytes.Clone(command), 'x'); !bytes.Equal(got, want) {
		t.Fatalf("byte by byte: %q, want %q", got, want)
	}
}

func TestGatewayCarriesMessagesOfEverySize(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for name, messages := range map[string][][]byte{
		"one":                   {command},
		"empty":                 {{}},
		"empty between others":  {[]byte("a"), {}, {}, []byte("b")},
		"1 MiB":                 {large},
		"1 MiB between others":  {command, large, command},
		"heads within messages": {frame(command), frame(frame(nil))},
	} {
		for _, size := range []int{1 << 30, 1 << 14, 1<<14 + 3, 6} {
			if size == 6 && len(messages) == 1 && len(messages[0]) == len(large) {
				continue // the other sizes show the same in a tenth of the time
			}
			_, s := tunnel(t)
			var wire, want []byte
			for _, m := range messages {
				wire, want = append(wire, frame(m)...), append(want, m...)
			}
			for len(wire) > 0 {
				n := min(size, len(wire))
				s.SendBody(wire[:n], false)
				wire = wire[n:]
			}
			if got := s.Upstream().Body; !bytes.Equal(got, want) {
				t.Errorf("%s in pieces of %d: %d bytes arrived, want %d", name, size, len(got), len(want))
			}
			s.SendBody(nil, true)
			if !s.Upstream().Ended {
				t.Errorf("%s in pieces of %d: the end did not arrive", name, size)
			}
		}
	}
}

func TestGatewayFramesEveryPieceOfTheResponse(t *testing.T) {
	_, s := tunnel(t)
	s.SendBody(frame(command), false)
	s.RespondHeaders(hosttest.Headers{{":status", "200"}, {"content-type", "text/plain"}, {"x-other", "1"}}, false)
	var want []byte
	for _, piece := range []string{"+PONG\r\n", "x", string(bytes.Repeat([]byte("y"), 1<<20))} {
		s.RespondBody([]byte(piece), false)
		want = append(want, frame([]byte(piece))...)
	}
	s.RespondBody(nil, true)
	got := s.Client()
	if !bytes.Equal(got.Body, want) {
		t.Errorf("%d bytes, want %d", len(got.Body), len(want))
	}
	if diff := cmp.Diff([]string{"application/grpc"}, got.Headers.Values("content-type")); diff != "" {
		t.Error(diff)
	}
	if got.Headers.Get("x-other") != "1" || !got.Ended {
		t.Errorf("%v, ended %v", got.Headers, got.Ended)
	}
}

// Several tunnels of one VM do not mix.
func TestGatewayStreamsKeepApart(t *testing.T) {
	r, a := tunnel(t)
	b := open(r)
	a.SendBody(frame([]byte("aaaa"))[:7], false)
	b.SendBody(frame([]byte("bbbb"))[:3], false)
	a.SendBody([]byte("aa"), false)
	b.SendBody(frame([]byte("bbbb"))[3:], false)
	if got := string(a.Upstream().Body) + " " + string(b.Upstream().Body); got != "aaaa bbbb" {
		t.Error(got)
	}
}

func TestGatewayNeedsNothingOfTheLimiter(t *testing.T) {
	r, s := tunnel(t)
	s.SendBody([]byte("\x00\xff\xff\xff\xffgarbage of a client that speaks no gRPC"), false)
	s.Disconnect()
	if len(r.script.Streams()) != 0 || r.plugin.TickPeriod() != 0 {
		t.Error("the gateway has a link or a tick")
	}
	r.plugin.Close()
	r.plugin = r.configure(`{"role": "gateway"}`)
	r.want("passed", open(r))
}

// FuzzGateway: whatever comes in whatever pieces, the payload of whole messages
// arrives in order, and nothing else.
func FuzzGateway(f *testing.F) {
	f.Add(uint64(1), frame(command))
	f.Add(uint64(2), append(frame(nil), frame([]byte("abc"))...))
	f.Add(uint64(3), []byte("\x00\xff\xff\xff\xff"))
	f.Add(uint64(4), []byte{})
	r, _ := tunnel(f)
	f.Fuzz(func(t *testing.T, seed uint64, wire []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := open(r)
		for left := wire; len(left) > 0; {
			n := 1 + random.IntN(len(left))
			s.SendBody(left[:n], false)
			left = left[n:]
		}
		if got, want := s.Upstream().Body, payload(wire); !bytes.Equal(got, want) {
			t.Errorf("%q from %q, want %q", got, wire, want)
		}
		s.Disconnect()
		if r.vm.Dead() != nil || len(r.vm.Faults()) > 0 {
			t.Fatal(r.vm.Dead(), r.vm.Faults())
		}
	})
}

// payload is what the messages of a stream carry, the last as far as it came.
func payload(wire []byte) (all []byte) {
	for len(wire) >= 5 {
		size := int64(binary.BigEndian.Uint32(wire[1:]))
		wire = wire[5:]
		n := min(size, int64(len(wire)))
		all, wire = append(all, wire[:n]...), wire[n:]
	}
	return all
}
