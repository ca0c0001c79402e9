package hosttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSharedDataComparesAndSwaps(t *testing.T) {
	p := start(t, Options{}, "configure: getshared k; setshared k one 99; getshared k; setshared k two 7; setshared k two 1; getshared k; setshared k three 0; getshared k")
	want := []string{
		"getshared k = 1  0", "setshared k one 99 = 0", "getshared k = 0 one 1", "setshared k two 7 = 8",
		"setshared k two 1 = 0", "getshared k = 0 two 2", "setshared k three 0 = 0", "getshared k = 0 three 3",
	}
	if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
		t.Error(diff)
	}
	plugin(t, p.VM(), "configure: getshared k")
	if got := said(p.VM(), "getshared k"); got[len(got)-1] != "= 0 three 3" {
		t.Errorf("another root reads %q", got[len(got)-1])
	}
}

func TestSharedQueueTellsItsRoot(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{})
	plugin(t, vm, "configure: register jobs; dequeue jobs\nqueue_ready: dequeue jobs; dequeue jobs")
	plugin(t, vm, "configure: resolve none; resolve jobs; enqueue jobs one; enqueue none two; dequeue none")
	want := []string{
		"register jobs = 0", "dequeue jobs = 7", `vm_start ""`, "resolve none = 1", "resolve jobs = 0",
		"enqueue jobs one = 0", "enqueue none two = 1", "dequeue none = 1",
		"queue_ready [1]", "dequeue jobs = 0 one", "dequeue jobs = 7",
	}
	if diff := cmp.Diff(want, said(vm, "")[1:]); diff != "" {
		t.Error(diff)
	}
}
