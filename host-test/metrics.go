package hosttest

import (
	"maps"
	"slices"
)

// metrics are the custom metrics of a process. All VMs share them, and they
// outlive a VM, a configuration and a reload.
type metrics struct {
	counters   map[string]uint64
	gauges     map[string]uint64
	histograms map[string][]uint64
}

// Counter returns the value of a counter; one that was never defined is 0.
func (h *Host) Counter(name string) uint64 { return h.metrics.counters[name] }

// Gauge returns the value of a gauge.
func (h *Host) Gauge(name string) uint64 { return h.metrics.gauges[name] }

// Histogram returns the values that a histogram has recorded, in order.
func (h *Host) Histogram(name string) []uint64 { return h.metrics.histograms[name] }

// Metrics returns the names of all metrics defined, sorted.
func (h *Host) Metrics() []string {
	names := slices.Concat(
		slices.Collect(maps.Keys(h.metrics.counters)),
		slices.Collect(maps.Keys(h.metrics.gauges)),
		slices.Collect(maps.Keys(h.metrics.histograms)))
	slices.Sort(names)
	return names
}

// ForgetMetrics makes the process one that has counted nothing. A metric is there
// again when it is defined or counted again.
func (h *Host) ForgetMetrics() {
	clear(h.metrics.counters)
	clear(h.metrics.gauges)
	clear(h.metrics.histograms)
}

// The types of define_metric, which are also the last two bits of an id.
const (
	metricCounter = iota
	metricGauge
	metricHistogram
	metricMask = 3
	metricStep = 4
)

// metricIDs are the names behind the ids that one VM has handed out.
type metricIDs struct {
	last  [metricHistogram + 1]uint32
	names map[uint32]string
}

func (in *instance) defineMetric(args []uint64) uint32 {
	kind := uint32(args[0])
	name, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	if kind > metricHistogram {
		return resultBadArgument
	}
	in.vm.host.metrics.define(kind, string(name))
	ids := &in.metricIDs
	if ids.names == nil {
		ids.names = map[uint32]string{}
	}
	ids.last[kind] += metricStep
	id := ids.last[kind] | kind
	ids.names[id] = string(name)
	if !in.writeUint32(args[3], id) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

func (m *metrics) define(kind uint32, name string) {
	if m.counters == nil {
		*m = metrics{map[string]uint64{}, map[string]uint64{}, map[string][]uint64{}}
	}
	switch kind {
	case metricCounter:
		m.counters[name] += 0
	case metricGauge:
		m.gauges[name] += 0
	case metricHistogram:
		m.histograms[name] = m.histograms[name]
	}
}

func (in *instance) incrementMetric(args []uint64) uint32 {
	id, offset := uint32(args[0]), int64(args[1])
	name, known := in.metricIDs.names[id]
	m := &in.vm.host.metrics
	switch {
	case id&metricMask >= metricHistogram:
		return resultBadArgument
	case !known:
		return resultNotFound
	case id&metricMask == metricGauge:
		m.gauges[name] += uint64(offset)
	case offset <= 0:
		return resultBadArgument
	default:
		m.counters[name] += uint64(offset)
	}
	return resultOK
}

func (in *instance) recordMetric(args []uint64) uint32 {
	id, value := uint32(args[0]), args[1]
	name, known := in.metricIDs.names[id]
	if !known {
		return resultNotFound
	}
	m := &in.vm.host.metrics
	switch id & metricMask {
	case metricCounter:
		m.counters[name] += value
	case metricGauge:
		m.gauges[name] = value
	default:
		if record := in.vm.host.options.OnRecord; record != nil {
			record(name, value)
		} else {
			m.histograms[name] = append(m.histograms[name], value)
		}
	}
	return resultOK
}

func (in *instance) getMetric(args []uint64) uint32 {
	id := uint32(args[0])
	if id&metricMask >= metricHistogram {
		return resultBadArgument
	}
	name, known := in.metricIDs.names[id]
	if !known {
		return resultNotFound
	}
	m := &in.vm.host.metrics
	value := m.counters[name]
	if id&metricMask == metricGauge {
		value = m.gauges[name]
	}
	if !in.writeUint64(args[1], value) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}
