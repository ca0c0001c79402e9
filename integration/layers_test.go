package integration

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"routelimit/bootstrap"
	"routelimit/bootstrap/lint"
	"routelimit/servers"
)

// layered runs one of docs/examples/layers as it stands, but for its addresses, and returns a client of it.
func layered(t *testing.T, name string, change func(*bootstrap.Config) error) (*servers.Envoy, *client) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs/examples/layers", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := bootstrap.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := store.get(t)
	flush(t, r)
	c.SetAdmin("127.0.0.1", 0)
	for _, set := range []func() error{
		func() error { return c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0) },
		func() error { return c.SetUpstream(upstream.get(t).Addr()) },
		func() error { return c.SetRedis(r.Addr()) },
		func() error { return change(c) },
	} {
		if err := set(); err != nil {
			t.Fatal(err)
		}
	}
	upstream.get(t).Reset()
	e, err := runEnvoy(t.Context(), c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	showLog(t, e)
	address, err := e.Address(t.Context(), bootstrap.PublicListener)
	if err != nil {
		t.Fatal(err)
	}
	waitForWindow(t, r, time.Minute, 10*time.Second)
	return e, dialAddr(t, address, "127.0.8.1")
}

func asItIs(*bootstrap.Config) error { return nil }

// The examples hold the link as envoy.yaml has it, and lint has nothing against them.
func TestTheLinkOfEveryLayerIsThatOfEnvoyYAML(t *testing.T) {
	want, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../docs/examples/layers/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bootstrap.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for kind, names := range map[string][]string{
			"listeners": {"routelimit_redis"}, "clusters": {"routelimit", "redis"},
		} {
			for _, name := range names {
				find := (*bootstrap.Config).Listener
				if kind == "clusters" {
					find = (*bootstrap.Config).Cluster
				}
				one, err := find(got, name)
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				other, _ := find(want, name)
				if diff := cmp.Diff(other, one); diff != "" {
					t.Errorf("%s: %s (-envoy.yaml +example):\n%s", file, name, diff)
				}
			}
		}
		found, err := lint.File(text, lint.Options{Env: os.LookupEnv})
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %+v", file, err, found)
		}
	}
}

// local_ratelimit in front refuses a flood by itself, and what it lets through routelimit counts by address.
func TestLayersLocalRatelimitTakesAFloodOff(t *testing.T) {
	_, c := layered(t, "local-ratelimit", asItIs)
	passed, edge, ours := 0, 0, 0
	all := parallel(t, slices.Repeat([]*client{c}, 32), 40, func(c *client) (answer, error) { return c.try("GET", "/", "") })
	for _, a := range all {
		switch {
		case a.status == http.StatusOK:
			passed++
		case a.header.Get("x-limited-by") == "edge":
			edge++
		case a.status == http.StatusTooManyRequests && a.header.Get("retry-after") != "":
			ours++
		default:
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	if passed != 60 || ours == 0 || edge == 0 {
		t.Errorf("of %d %d passed, %d were refused at the edge and %d by routelimit; want 60, some and some", len(all), passed, edge, ours)
	}
	if n := upstream.get(t).Started(); n != 60 {
		t.Errorf("the upstream saw %d requests", n)
	}
}

// jwt_authn comes first: claims count, a bad token counts for nobody, none for the address.
func TestLayersVerifiedClaimsCount(t *testing.T) {
	_, c := layered(t, "jwt", func(c *bootstrap.Config) error {
		if name, ok := c.ReplacePlaceholderKeys(issuerKeys()); !ok || name != issuer {
			t.Errorf("the issuer is %q, %t", name, ok)
		}
		return nil
	})
	gold := []string{"authorization", bearer(t, tree{"sub": "g", "plan": "gold"})}
	for i := range 21 {
		if a := c.get("/", gold...); a.status == http.StatusOK != (i < 20) {
			t.Errorf("gold, %d: %d", i, a.status)
		}
	}
	for i := range 6 {
		if a := c.get("/", "authorization", bearer(t, tree{"sub": "f"})); a.status == http.StatusOK != (i < 5) {
			t.Errorf("without a plan, %d: %d", i, a.status)
		}
	}
	for range 8 {
		if a := c.get("/", "authorization", "Bearer x.y.z"); a.status != http.StatusUnauthorized {
			t.Errorf("a bad token: %d", a.status)
		}
	}
	for i := range 6 {
		if a := c.get("/"); a.status == http.StatusOK != (i < 5) {
			t.Errorf("without a token, %d: %d", i, a.status)
		}
	}
}

// routelimit stands on both sides of ext_authz: the edge holds the address, and spares the service; behind it the tenant
// that the service names counts, whatever the caller wrote.
func TestLayersExtAuthzNamesTheTenant(t *testing.T) {
	var asked atomic.Int64
	authz := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		tenant, ok := strings.CutPrefix(r.Header.Get("authorization"), "key ")
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("x-tenant", tenant)
	}))
	t.Cleanup(authz.Close)
	_, c := layered(t, "ext-authz", func(c *bootstrap.Config) error { return c.SetEndpoints("authz", authz.Listener.Addr().String()) })
	for i, want := range []int{200, 200, 200, 429} { // a forged tenant changes nothing
		if a := c.get("/", "authorization", "key acme", "x-tenant", "forged"+string(rune('a'+i))); a.status != want {
			t.Errorf("acme, %d: %d %v", i, a.status, a.header)
		}
	}
	if a := c.get("/", "authorization", "key other"); a.status != http.StatusOK || a.header.Get("x-ratelimit-remaining") != "2" {
		t.Errorf("another tenant: %d %v", a.status, a.header)
	}
	for i := range 7 { // 5 were asked so far, 10 pass the edge
		want := http.StatusForbidden
		if i >= 5 {
			want = http.StatusTooManyRequests
		}
		if a := c.get("/"); a.status != want {
			t.Errorf("nobody, %d: %d", i, a.status)
		}
	}
	if n := asked.Load(); n != 10 {
		t.Errorf("the service was asked %d times, want 10", n)
	}
}

