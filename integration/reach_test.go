package integration

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"routelimit/servers"
)

// TestTheLinkIsReachableFromNowhereElse finds that redis_proxy's listener has no address outside of the process, and that the process listens where its public listeners and its admin page are and nowhere else, sockets in files included.
func TestTheLinkIsReachableFromNowhereElse(t *testing.T) {
	e := fresh(t)
	text, err := e.Get(t.Context(), "/listeners?format=json")
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		ListenerStatuses []struct {
			Name         string         `json:"name"`
			LocalAddress map[string]any `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	inner := 0
	want := []string{strings.TrimPrefix(e.AdminURL(), "http://")}
	for _, l := range page.ListenerStatuses {
		_, hasPort := l.LocalAddress["socket_address"]
		if isInner := strings.HasSuffix(l.Name, "routelimit_redis"); isInner {
			inner++
			if _, internal := l.LocalAddress["envoy_internal_address"]; !internal || hasPort {
				t.Errorf("%s listens at %v", l.Name, l.LocalAddress)
			}
			continue
		}
		addr, err := e.Address(t.Context(), l.Name)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, addr)
	}
	if inner == 0 {
		t.Fatalf("%d listeners of the link were found", inner)
	}
	slices.Sort(want)
	if err := differ(want, listening(t, e)); err != nil {
		t.Error(err)
	}
}

// listening are the addresses at which a process listens, by what the kernel says; several sockets of one address are one.
func listening(t *testing.T, e *servers.Envoy) []string {
	t.Helper()
	own := map[string]bool{}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", e.PID()))
	if err != nil || len(descriptors) == 0 {
		t.Fatalf("%d descriptors, %v", len(descriptors), err)
	}
	for _, d := range descriptors {
		if to, err := os.Readlink(d); err == nil { // it may be closed by now
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				own[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	const listens, connectionless = "0A", "07"
	var list []string
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, f := range table(t, e, kind) {
			if (f[3] == listens || f[3] == connectionless) && own[f[9]] {
				list = append(list, kernelAddress(t, f[1]))
			}
		}
	}
	const accepts = "00010000"
	for _, f := range table(t, e, "unix") {
		if f[3] == accepts && own[f[6]] {
			list = append(list, "unix:"+strings.Join(f[7:], " "))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// table is one of the kernel's tables of sockets, without its head.
func table(t *testing.T, e *servers.Envoy, kind string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", e.PID(), kind))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows[1:]
}

// kernelAddress reads "0100007F:1F90": the bytes of each word are in the machine's order.
func kernelAddress(t *testing.T, text string) string {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(net.IP(raw).String(), strconv.FormatUint(number, 10))
}
