package imported

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/identity"
)

// request is one descriptor as an element of rate_limits makes it: its entries, and
// when it is sent at all.
type request struct {
	Place
	entries  []entry
	methods  methods
	when     []condition
	cost     int64
	costFrom string // a source, "" for cost
	override *quota
	losses   []Finding // what is lost if the service has a limit for it
}

// entry is a key with a value that is known, or that a request has.
type entry struct {
	Place
	key, value string
	source     string // of an identity, or "ip"; "" if value is known
	optional   bool   // a request may lack it
}

// condition holds for requests in which the source has the value, or has not.
type condition struct {
	source, value string
	not           bool
}

// requestReader reads one element of rate_limits.
type requestReader struct {
	*converter
	request
	file  string
	route *yamltree.Node
	lost  bool
}

// mostEntries bounds the actions of one descriptor.
const mostEntries = 16

// readRequest is false where a descriptor cannot be carried over; it has said why.
// listed tells that it stands in the rate_limits of a route or virtual host, and not
// in the filter's own configuration.
func (c *converter) readRequest(r routing, limit, routeNode *yamltree.Node, listed bool) (request, bool) {
	rr := requestReader{converter: c, file: r.file, route: routeNode, request: request{Place: placeOf(r.file, limit), methods: anyMethod, cost: 1}}
	if len(limit.At("actions").Items()) > mostEntries {
		rr.cannot(limit, "a descriptor of more than %d actions", mostEntries)
	}
	for _, action := range limit.At("actions").Items() {
		for _, f := range action.Fields() {
			if !rr.lost {
				rr.readAction(f.Name, f.Value, action)
			}
		}
	}
	rr.readRest(limit, listed)
	return rr.request, !rr.lost && len(rr.entries) > 0
}

// cannot says what is lost. The descriptor is left out.
func (r *requestReader) cannot(n *yamltree.Node, format string, args ...any) {
	r.lost = true
	r.lose(placeOf(r.file, n), format+"; its limits are left out", args...)
}

// loseIfLimited says what is lost, once a limit comes of the descriptor.
func (r *requestReader) loseIfLimited(n *yamltree.Node, format string, args ...any) {
	r.losses = append(r.losses, Finding{Place: placeOf(r.file, n), Lost: true, Text: fmt.Sprintf(format, args...)})
}

// tellQuery says that :path is another thing there.
func (r *requestReader) tellQuery(n *yamltree.Node) {
	r.loseIfLimited(n, ":path has the query there, so that a path with one was another value, with another limit or none, and its own count; here a path is one, whatever its query")
}

func (r *requestReader) readRest(limit *yamltree.Node, listed bool) {
	if n := limit.At("disable_key"); n != nil {
		r.note(placeOf(r.file, n), "disable_key %q: no limit can be switched off by runtime here; mode: off, or shadow: true, does it by configuration", n.Text())
	}
	if n := limit.At("apply_on_stream_done"); n.True() {
		r.cannot(n, "apply_on_stream_done charges after the response, which no limit does here (count gives back what a response does not owe)")
	}
	if n := limit.At("limit", "dynamic_metadata"); n != nil {
		r.cannot(n, "a limit from dynamic metadata has no equivalent; if it has a few values, name them as plans: limit: {by: metadata:…, values: {…}, default: …}")
	}
	if n := limit.At("limit", "rate_limit"); n != nil {
		number, _ := n.At("requests_per_unit").Number()
		r.override = &quota{Place: placeOf(r.file, n), number: number, window: units[strings.ToUpper(n.At("unit").Text())]}
		if r.override.window == 0 {
			r.cannot(n, "the override has no unit that is known")
		}
	}
	switch n := limit.At("hits_addend"); {
	case n != nil && listed: // as a real Envoy does, and its documentation says
		r.note(placeOf(r.file, n), "Envoy heeds hits_addend in typed_per_filter_config alone, so this one costs 1, there and here")
	case n != nil:
		r.readCost(n)
	}
}

