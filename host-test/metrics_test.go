package hosttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsAreTheProcessOwn(t *testing.T) {
	h := NewHost(overlaidGuest, Options{})
	for range 2 {
		vm, err := h.NewVM(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer vm.Close()
		plugin(t, vm, "configure: define 0 c; define 1 g; define 2 h; increment c 2; record c 1; record g 5; increment g -1; record h 7; metric c; metric g; metric h")
		plugin(t, vm, "configure: define 0 c; increment c 1")
	}
	if h.Counter("c") != 8 || h.Gauge("g") != 4 {
		t.Errorf("counter %d, gauge %d", h.Counter("c"), h.Gauge("g"))
	}
	if diff := cmp.Diff([]uint64{7, 7}, h.Histogram("h")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c", "g", "h"}, h.Metrics()); diff != "" {
		t.Error(diff)
	}
}

func TestMetricCallsAnswerAsEnvoyDoes(t *testing.T) {
	p := start(t, Options{}, "configure: define 0 c; define 2 h; define 3 x; increment c 0; increment c -1; increment h 1; increment none 1; record none 1; metric h; metric none; record c 4; metric c")
	want := []string{
		"define 0 c = 0", "define 2 h = 0", "define 3 x = 2",
		"increment c 0 = 2", "increment c -1 = 2", "increment h 1 = 2", "increment none 1 = 1",
		"record none 1 = 1", "metric h = 2 0", "metric none = 1 0", "record c 4 = 0", "metric c = 0 4",
	}
	if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestAHostMayTakeTheValuesOfHistogramsItself(t *testing.T) {
	var got []uint64
	h := NewHost(overlaidGuest, Options{OnRecord: func(name string, value uint64) {
		if name != "h" {
			t.Errorf("a value for %q", name)
		}
		got = append(got, value)
	}})
	vm, err := h.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	plugin(t, vm, "configure: define 2 h; record h 7; record h 9")
	if diff := cmp.Diff([]uint64{7, 9}, got); diff != "" || len(h.Histogram("h")) != 0 {
		t.Errorf("%s, kept %v", diff, h.Histogram("h"))
	}
}