// Before the transcoder routelimit sees JSON and answers in it; gRPC callers of the same route get a gRPC status.
func TestLayersTranscodedCallsAreCountedByTheirJSON(t *testing.T) {
	orders := grpcServer(t)
	_, c := layered(t, "grpc-json", func(c *bootstrap.Config) error { return c.SetUpstream(orders) })
	post := func(id string) answer {
		return c.send("POST", "/orders.v1.Orders/Create", `{"id": "`+id+`"}`, "content-type", "application/json")
	}
	for i, want := range []int{200, 200, 429} {
		if a := post("a"); a.status != want || want == 200 && !strings.Contains(a.body, `"id"`) || want == 429 && !strings.Contains(a.body, "rate_limited") {
			t.Errorf("order a, %d: %d %s", i, a.status, a.body)
		}
	}
	if a := post("b"); a.status != http.StatusOK {
		t.Errorf("order b: %d %s", a.status, a.body)
	}
	last := answer{}
	for range 4 { // the address has 5, of which 3 are used
		last = c.send("POST", "/orders.v1.Orders/Create", "\x00\x00\x00\x00\x03\n\x01c", "content-type", "application/grpc", "te", "trailers")
	}
	if last.status != http.StatusOK || last.header.Get("grpc-status") != "8" {
		t.Errorf("gRPC: %d %v", last.status, last.header)
	}
}

// grpcServer answers every call with the message that it was sent.
func grpcServer(t *testing.T) string {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("content-type", "application/grpc")
		w.Header().Set("trailer", "grpc-status")
		io.Copy(w, bytes.NewReader(body))
		w.Header().Set("grpc-status", "0")
	}))
	s.Config.Protocols = protocols
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// The descriptor in the example is what its comment says.
func TestTheTranscodersDescriptorIsWhatTheExampleSays(t *testing.T) {
	text, err := os.ReadFile("../docs/examples/layers/grpc-json.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, encoded, _ := strings.Cut(string(text), "proto_descriptor_bin: ")
	encoded, _, _ = strings.Cut(encoded, "\n")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var got descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &got); err != nil || len(got.File) != 1 {
		t.Fatalf("%v, %d files", err, len(got.File))
	}
	f := got.File[0]
	if f.GetPackage() != "orders.v1" || f.Service[0].GetName() != "Orders" || f.Service[0].Method[0].GetName() != "Create" ||
		f.MessageType[0].GetName() != "Order" || f.MessageType[0].Field[0].GetName() != "id" || f.GetSyntax() != "proto3" {
		t.Errorf("%v", &got)
	}
}
