package policy

import (
	"math"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"routelimit/policy/route"
)

const metadataPolicy = `{"identities": {"order": {"from": "path:id"}}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`

// metadataOf serialises route metadata as Envoy does.
func metadataOf(t testing.TB, namespaces map[string]map[string]any) []byte {
	t.Helper()
	m := &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}}
	for name, fields := range namespaces {
		s, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		m.FilterMetadata[name] = s
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRouteMetadataMeansTheSameAsARoute(t *testing.T) {
	raw := metadataOf(t, map[string]map[string]any{
		"envoy.lb": {"canary": true},
		"routelimit": {
			"route": "GET /orders/{id}", "on_error": "closed", "exempt": []any{"10.0.0.0/8"},
			"limits": []any{
				map[string]any{"name": "per order", "identity": "order", "limit": 30, "window": "1m", "shadow": true},
				map[string]any{"name": "plan", "identity": "ip", "window": "1h", "cost": "header:x-cost", "enforce_percent": 10,
					"limit": map[string]any{"by": "header:x-plan", "values": map[string]any{"gold": 3e8}, "default": 0}},
				map[string]any{"identity": "ip", "limit": 3e10, "window": "1s", "algorithm": "token_bucket", "count": []any{500, 503}},
			},
		},
	})
	p := mustParse(t, metadataPolicy)
	got, err := p.FromRouteMetadata(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := mustParse(t, `{"identities": {"order": {"from": "path:id"}}, "default": null, "routes": {"GET /orders/{id}": {
		"on_error": "closed", "exempt": ["10.0.0.0/8"], "limits": [
			{"name": "per order", "identity": "order", "limit": 30, "window": "1m", "shadow": true},
			{"name": "plan", "identity": "ip", "window": "1h", "cost": "header:x-cost", "enforce_percent": 10,
				"limit": {"by": "header:x-plan", "values": {"gold": 300000000}, "default": 0}},
			{"identity": "ip", "limit": 30000000000, "window": "1s", "algorithm": "token_bucket", "count": [500, 503]}]}}}`).Routes[0]
	if diff := cmp.Diff(want, got, exported); diff != "" {
		t.Error(diff)
	}

	var m Matched
	got.Capture("//orders/%37;v=1/?x", &m)
	plan := new(Plan)
	got.Plan(requestOf(from("203.0.113.7"), m.Params, ""), plan)
	wantPlan := map[string][]string{"rl:{GET:/orders/:id|order:7}": {"per order"}, "rl:{GET:/orders/:id|ip:203.0.113.7}": {"plan", "ip"}}
	if diff := cmp.Diff(wantPlan, plan.shape()); diff != "" {
		t.Error(diff)
	}
}

func TestRouteMetadataWithOneLimitInTheRoute(t *testing.T) {
	p := mustParse(t, metadataPolicy)
	got, err := p.FromRouteMetadata(metadataOf(t, map[string]map[string]any{"routelimit": {"route": "* /x", "identity": "ip", "limit": 5, "window": "10s"}}))
	if err != nil || got.Key != "*:/x" || len(got.Limits) != 1 || got.Limits[0].Limit.Limit != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = p.FromRouteMetadata(metadataOf(t, map[string]map[string]any{"routelimit": {"route": "GET /healthz", "limits": []any{}}}))
	if err != nil || len(got.Limits) != 0 {
		t.Errorf("declared and unlimited: got %+v, %v", got, err)
	}
}

func TestRouteMetadataOfOthersIsNotOurs(t *testing.T) {
	for name, raw := range map[string][]byte{
		"none":        nil,
		"another":     metadataOf(t, map[string]map[string]any{"envoy.lb": {"route": "GET /x"}}),
		"near":        metadataOf(t, map[string]map[string]any{"routelimit2": {}}),
		"mode is off": metadataOf(t, map[string]map[string]any{"routelimit": {"route": 7}}),
	} {
		p := mustParse(t, metadataPolicy)
		if name == "mode is off" {
			p = mustParse(t, `{"mode": "off"}`)
		}
		if r, err := p.FromRouteMetadata(raw); r != nil || err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

func TestRouteMetadataInShadowModeOnlyWatches(t *testing.T) {
	p := mustParse(t, `{"mode": "shadow", "default": null}`)
	r, err := p.FromRouteMetadata(metadataOf(t, map[string]map[string]any{"routelimit": {"route": "GET /x", "identity": "ip", "limit": 0, "window": "1m"}}))
	if err != nil || !r.Limits[0].Shadow || r.Blocked != nil {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestBadRouteMetadataSaysWhereAndWhat(t *testing.T) {
	limits := func(fields map[string]any) map[string]map[string]any {
		return map[string]map[string]any{"routelimit": {"route": "POST /login", "limits": []any{fields}}}
	}
	deep := any("x")
	deepObject := map[string]any{}
	for range 100 {
		deep = []any{deep}
		deepObject = map[string]any{"a": deepObject}
	}
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"empty":    {metadataOf(t, map[string]map[string]any{"routelimit": {}}), "metadata.routelimit: \"route\" is missing; write what the limits are for, such as \"route\": \"POST /login\"\nmetadata.routelimit: there is no limit; write \"limit\" and \"window\", or \"limits\": [] for a route without any"},
		"no route": {metadataOf(t, map[string]map[string]any{"routelimit": {"limits": []any{}}}), `metadata.routelimit: "route" is missing; write what the limits are for, such as "route": "POST /login"`},
		"bad route": {metadataOf(t, map[string]map[string]any{"routelimit": {"limits": []any{}, "route": "/login"}}),
			`metadata.routelimit.route: "/login" has no method; write a method, one blank and a path, such as "GET /users/:id", or "* /users/:id" for any method`},
		"route of another type": {metadataOf(t, map[string]map[string]any{"routelimit": {"limits": []any{}, "route": 7}}), `metadata.routelimit.route: 7 is a number; write a text in double quotes`},
		"fraction":              {metadataOf(t, limits(map[string]any{"identity": "ip", "limit": 1.7, "window": "1m"})), `metadata.routelimit.limits[0].limit: 1.7 is not whole; write a whole number from 0 to 9007199254740991`},
		"not a number":          {metadataOf(t, limits(map[string]any{"identity": "ip", "limit": math.NaN(), "window": "1m"})), `metadata.routelimit.limits[0].limit: "NaN" is no JSON value; write a text in double quotes`},
		"null":                  {metadataOf(t, limits(map[string]any{"identity": nil, "limit": 1, "window": "1m"})), `metadata.routelimit.limits[0].identity: null stands here; write a text in double quotes`},
		"text to be escaped":    {metadataOf(t, limits(map[string]any{"identity": "ip", "limit": 1, "window": "\"\\\n\x01é"})), `metadata.routelimit.limits[0].window: "\"\\\n\x01é" is no duration; write whole numbers with a unit of ms, s, m, h or d, such as "60s" or "1m"`},
		"misspelt":              {metadataOf(t, map[string]map[string]any{"routelimit": {"route": "POST /login", "limts": []any{}, "limits": []any{}}}), `metadata.routelimit.limts: unknown field; did you mean "limits"?`},
		"odd name":              {metadataOf(t, map[string]map[string]any{"routelimit": {"route": "POST /login", "a b c d e f g": 1, "limits": []any{}}}), `metadata.routelimit["a b c d e f g"]: unknown field; remove it, or write "route", "on_error", "exempt", "limits", "name", "identity", "limit", "window", "algorithm", "burst", "cost", "shadow", "bucket", "count", "enforce_percent" or "lease"`},
		"too deep":              {metadataOf(t, map[string]map[string]any{"routelimit": {"route": deep}}), `metadata: its values are nested too deeply; nest less`},
		"too deep in objects":   {metadataOf(t, map[string]map[string]any{"routelimit": deepObject}), `metadata: its values are nested too deeply; nest less`},
		"cut off":               {metadataOf(t, map[string]map[string]any{"routelimit": {"route": "POST /login"}})[:20], `metadata: it is not a serialised Metadata message; give the bytes of xds.route_metadata`},
		"no message":            {[]byte("\xff\xff\xff"), `metadata: it is not a serialised Metadata message; give the bytes of xds.route_metadata`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := mustParse(t, metadataPolicy).FromRouteMetadata(c.raw)
			if r != nil || err == nil {
				t.Fatalf("accepted as %+v", r)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCaptureWithoutAMatchLeavesNothingOfTheLastRequest(t *testing.T) {
	p := mustParse(t, metadataPolicy)
	r, err := p.FromRouteMetadata(metadataOf(t, map[string]map[string]any{"routelimit": {"route": "GET h/orders/:id", "limits": []any{}}}))
	if err != nil {
		t.Fatal(err)
	}
	m := Matched{Params: []route.Param{{Name: "id", Value: "old"}}}
	if r.Capture("/elsewhere", &m); len(m.Params) != 0 {
		t.Errorf("left %v", m.Params)
	}
	if r.Capture("/orders/8", &m); len(m.Params) != 1 || m.Params[0].Value != "8" {
		t.Errorf("captured %v", m.Params)
	}
}

// FuzzFromRouteMetadata: no bytes make it panic, and a route comes out whole or not at all.
func FuzzFromRouteMetadata(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\xff\xff\xff"))
	full := metadataOf(f, map[string]map[string]any{"routelimit": {"route": "GET /orders/:id", "limits": []any{
		map[string]any{"identity": "ip", "limit": 5, "window": "1m", "shadow": true, "count": []any{401}}}}})
	for cut := 0; cut <= len(full); cut += 7 {
		f.Add(full[:cut])
	}
	f.Add(full)
	p := mustParse(f, metadataPolicy)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := p.FromRouteMetadata(raw)
		if err != nil {
			if r != nil || len(err.(Errors)) == 0 {
				t.Fatalf("%v, %v", r, err)
			}
			return
		}
		if r != nil {
			checkRoute(t, r)
		}
	})
}
