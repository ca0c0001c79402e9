package hosttest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewPluginConfiguresEachRoot(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{VMConfiguration: []byte("vm"), Environment: map[string]string{"B": "two", "A": "one"}})
	first := plugin(t, vm, "configure: env A; env B; env C")
	second := plugin(t, vm, "configure: env B")
	if first.ID() == second.ID() {
		t.Error("both roots have one context id")
	}
	want := []string{"A = 0 one", "B = 0 two", "C = 0", "B = 0 two"}
	if diff := cmp.Diff(want, said(vm, "env ")); diff != "" {
		t.Error(diff)
	}
	if got := said(vm, "vm_start"); !slices.Equal(got, []string{`"vm"`, `"vm"`}) {
		t.Errorf("on_vm_start: %q", got)
	}
}

func TestNewPluginReturnsRefused(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{})
	good := plugin(t, vm, "request_headers: log 2 served")
	if _, err := vm.NewPlugin([]byte("configure: refuse")); !errors.Is(err, ErrRefused) {
		t.Fatalf("error %v", err)
	}
	good.Request(get(), nil)
	if got := said(vm, "served"); len(got) != 1 {
		t.Error("the good root does not serve any more")
	}
}

func TestConfigurationIsReadableInConfigureOnly(t *testing.T) {
	p := start(t, Options{}, "configure: buffer 7 0 10\nrequest_headers: buffer 7 0 10")
	p.Request(get(), nil)
	if diff := cmp.Diff([]string{"7 0 10 = 0 configure:", "7 0 10 = 1"}, said(p.VM(), "buffer ")); diff != "" {
		t.Error(diff)
	}
}

func TestTwoRootsServeSideBySide(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{})
	old := plugin(t, vm, "request_headers: log 2 served-by-old")
	update := plugin(t, vm, "request_headers: log 2 served-by-new")
	s := old.NewStream()
	update.Request(get(), nil)
	s.SendHeaders(get(), true)
	if diff := cmp.Diff([]string{"new", "old"}, said(vm, "served-by-")); diff != "" {
		t.Error(diff)
	}
}

func TestCloseEndsStreamsThenRoot(t *testing.T) {
	far := &Scripted{}
	p := start(t, Options{Clusters: map[string]Backend{"redis": far}}, "request_headers: open redis; ticks 10; answer 4\nlog: log 2 log\ndone: log 2 done\ndelete: log 2 delete\ntick: log 2 ticked\ngrpc_close: log 2 closed")
	s := p.Request(get(), nil)
	g := far.Stream()
	p.Close()
	if !s.Finished() || s.Client().Started {
		t.Error("the stream goes on, or was answered")
	}
	vm := p.VM()
	vm.Advance(time.Second)
	if len(said(vm, "tick [")) != 0 {
		t.Error("a closed root ticks")
	}
	if err := g.CloseRemote(2, ""); !errors.Is(err, ErrStreamClosed) {
		t.Errorf("the root's gRPC stream is open: %v", err)
	}
	var got []string
	for _, line := range said(vm, "") {
		if !strings.Contains(line, " ") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff([]string{"log", "done", "delete", "done", "delete"}, got); diff != "" {
		t.Error(diff)
	}
	if len(vm.Plugins()) != 0 {
		t.Error("the root is still there")
	}
	if late := p.Request(get(), nil); !late.Finished() || late.ID() != 0 {
		t.Error("a closed root takes requests")
	}
}

func TestCloseWaitsForDone(t *testing.T) {
	p := start(t, Options{}, "done: wait\ntick: done\ndelete: log 2 deleted\nconfigure: ticks 10")
	p.Close()
	if len(said(p.VM(), "deleted")) != 0 {
		t.Fatal("deleted at once")
	}
	p.VM().Advance(10 * time.Millisecond)
	if len(said(p.VM(), "deleted")) != 1 || len(p.VM().Plugins()) != 0 {
		t.Errorf("not deleted after proxy_done:\n%s", p.VM().LogText())
	}
	noFaults(t, p.VM())
}
