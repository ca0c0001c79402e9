package monitoring

// panel is one picture: what it shows, in which unit, and what to do about it.
type panel struct {
	title, about, unit string
	single             bool // one number, and its course behind it
	badFrom            float64
	queries            []query
}

// query is a line, or several: legend names each by its labels.
type query struct{ expr, legend string }

// row is panels under one heading.
type row struct {
	title  string
	panels []panel
}

// The units, as Grafana names them.
const (
	aSecond      = "reqps"
	share        = "percentunit"
	microseconds = "µs"
	number       = "short"
)

// never is a threshold that no value reaches.
const never = -1

// rows are the dashboard from top to bottom: is it well, who is refused, why does Redis not decide.
var rows = []row{
	{"Is it well?", []panel{
		{"Decided", "Requests that were decided by Redis, refused from memory, or charged in advance by a lease. Drops to 0 under traffic: look at the failures by kind below, and whether Envoy has loaded the module.",
			aSecond, true, never, []query{{`sum(rate(` + metric(`routelimit_decision_us_count`) + `[$__rate_interval])) + sum(rate(` + metric(`routelimit_deny_cache_hits_total`) + `[$__rate_interval])) + sum(rate(` + metric(`routelimit_leased_requests_total`, `outcome="spent"`) + `[$__rate_interval]))`, ""}}},
		{"Refused", "Decisions that a limit refused, of all. A jump is an attack, a client in a loop, or a limit that was set too tight: the row below says which.",
			share, true, never, []query{{`sum(rate(` + requests("refused") + `)) / sum(rate(` + requests("passed|refused") + `))`, ""}}},
		{"Turned away for lack of Redis", "Requests that got 503, since their route fails closed and Redis did not decide. Anything above 0: look at the failures by kind below.",
			aSecond, true, 0.001, []query{{orZero(`sum(rate(` + requests("unavailable") + `))`), ""}}},
		{"Passed without being asked about", "Requests of routes that fail open, while Redis did not decide: their limits are not held. Anything above 0: look at the failures by kind below.",
			aSecond, true, 0.001, []query{{orZero(`sum(rate(` + requests("open") + `))`), ""}}},
		{"Workers that do not ask Redis", "Breakers that are open. A worker that gave up asking tries one request now and then, and asks again once Redis answers. Stays above 0: look at Redis, and at Envoy's cluster routelimit. A crash of the module while one was open leaves it one too high until Envoy restarts.",
			number, true, 1, []query{{`sum(` + metric(`routelimit_breaker_total`, `outcome="opened"`) + `) - sum(` + metric(`routelimit_breaker_total`, `outcome="closed"`) + `)`, ""}}},
		{"Decision, 99th percentile", "From the question to Redis to the decision: what a request waits. Above 20 ms it comes close to op_timeout of redis_proxy (25 ms as shipped): look at Redis' latency and at the CPU of both.",
			microseconds, true, 20000, []query{{quantile("0.99", "routelimit_decision_us_bucket"), ""}}},
	}},
	{"Who is refused", []panel{
		{"Refused", "Each limit's refusals (429). routelimit top shows which callers they are, Envoy's log names some of them.",
			aSecond, false, never, []query{{`sum by (route, limit) (rate(` + requests("refused") + `))`, "{{route}} {{limit}}"}}},
		{"Share refused", "Each limit's refusals, of all that it decided. High for hours without an attack: the limit is too tight; routelimit simulate with an access log says which would have refused 1% of the callers.",
			share, false, never, []query{{`sum by (route, limit) (rate(` + requests("refused") + `)) / sum by (route, limit) (rate(` + requests("passed|refused") + `))`, "{{route}} {{limit}}"}}},
		{"Would have been refused", "What shadow limits and enforce_percent spared. Before a shadow limit is enforced, this is what it will refuse.",
			aSecond, false, never, []query{{`sum by (route, limit) (rate(` + requests("shadow_refused") + `))`, "{{route}} {{limit}}"}}},
		{"Passed", "What each limit let pass. A limit that should see traffic and shows none: does its route's template match? routelimit explain says which route a request lands in.",
			aSecond, false, never, []query{{`sum by (route, limit) (rate(` + requests("passed") + `))`, "{{route}} {{limit}}"}}},
		{"Not limited", "exempt: callers that the policy lets off. unlimited: routes with no limits; under route undeclared no route covers the path, and there is no default. refused there: 404. A path that you do not know here is one to declare.",
			aSecond, false, never, []query{{`sum by (route, outcome) (rate(` + requests("exempt|unlimited") + `))`, "{{route}} {{outcome}}"},
				{`sum by (route) (rate(` + metric(`routelimit_requests_total`, `outcome="refused", limit="", route="undeclared"`) + `[$__rate_interval]))`, "{{route}} 404"}}},
		{"Who could not be told", "no_identity: the caller's address, or a bucket that all share, stood in. ambiguous: a field came twice. oversized: a hash stood in for a long value. body_unread: all such requests share one count. cost_unread, plan_unknown: 1 and the default held. A rise after a roll-out: which filter or client has changed?",
			aSecond, false, never, []query{{`sum by (kind) (rate(` + metric(`routelimit_identity_total`) + `[$__rate_interval]))`, "{{kind}}"}}},
	}},
	{"When Redis does not decide", []panel{
		{"What became of the requests", "open: passed without being asked about. unavailable: 503. local_passed, local_refused: by each worker alone, with a share of the limit.",
			aSecond, false, never, []query{{`sum by (route, outcome) (rate(` + requests("open|unavailable|local_passed|local_refused") + `))`, "{{route}} {{outcome}}"}}},
		{"Failures by kind", "Questions that brought no decision. timeout, upstream_failure: Redis or the network is slow or gone, or the deadlines are too short. breaker_open: not asked since the link failed. overload: Redis is too slow for the traffic. unsupported: the server cannot run the scripts. The others are in docs/operations.md, Failures, with what to do.",
			aSecond, false, never, []query{{`sum by (kind) (rate(` + metric(`routelimit_failures_total`) + `[$__rate_interval]))`, "{{kind}}"}}},
		{"Workers that do not ask Redis", "By Envoy: open breakers. One Envoy alone: its own way to Redis is broken. All at once: Redis is.",
			number, false, never, []query{{`sum by (instance) (` + metric(`routelimit_breaker_total`, `outcome="opened"`) + `) - sum by (instance) (` + metric(`routelimit_breaker_total`, `outcome="closed"`) + `)`, "{{instance}}"}}},
		{"Local fallback", "Requests that each worker decided alone. refused while passed is low: the share of the limit (local) may be too small for an outage.",
			aSecond, false, never, []query{{`sum by (outcome) (rate(` + requests("local_passed|local_refused") + `))`, "{{outcome}}"}}},
	}},
	{"The link to Redis", []panel{
		{"Decision", "From the question to the decision. What the deadlines cut off is not in it, but among the failures. The 50th percentile is a round trip to Redis; the 99th rising alone: pauses of Redis, or no CPU free.",
			microseconds, false, never, []query{
				{quantile("0.5", "routelimit_decision_us_bucket"), "50th percentile"},
				{quantile("0.9", "routelimit_decision_us_bucket"), "90th"},
				{quantile("0.99", "routelimit_decision_us_bucket"), "99th"}}},
		{"Commands in a message", "Requests that wait together are asked about together. Rises with the load and with Redis' latency; nothing to do about it by itself.",
			number, false, never, []query{
				{`sum(rate(` + metric(`routelimit_batch_commands_sum`) + `[$__rate_interval])) / sum(rate(` + metric(`routelimit_batch_commands_count`) + `[$__rate_interval]))`, "mean"},
				{quantile("0.99", "routelimit_batch_commands_bucket"), "99th percentile"}}},
		{"Questions", "asked: requests that were decided by Redis. from memory: refusals that needed no question. asked twice: a second round trip, since a key had been refused lately.",
			aSecond, false, never, []query{
				{`sum(rate(` + metric(`routelimit_decision_us_count`) + `[$__rate_interval]))`, "asked"},
				{`sum(rate(` + metric(`routelimit_deny_cache_hits_total`) + `[$__rate_interval]))`, "from memory"},
				{`sum(rate(` + metric(`routelimit_asked_twice_total`) + `[$__rate_interval]))`, "asked twice"}}},
		{"Streams and scripts", "streams: opened to Redis, one for each worker and configuration; more mean that they break. scripts: sent again, after a Redis restarted or failed over.",
			aSecond, false, never, []query{
				{`sum(rate(` + metric(`routelimit_link_opened_total`) + `[$__rate_interval]))`, "streams"},
				{`sum(rate(` + metric(`routelimit_script_resent_total`) + `[$__rate_interval]))`, "scripts"}}},
		{"Leases", "Questions for several requests at once. refused: nothing was left. failed: no answer; see the failures by kind. Many refused: the leases are large for the limit.",
			aSecond, false, never, []query{{`sum by (outcome) (rate(` + metric(`routelimit_leases_total`) + `[$__rate_interval]))`, "{{outcome}}"}}},
		{"Leased requests", "taken: charged in advance. spent: admitted without asking. returned, expired: neither; what expires was withheld from others for a while. Much of it: the leases are large for what callers do.",
			aSecond, false, never, []query{{`sum by (outcome) (rate(` + metric(`routelimit_leased_requests_total`) + `[$__rate_interval]))`, "{{outcome}}"}}},
		{"Charges given back", "made: since another limit refused, or a response had a status that does not count. lost: Redis did not take it, and the caller may have a little less left until the window ends.",
			aSecond, false, never, []query{{`sum by (outcome) (rate(` + metric(`routelimit_refunds_total`) + `[$__rate_interval]))`, "{{outcome}}"}}},
	}},
	{"Configuration and faults", []panel{
		{"Routes in force", "Routes of the configuration, by Envoy. Envoys that differ have not got the same one.",
			number, false, never, []query{{`sum by (instance) (` + metric(`routelimit_routes`) + `)`, "{{instance}}"}}},
		{"Faults", "configurations refused: the one before goes on; Envoy's log names the mistakes. route metadata: limits that cannot be read. counts restarted: Redis' clock jumped, or a key held something foreign. panics and crashes: please report them, with Envoy's log.",
			number, false, never, []query{
				{`sum(increase(` + metric(`routelimit_rejected_configurations_total`) + `[$__rate_interval]))`, "configurations refused"},
				{`sum(increase(` + metric(`routelimit_route_metadata_refused_total`) + `[$__rate_interval]))`, "route metadata refused"},
				{`sum(increase(` + metric(`routelimit_state_restarted_total`) + `[$__rate_interval]))`, "counts restarted"},
				{`sum(increase(` + metric(`routelimit_panics_total`) + `[$__rate_interval]))`, "panics"},
				{`sum(increase(` + metric(`envoy_wasm_routelimit_vm_reload_success`) + `[$__rate_interval]))`, "crashes"},
				{`sum(increase({__name__=~"envoy_(cluster_)?wasm_routelimit_gateway_vm_reload_success", instance=~"$instance"}[$__rate_interval]))`, "crashes of the gateway"}}},
	}},
}

// requests selects the requests that ended in one of some outcomes, for rate().
func requests(outcomes string) string {
	return metric("routelimit_requests_total", `route=~"$route"`, `outcome=~"`+outcomes+`"`) + "[$__rate_interval]"
}

// metric selects a metric of the chosen Envoys.
func metric(name string, matchers ...string) string {
	text := name + `{instance=~"$instance"`
	for _, m := range matchers {
		text += ", " + m
	}
	return text + "}"
}

func quantile(q, buckets string) string {
	return `histogram_quantile(` + q + `, sum by (le) (rate(` + metric(buckets) + `[$__rate_interval])))`
}

// orZero shows 0 for what has never been counted.
func orZero(expr string) string { return expr + " or vector(0)" }