func (r *requestReader) readCost(n *yamltree.Node) {
	number, isNumber := n.At("number").Number()
	format := n.At("format").Text()
	header, isHeader := strings.CutPrefix(format, "%REQ(")
	header, closes := strings.CutSuffix(header, ")%")
	switch {
	case n.At("is_negative_hits").True():
		r.cannot(n, "is_negative_hits gives back what was charged, which no request can do here")
	case isNumber && number >= 1 && number <= mostCost:
		r.cost = number
	case isHeader && closes && !strings.ContainsAny(header, "?:)"):
		r.costFrom = "header:" + strings.ToLower(header)
		r.isSource(n, r.costFrom)
		r.loseIfLimited(n, "hits_addend from the header %s: a request without it, or with 0, costs 1 here and was not counted there", header)
	default:
		r.cannot(n, "hits_addend: only 1 to 1000000, or one header (%%REQ(…)%%), can be a cost here")
	}
}

// add appends an entry. The default key is that of Envoy.
func (r *requestReader) add(n *yamltree.Node, defaultKey string, e entry) {
	e.Place = placeOf(r.file, n)
	if !r.isSource(n, e.source) {
		return
	}
	if e.key = n.At("descriptor_key").Text(); e.key == "" {
		e.key = defaultKey
	}
	r.entries = append(r.entries, e)
}

// isSource says so where a policy cannot name a source.
func (r *requestReader) isSource(n *yamltree.Node, source string) bool {
	if source == "" || source == "ip" {
		return true
	}
	_, err := identity.ParseSource(source)
	if err == nil && !utf8.ValidString(source) {
		err = errors.New("it is no UTF-8")
	}
	if err != nil {
		r.cannot(n, "no identity can be read from there: %v", err)
	}
	return err == nil
}

func (r *requestReader) readAction(name string, n, action *yamltree.Node) {
	if n.IsNull() {
		n = action
	}
	optional := !n.At("skip_if_absent").True()
	switch snake(name) {
	case "source_cluster":
		if r.input.ServiceCluster == "" {
			r.cannot(n, "source_cluster: the name of this Envoy's cluster is in no file; give it by --service-cluster")
			return
		}
		r.add(nil, "source_cluster", entry{value: r.input.ServiceCluster})
	case "destination_cluster":
		cluster := r.route.At("route", "cluster").Text()
		if cluster == "" {
			r.cannot(n, "destination_cluster: the route has no one cluster; use a generic_key")
			return
		}
		r.add(nil, "destination_cluster", entry{value: cluster})
	case "generic_key":
		r.add(n, "generic_key", entry{value: n.At("descriptor_value").Text()})
	case "remote_address":
		r.narrow(n, 128)
		r.add(nil, "remote_address", entry{source: "ip"})
	case "masked_remote_address":
		r.readMasked(n)
	case "request_headers":
		source, always := headerSource(n.At("header_name").Text())
		r.add(n, "", entry{source: source, optional: !always})
		if source == pathSource {
			r.tellQuery(n)
		}
		r.tellAbsent(n, always, optional, "the header "+n.At("header_name").Text())
	case "query_parameters":
		r.add(n, "", entry{source: "query:" + n.At("query_parameter_name").Text(), optional: true})
		r.tellAbsent(n, false, optional, "the query parameter "+n.At("query_parameter_name").Text())
	case "metadata", "dynamic_metadata":
		r.readMetadata(n, optional)
	case "header_value_match":
		r.readMatches(n, n.At("headers").Items(), "header_match", "header:")
	case "query_parameter_value_match":
		r.readMatches(n, n.At("query_parameters").Items(), "query_match", "query:")
	default:
		r.cannot(n, "the action %s has no equivalent; give its requests a route of their own, or an identity (docs/identities.md)", name)
	}
}

// tellAbsent says what becomes of requests that lack a value.
func (r *requestReader) tellAbsent(n *yamltree.Node, always, drops bool, what string) {
	switch {
	case always:
	case drops:
		r.loseIfLimited(n, "a request without %s was not counted by this descriptor; here it is counted by its address", what)
	default:
		r.loseIfLimited(n, "skip_if_absent: a request without %s was counted under the rest of the descriptor; here it is counted by its address", what)
	}
}
