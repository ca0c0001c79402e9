//go:build wasip1

package main

import (
	"os"
	"strings"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/answer"
	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/limit/deny"
	"routelimit/limit/lease"
	"routelimit/limit/local"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/shim"
)

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(id uint32) types.PluginContext {
	p := &plugin{id: id}
	shim.Handle(id, p)
	return p
}

// plugin is one configuration in one worker. During an update the old and the
// new one live in the same VM, each with requests and a link of its own; so all
// state hangs here and none is global.
type plugin struct {
	types.DefaultPluginContext
	id      uint32
	gateway bool
	policy  *policy.Policy
	link    *link.Link
	denied  *deny.Cache
	local   *local.Buckets
	leases  *lease.Leases
	metrics *metrics
	logs    logs
	routes  routeCache
	matched policy.Matched
	holding holding
	period  uint32 // of the tick, in ms
	resumed int    // requests let go or answered in the present tick

	// Memory that the next request uses again.
	works   []*work
	head    head
	caller  identity.Request
	quotas  []answer.Quota
	headers [][2]string
	bucket  []byte
	unspent lease.Unspent
}

// OnPluginStart reads the configuration. Refusing it makes Envoy refuse the
// update, or the start; an earlier configuration then serves on.
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	// The bytes live in the callback's arena, and parts of them go into the policy.
	raw := []byte(string(shim.PluginConfiguration()))
	p.metrics = newMetrics()
	p.logs = newLogs()
	if isGateway(raw) {
		p.gateway = true
		return types.OnPluginStartStatusOK
	}
	parsed, err := policy.Parse(raw, os.LookupEnv)
	if err == nil {
		err = checkEntry(parsed)
	}
	if err != nil {
		p.metrics.rejected.Add(1)
		shim.Log(shim.LogError, "routelimit: the configuration is refused; correct it and load it again:\n"+err.Error())
		return types.OnPluginStartStatusFailed
	}
	p.use(parsed)
	return types.OnPluginStartStatusOK
}

func (p *plugin) use(parsed *policy.Policy) {
	p.policy = parsed
	p.logs.identity = parsed.Log.Identity
	p.link = link.New(&linkHost{cluster: parsed.Redis.Cluster, metrics: p.metrics}, parsed.Redis.Timeout, limit.AppendEval)
	p.link.Sent = func(commands int) { p.metrics.batch.Record(uint64(commands)) }
	p.link.Resent = func() { p.metrics.resent.Add(1) }
	if parsed.Redis.PasswordEnv != "" || parsed.Redis.Database != 0 {
		p.link.Greeting = func(dst []byte) ([]byte, int) { return appendEntry(dst, parsed) }
		p.link.Rejected = p.entryRefused
	}
	p.link.BreakAfter = parsed.Breaker.Failures
	p.link.MaxDelay = parsed.Breaker.MaxDelay
	p.link.Broke = p.linkBroke
	p.denied = deny.New(parsed.DenyCache.MaxEntries, parsed.DenyCache.MaxTime)
	p.local = local.New(local.MaxBuckets)
	p.leases = lease.New(lease.MaxLeases)
	p.metrics.makeRoom(parsed)
	p.metrics.routes.Record(uint64(len(parsed.Routes)))
	plugins[p.id] = p
	if parsed.Empty {
		shim.Log(shim.LogWarn, "routelimit: the configuration is empty, nothing is limited but what the metadata of Envoy's own routes declares; add routes and a default")
	}
}

// OnPluginDone ends an old configuration after its last request.
func (p *plugin) OnPluginDone() bool {
	delete(plugins, p.id)
	if p.link != nil {
		if p.link.Healthy() {
			p.leases.All(now(), p.giveBackLease)
			p.metrics.leased(p.leases.Counts())
		}
		if p.link.Broken() {
			p.metrics.breakerShut.Add(1) // opened less closed is how many do not ask
		}
		p.link.Stop()
		shim.SetTickPeriod(0)
	}
	return true
}

// neverUnasked says whether a request whose route is not known may be one that
// must not pass unasked.
func (p *plugin) neverUnasked() bool { return p.policy.NeverUnasked || p.routes.neverUnasked }

func (p *plugin) NewHttpContext(id uint32) types.HttpContext {
	panicAt("context")
	if p.gateway {
		return &gatewayStream{}
	}
	return &request{plugin: p, id: id}
}

// OnTick ends overdue waits. It runs only while something waits.
func (p *plugin) OnTick() {
	if p.link == nil {
		return
	}
	p.resumed = 0
	panicAt("tick")
	p.link.Tick()
	p.drain()
	p.expireBodies(link.MaxResumes - p.resumed)
	p.schedule()
}

// OnReceive takes replies from Redis.
func (p *plugin) OnReceive(token uint32, size int) {
	p.link.Receive(token, shim.Received(size))
	p.drain()
	p.schedule()
}

// OnClose takes the end of the stream to Redis.
func (p *plugin) OnClose(token, _ uint32) {
	code, text := shim.StreamStatus()
	p.logs.linkClosed(code, strings.ToValidUTF8(text, "?"))
	p.link.Closed(token)
	p.drain()
	p.schedule()
}

// linkBroke takes the news that Redis is not asked any more, or is again.
func (p *plugin) linkBroke(broken bool) {
	if broken {
		p.metrics.breakerOpen.Add(1)
	} else {
		p.metrics.breakerShut.Add(1)
	}
	p.logs.linkBroke(broken)
}

// drain resumes what the link has answers for. The effective context is then that
// of the last request: calls for the whole plugin go to its root all the same, and
// calls for another request make it effective first.
func (p *plugin) drain() { p.link.Drain() }

// schedule makes the tick as fast as what waits needs it, or ends it.
func (p *plugin) schedule() {
	period := p.link.TickPeriod()
	if period == 0 {
		period = p.holding.tickPeriod()
	}
	if period != p.period {
		p.period = period
		shim.SetTickPeriod(period)
	}
}

// linkHost opens and feeds the stream for link.Link.
type linkHost struct {
	cluster string
	metrics *metrics
}

// The names tell a gateway, or who reads its log, what the stream is.
const (
	linkService = "routelimit.Link"
	linkMethod  = "Pipe"
)

func (h *linkHost) Open() (token uint32, ok bool) {
	h.metrics.opened.Add(1)
	return shim.OpenStream(h.cluster, linkService, linkMethod)
}

func (h *linkHost) Send(token uint32, message []byte) { shim.SendMessage(token, message) }

func (h *linkHost) Close(token uint32) { shim.CloseStream(token) }

func (h *linkHost) Cancel(token uint32) { shim.CancelStream(token) }

func (h *linkHost) Now() time.Duration { return now() }

func now() time.Duration { return shim.Monotonic() }
