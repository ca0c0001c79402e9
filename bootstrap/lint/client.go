package lint

import "routelimit/bootstrap/yamltree"

const xffType = "envoy.extensions.http.original_ip_detection.xff.v3.XffConfig"

// checkClient holds client.trusted_hops against what Envoy does with
// X-Forwarded-For. Envoy reports its peer, with a port, where
// use_remote_address is true and xff_num_trusted_hops 0; otherwise an entry of
// the header, with port 0, and hides the peer.
func (e *envoy) checkClient(p *plugin) {
	m := p.manager
	hops := p.policy.Definitions().Client().TrustedHops
	appends := m.At("use_remote_address").True() && !m.At("skip_xff_append").True()
	skipped, _ := m.At("xff_num_trusted_hops").Number()
	extension := len(m.At("original_ip_detection_extensions").Items()) > 0
	hidden := !m.At("use_remote_address").True() || skipped > 0 || extension
	at := m.Node
	for _, name := range []string{"use_remote_address", "xff_num_trusted_hops", "original_ip_detection_extensions"} {
		if n := m.At(name); n != nil {
			at = n
		}
	}
	e.checkHops(p)
	switch {
	case hops < 0 && !m.At("use_remote_address").True() && skipped == 0 && !extension:
		e.warn("client-forgeable", at, "the address of a client is the last entry of X-Forwarded-For, which whoever connects can write; "+
			"write use_remote_address: true, or say by client.trusted_hops how many proxies in front append to it")
	case hops == 0 && hidden:
		e.fail("client-hidden", at, "client.trusted_hops is 0, but Envoy hides the address of its peer as soon as X-Forwarded-For is sent, "+
			"and all such callers share one count; write use_remote_address: true without xff_num_trusted_hops, or the number of proxies in front")
	case hops > 0 && !hidden && !appends:
		e.warn("client-not-appended", m.At("skip_xff_append"), "skip_xff_append keeps this Envoy's peer out of X-Forwarded-For, so client.trusted_hops %d trusts %d proxies in front; "+
			"remove skip_xff_append, or make sure that nobody else can connect", hops, hops)
	case hops > 1 && hidden:
		e.warn("client-short-chain", at, "callers whose X-Forwarded-For has fewer than %d entries share one count, since Envoy hides the address of its peer; "+
			"write use_remote_address: true without xff_num_trusted_hops, and trusted_hops one higher for this Envoy, or make sure that nobody can go around the proxies in front", hops)
	}
}

// checkHops: where Envoy is told as well how many proxies are in front, it takes
// one entry of X-Forwarded-For for the client's and trusted_hops another.
func (e *envoy) checkHops(p *plugin) {
	ours := int64(p.policy.Definitions().Client().TrustedHops)
	n := envoysHops(p.manager)
	proxies, _ := n.Number()
	if proxies <= 0 || ours <= 0 {
		return
	}
	// Without use_remote_address the last entry is whom the nearest proxy saw;
	// with it this Envoy appends one behind them.
	right := proxies + 1
	if p.manager.At("use_remote_address").True() && p.manager.At("skip_xff_append").True() {
		right = proxies
	}
	switch {
	case ours < right:
		e.warn("client-hops", n, "Envoy takes entry %d from the right of X-Forwarded-For for the client, and client.trusted_hops entry %d, which is one of the proxies: "+
			"all callers behind it share one count; write client.trusted_hops: %d, or correct xff_num_trusted_hops", right, ours, right)
	case ours > right:
		e.warn("client-hops", n, "Envoy takes entry %d from the right of X-Forwarded-For for the client, and client.trusted_hops entry %d, which a caller can write himself; "+
			"write client.trusted_hops: %d, or correct xff_num_trusted_hops", right, ours, right)
	}
}

// envoysHops is Envoy's own count of the proxies in front, or nil.
func envoysHops(m *manager) *yamltree.Node {
	for _, extension := range m.At("original_ip_detection_extensions").Items() {
		if config := extension.At("typed_config"); isType(config, xffType) {
			return config.At("xff_num_trusted_hops")
		}
	}
	return m.At("xff_num_trusted_hops")
}
