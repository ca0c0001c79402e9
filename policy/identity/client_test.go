package identity

import (
	"fmt"
	"net/netip"
	"testing"
)

const xff = "x-forwarded-for"

func ipKey(t *testing.T, c Client, r request) string {
	t.Helper()
	return keyOf(expr(t, NewDefinitions(nil, c, nil), "ip"), r)
}

func TestG01_HopWithPortOrBracketsIsTheSameAddress(t *testing.T) {
	for _, tt := range []struct{ hop, want string }{
		{"203.0.113.7:51234", "ip:203.0.113.7"},
		{" 203.0.113.7:51999 ", "ip:203.0.113.7"},
		{"\t203.0.113.7", "ip:203.0.113.7"},
		{"203.0.113.7", "ip:203.0.113.7"},
		{"[2001:db8::7]:443", "ip:2001:db8::/64"},
		{"[2001:db8::7]", "ip:2001:db8::/64"},
		{"2001:DB8:0::7", "ip:2001:db8::/64"},
		{"2001:db8::7:443", "ip:2001:db8::/64"},
		{"::ffff:203.0.113.7", "ip:203.0.113.7"},
		{"[::ffff:203.0.113.7]:80", "ip:203.0.113.7"},
		{"::ffff:cb00:7107", "ip:203.0.113.7"},
	} {
		t.Run(tt.hop, func(t *testing.T) {
			if got := ipKey(t, Client{TrustedHops: 1}, header(xff, tt.hop)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestG01_AddressWithoutBracketsHasNoPort(t *testing.T) {
	d := NewDefinitions(nil, Client{TrustedHops: 1}, nil)
	got, ok := d.ClientIP(header(xff, "2001:db8::7:443").real())
	if want := netip.MustParseAddr("2001:db8::7:443"); !ok || got != want {
		t.Errorf("got %v, %t, want %v", got, ok, want)
	}
}

func TestG02_CallersPartOfTheChainChangesNothing(t *testing.T) {
	for i := range 5 {
		mine := fmt.Sprintf("198.51.100.%d", i)
		for name, r := range map[string]request{
			"before":          header(xff, mine+", 203.0.113.7"),
			"line before":     header(xff, mine, xff, "203.0.113.7"),
			"two in a line":   header(xff, mine+","+mine, xff, "203.0.113.7"),
			"empty entry":     header(xff, mine+",,203.0.113.7"),
			"trailing comma":  header(xff, mine+",203.0.113.7,"),
			"trailing blanks": header(xff, mine+",203.0.113.7, ,\t"),
			"empty last line": header(xff, mine, xff, "203.0.113.7", xff, ""),
			"garbage before":  header(xff, mine+"\x00, ],[, 203.0.113.7"),
		} {
			if got, want := ipKey(t, Client{TrustedHops: 1}, r), "ip:203.0.113.7"; got != want {
				t.Errorf("%s, i=%d: got %q, want %q", name, i, got, want)
			}
		}
	}
}

// The worked example of the documentation: the caller 203.0.113.7 reaches an
// edge proxy 198.51.100.1, that one a load balancer 198.51.100.2, that one
// this Envoy, which appends too (use_remote_address). Each appends the address
// that it saw: the caller's, the edge's, the load balancer's.
func TestG03_ThreeProxiesOfOursAreThreeHops(t *testing.T) {
	chain := "198.51.100.99, 203.0.113.7, 198.51.100.1, 198.51.100.2" // the first was sent by the caller
	for hops, want := range map[int]string{
		0: "ip:192.0.2.1",
		1: "ip:198.51.100.2",
		2: "ip:198.51.100.1",
		3: "ip:203.0.113.7",
	} {
		if got := ipKey(t, Client{TrustedHops: hops}, header(xff, chain)); got != want {
			t.Errorf("trusted_hops %d: got %q, want %q", hops, got, want)
		}
	}
}

func TestG03_ShortChainUsesThePeer(t *testing.T) {
	for name, tt := range map[string]struct {
		hops int
		r    request
	}{
		"three hops, one entry":    {3, header(xff, "198.51.100.9")},
		"three hops, two and gaps": {3, header(xff, ",198.51.100.9,,198.51.100.8,")},
		"one hop, no header":       {1, request{}},
		"one hop, empty header":    {1, header(xff, "")},
		"no hops, header there":    {0, header(xff, "198.51.100.9")},
		"hops without end":         {1 << 40, header(xff, "198.51.100.9")},
	} {
		if got, want := ipKey(t, Client{TrustedHops: tt.hops}, tt.r), "ip:192.0.2.1"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// With use_remote_address false Envoy reports an entry of the header, with
// port 0, and the peer stays unknown.
func TestG03_HiddenPeerIsNoIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		hops int
		r    request
		want string
	}{
		"no hops":             {0, header(xff, "198.51.100.9"), "ip:unknown"},
		"short chain":         {2, header(xff, "198.51.100.9"), "ip:unknown"},
		"long enough a chain": {1, header(xff, "198.51.100.9"), "ip:198.51.100.9"},
		"not set":             {-1, header(xff, "198.51.100.9"), "ip:198.51.100.10"},
	} {
		tt.r.peer = "198.51.100.10:0"
		got := resolve(expr(t, NewDefinitions(nil, Client{TrustedHops: tt.hops}, nil), "ip"), tt.r)
		if got.Key != tt.want || got.Noted.Has(NoIdentity) != (tt.want == "ip:unknown") {
			t.Errorf("%s: got %+v, want key %q", name, got, tt.want)
		}
	}
}

func TestG04_OneIPv6CustomerIsOneClient(t *testing.T) {
	for _, tt := range []struct {
		prefix     int
		peer, want string
	}{
		{0, "[2001:db8:1:2::1]:9", "ip:2001:db8:1:2::/64"},
		{64, "[2001:db8:1:2::4]:9", "ip:2001:db8:1:2::/64"},
		{64, "[2001:db8:1:3::1]:9", "ip:2001:db8:1:3::/64"},
		{48, "[2001:db8:1:3::1]:9", "ip:2001:db8:1::/48"},
		{56, "[2001:db8:1:3ff::1]:9", "ip:2001:db8:1:300::/56"},
		{128, "[2001:db8:1:3::1]:9", "ip:2001:db8:1:3::1"},
		{64, "[fe80::1%eth0]:9", "ip:fe80::/64"},
		{64, "[::ffff:203.0.113.7]:9", "ip:203.0.113.7"},
		{8, "203.0.113.7:9", "ip:203.0.113.7"},
	} {
		if got := ipKey(t, Client{TrustedHops: -1, IPv6Prefix: tt.prefix}, request{peer: tt.peer}); got != tt.want {
			t.Errorf("prefix %d, peer %s: got %q, want %q", tt.prefix, tt.peer, got, tt.want)
		}
	}
}

// A proxy of ours wrote the hop, so falling back to the peer would put its
// callers into that proxy's own bucket unnoticed.
func TestHopThatIsNoAddressIsNoIdentity(t *testing.T) {
	for _, hop := range []string{
		"unknown", "_hidden", "-", "203.0.113", "203.0.113.07", "203.0.113.7:x", "203.0.113.7:70000",
		"203.0.113.7:-1", "[203.0.113.7", "[2001:db8::7]443", "[]", "[]:1", "]", "[", ":", "::g", "%", "%eth0", "1.2.3.4.5",
	} {
		got := resolve(expr(t, NewDefinitions(nil, Client{TrustedHops: 1}, nil), "ip"), header(xff, hop))
		if want := (resolved{"ip:unknown", "unknown", NoIdentity}); got != want {
			t.Errorf("hop %q: got %+v, want %+v", hop, got, want)
		}
	}
}

func TestClientIPIsWholeForExemptions(t *testing.T) {
	d := NewDefinitions(nil, noHops, nil)
	got, ok := d.ClientIP(request{peer: "[2001:db8:1:2::7]:443"}.real())
	if want := netip.MustParseAddr("2001:db8:1:2::7"); !ok || got != want {
		t.Errorf("got %v, %t, want %v", got, ok, want)
	}
}
