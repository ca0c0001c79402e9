package imported

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"routelimit/bootstrap/yamltree"
)

const (
	managerType  = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	filterType   = "envoy.extensions.filters.http.ratelimit.v3.RateLimit"
	perRouteType = "envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute"
	wrapperType  = "envoy.config.route.v3.FilterConfig"
)

// envoyFile is a file with its documents.
type envoyFile struct {
	name      string
	documents []*yamltree.Node
}

// routing is a route configuration, and the manager that it is written in or that
// names it; nil if no file has that.
type routing struct {
	file          string
	node, manager *yamltree.Node
	managerFile   string
	name          string
}

// readEnvoy finds the filters and the virtual hosts to convert.
func (c *converter) readEnvoy() ([]*host, error) {
	var files []envoyFile
	for _, file := range c.input.Envoy {
		documents, err := parse(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(documents, isService) {
			return nil, fmt.Errorf("%s: this is a configuration of the rate limit service; give it by --ratelimit", file.Name)
		}
		files = append(files, envoyFile{file.Name, documents})
	}
	chosen, err := chooseRouting(findRoutings(files), c.input.RouteConfig)
	if err != nil {
		return nil, err
	}
	c.readServiceCluster(files)
	if err := c.readFilters(chosen); err != nil {
		return nil, err
	}
	return c.readHosts(chosen)
}

// findRoutings lists the route configurations of all managers that limit, or those
// that stand by themselves where there is no such manager.
func findRoutings(files []envoyFile) []routing {
	var alone, managed []routing
	named := map[string]routing{}
	each(files, func(file string, n *yamltree.Node) {
		if n.At("virtual_hosts").IsList() {
			r := routing{file: file, node: n, name: n.At("name").Text()}
			alone = append(alone, r)
			if r.name != "" {
				named[r.name] = r
			}
		}
	})
	each(files, func(file string, n *yamltree.Node) {
		if !isType(n, managerType) || !slices.ContainsFunc(n.At("http_filters").Items(), isLimiter) {
			return
		}
		r := routing{file: file, node: n.At("route_config"), name: n.At("route_config", "name").Text()}
		if r.node == nil {
			r = named[n.At("rds", "route_config_name").Text()]
		}
		if r.node != nil {
			if r.name == "" {
				r.name = n.At("stat_prefix").Text()
			}
			r.manager, r.managerFile = n, file
			managed = append(managed, r)
		}
	})
	if len(managed) > 0 {
		return managed
	}
	return alone
}

func each(files []envoyFile, visit func(file string, n *yamltree.Node)) {
	for _, f := range files {
		for _, document := range f.documents {
			document.Walk(func(n *yamltree.Node) { visit(f.name, n) })
		}
	}
}

func chooseRouting(all []routing, name string) (routing, error) {
	var names []string
	for _, r := range all {
		if r.name == name && name != "" || name == "" && len(all) == 1 {
			return r, nil
		}
		names = append(names, fmt.Sprintf("%q", r.name))
	}
	switch {
	case len(all) == 0:
		return routing{}, errors.New("no Envoy configuration has routes (virtual_hosts) and a ratelimit filter; give a bootstrap, or a listener and its route configuration")
	case name == "":
		return routing{}, fmt.Errorf("there are %d route configurations, %s; a policy is for one, choose it by its name", len(all), strings.Join(names, ", "))
	}
	return routing{}, fmt.Errorf("there is no route configuration %q; there are %s", name, strings.Join(names, ", "))
}

func (c *converter) readServiceCluster(files []envoyFile) {
	for _, f := range files {
		for _, document := range f.documents {
			if cluster := document.At("node", "cluster").Text(); cluster != "" && c.input.ServiceCluster == "" {
				c.input.ServiceCluster = cluster
			}
		}
	}
}

// filter is one ratelimit filter of the manager, in the order of the chain.
type filter struct {
	Place
	name    string // under which typed_per_filter_config has it
	domain  string
	stage   int64
	closed  bool // failure_mode_deny
	status  string
	headers *yamltree.Node
	quotas  bool // X-RateLimit headers
	own     []*yamltree.Node
	config  *yamltree.Node
}

// readFilters reads the filters of the manager. Without one, the only domain of the
// service is taken, at stage 0.
func (c *converter) readFilters(r routing) error {
	for _, n := range r.manager.At("http_filters").Items() {
		if !isLimiter(n) || n.At("disabled").True() {
			continue
		}
		config := n.At("typed_config")
		f := &filter{
			Place: placeOf(r.managerFile, config), name: n.At("name").Text(), domain: config.At("domain").Text(),
			closed: config.At("failure_mode_deny").True(), status: config.At("rate_limited_status", "code").Text(),
			headers: config.At("response_headers_to_add"), own: config.At("rate_limits").Items(), config: config,
			quotas: config.At("enable_x_ratelimit_headers").Text() == "DRAFT_VERSION_03",
		}
		f.stage, _ = config.At("stage").Number()
		c.filters = append(c.filters, f)
		if c.domains[f.domain] == nil {
			c.loseDomain(f, f.domain)
		} else {
			c.tellFilter(f)
		}
	}
	if len(c.filters) == 0 && r.manager == nil {
		if len(c.domains) != 1 {
			return errors.New("the files have no ratelimit filter that says which domain of the service is asked; give the listener, too, or one domain's configuration alone")
		}
		for domain := range c.domains {
			c.filters = append(c.filters, &filter{Place: placeOf(r.file, r.node), name: "envoy.filters.http.ratelimit", domain: domain})
		}
		c.note(c.filters[0].Place, "no file has the ratelimit filter: failure_mode_deny false, stage 0 and no X-RateLimit headers were taken for granted")
	}
	return nil
}

// loseDomain says that nobody limits what a filter asks about, which hardly anybody means.
func (c *converter) loseDomain(f *filter, domain string) {
	lost := Finding{Place: f.Place, Lost: true, Text: fmt.Sprintf("this filter asks about the domain %q, and the service's files have %s, so nothing is limited; correct the domain, or give the file with it by --ratelimit",
		domain, quotedList(slices.Sorted(maps.Keys(c.domains))))}
	if !slices.Contains(c.missing, lost) {
		c.missing = append(c.missing, lost)
	}
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// tellFilter says what of a filter is not carried over.
func (c *converter) tellFilter(f *filter) {
	c.matched = true
	if f.config == nil {
		return // it stands in no file
	}
	config := f.config
	at := func(n *yamltree.Node) Place { return placeOf(f.File, n) }
	if n := config.At("request_type"); n != nil && n.Text() != "both" && n.Text() != "" {
		c.lose(at(n), "request_type %s: all requests are counted here, internal and external ones; where that matters, put the internal networks into exempt", n.Text())
	}
	for _, name := range []string{"filter_enabled", "filter_enforced"} {
		if n := config.At(name); n != nil {
			c.lose(at(n), "%s: every request is counted and refused here; for a share of the callers write enforce_percent, to enforce nothing mode: shadow", name)
		}
	}
	if n := config.At("failure_mode_deny_percent"); n != nil {
		c.lose(at(n), "failure_mode_deny_percent: on_error holds for all requests of a route; open, closed or local")
	}
	if n := config.At("timeout"); n != nil {
		c.note(at(n), "timeout %s is of the service and was not taken over: redis.timeout is 50ms, and op_timeout of redis_proxy has to lie below it", n.Text())
	}
	if n := config.At("status_on_error"); n != nil && f.closed {
		c.note(at(n), "status_on_error: a route that is closed while Redis does not answer gives 503, with Retry-After")
	}
	if !config.At("rate_limited_as_resource_exhausted").True() {
		c.note(f.Place, "refused gRPC calls get RESOURCE_EXHAUSTED (8) here; this filter gave UNAVAILABLE (14)")
	}
}

func isLimiter(n *yamltree.Node) bool { return isType(n.At("typed_config"), filterType) }

func isType(n *yamltree.Node, message string) bool {
	return strings.HasSuffix(n.At("@type").Text(), "/"+message)
}
