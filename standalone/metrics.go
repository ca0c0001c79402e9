package standalone

import (
	"maps"
	"math"
	"slices"
	"sort"

	"routelimit/servers"
)

// Metrics are the module's counters and gauges, summed over all workers, and its histograms.
type Metrics struct {
	Values     map[string]uint64
	Histograms map[string][]servers.Bucket
}

// bounds are those that envoy.yaml gives to the histogram of decisions, and finer ones.
var bounds = []uint64{1, 2, 4, 8, 16, 32, 64, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000, 20000, 30000, 50000, 100000}

// histograms count values by the bound below which they lie, the last place being for what is above all.
type histograms map[string]*[23]uint64

func (h histograms) record(name string, value uint64) {
	counts := h[name]
	if counts == nil {
		counts = new([23]uint64)
		h[name] = counts
	}
	counts[sort.Search(len(bounds), func(i int) bool { return value <= bounds[i] })]++
}

// Metrics asks every worker.
func (s *Server) Metrics() (*Metrics, error) {
	all := &Metrics{Values: map[string]uint64{}, Histograms: map[string][]servers.Bucket{}}
	for _, w := range s.workers {
		if err := w.do(func() { all.add(w) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (m *Metrics) add(w *worker) {
	for _, name := range w.host.Metrics() {
		m.Values[name] = max(m.Values[name], w.host.Gauge(name)) + w.host.Counter(name) // one of the two is 0
	}
	for _, name := range slices.Sorted(maps.Keys(w.histogram)) {
		counts := w.histogram[name]
		if m.Histograms[name] == nil {
			for _, bound := range bounds {
				m.Histograms[name] = append(m.Histograms[name], servers.Bucket{UpTo: float64(bound)})
			}
			m.Histograms[name] = append(m.Histograms[name], servers.Bucket{UpTo: math.Inf(1)})
		}
		sum := uint64(0)
		for i, n := range counts {
			sum += n
			m.Histograms[name][i].Count += sum
		}
	}
}
