package imported

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"routelimit/bootstrap/yamltree"
)

// descriptor is one entry of the service's tree, as its src/config/config_impl.go
// keeps it: by "key", or "key_value".
type descriptor struct {
	Place
	name     string // "key" or "key_value"
	key      string
	children []*descriptor
	limit    *quota // nil: none
	pooled   bool   // share_threshold
	used     bool   // some action's descriptor reached it
}

// quota is a rate_limit.
type quota struct {
	Place
	number    int64
	window    time.Duration
	unlimited bool
	shadow    bool
	quotaMode bool
	name      string
	replaces  []string
}

// units are the service's windows. They begin at multiples of their length since
// 1970 (src/limiter/cache_key.go), as fixed windows do here.
var units = map[string]time.Duration{
	"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour,
	"WEEK": 7 * 24 * time.Hour, "MONTH": 30 * 24 * time.Hour, "YEAR": 365 * 24 * time.Hour,
}

// serviceFields are all that the service knows; it refuses others.
var serviceFields = []string{
	"domain", "key", "value", "descriptors", "rate_limit", "unit", "requests_per_unit", "unlimited", "shadow_mode", "quota_mode",
	"name", "replaces", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
}

// mostDepth and mostDescriptors bound what is read.
const (
	mostDepth       = 32
	mostDescriptors = 20_000
	mostValues      = 20 * mostDescriptors
)

func (c *converter) readService() error {
	if len(c.input.Service) == 0 {
		return errors.New("there is no configuration of the rate limit service; give its files")
	}
	left, values := mostDescriptors, mostValues
	for _, file := range c.input.Service {
		documents, err := parse(file)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(documents, isEnvoy) {
			return fmt.Errorf("%s: this is an Envoy configuration; give it by --envoy", file.Name)
		}
		if len(documents) != 1 || !documents[0].IsMapping() {
			return fmt.Errorf("%s: it is no configuration of the rate limit service; it begins with domain: and descriptors:", file.Name)
		}
		r := serviceReader{converter: c, file: file.Name, left: &left, values: &values}
		if err := r.read(documents[0]); err != nil {
			return err
		}
	}
	return nil
}

// isEnvoy tells Envoy's files, of which the service knows no field.
func isEnvoy(n *yamltree.Node) bool {
	return slices.ContainsFunc([]string{"static_resources", "dynamic_resources", "filter_chains", "virtual_hosts", "resources", "@type"}, func(name string) bool { return n.At(name) != nil })
}

// isService tells the service's files.
func isService(n *yamltree.Node) bool {
	return n.At("domain") != nil && n.At("descriptors") != nil && !isEnvoy(n)
}

type serviceReader struct {
	*converter
	file string
	// left and values are how many descriptors and values may still be read, since
	// aliases can make a short file a huge one.
	left, values *int
}

func (r *serviceReader) read(n *yamltree.Node) error {
	if err := r.checkFields(n, 0); err != nil {
		return err
	}
	domain := n.At("domain").Text()
	if domain == "" {
		return r.fail(n, "the domain is missing; write domain: and the name that Envoy's filter has")
	}
	root := r.domains[domain]
	if root == nil {
		root = &descriptor{Place: placeOf(r.file, n), name: domain}
		r.domains[domain] = root
	}
	return r.readChildren(root, n.At("descriptors"), 0)
}

func (r *serviceReader) fail(n *yamltree.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %s", placeOf(r.file, n), fmt.Sprintf(format, args...))
}

// checkFields refuses what the service refuses.
func (r *serviceReader) checkFields(n *yamltree.Node, depth int) error {
	if depth > 2*mostDepth {
		return r.fail(n, "descriptors are nested too deep; at most %d levels are read", mostDepth)
	}
	if *r.values--; *r.values < 0 {
		return r.fail(n, "there are more than %d values; convert the domains one by one", mostValues)
	}
	for _, item := range n.Items() {
		if !item.IsMapping() {
			return r.fail(item, "it is no mapping; the service knows lists of mappings alone")
		}
		if err := r.checkFields(item, depth+1); err != nil {
			return err
		}
	}
	for i, f := range n.Fields() {
		at := &yamltree.Node{Line: f.Line, Column: f.Column}
		if !slices.Contains(serviceFields, f.Name) {
			return r.fail(at, "the service does not know the field %q; correct it", f.Name)
		}
		if slices.ContainsFunc(n.Fields()[:i], func(g yamltree.Field) bool { return g.Name == f.Name }) {
			return r.fail(at, "the field %q occurs twice; write it once", f.Name)
		}
		if f.Name == "metadata" {
			continue
		}
		if err := r.checkFields(f.Value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *serviceReader) readChildren(parent *descriptor, list *yamltree.Node, depth int) error {
	if depth == mostDepth {
		return r.fail(list, "descriptors are nested too deep; at most %d levels are read", mostDepth)
	}
	for _, n := range list.Items() {
		if *r.left--; *r.left < 0 {
			return r.fail(n, "there are more than %d descriptors; convert the domains one by one", mostDescriptors)
		}
		d := &descriptor{Place: placeOf(r.file, n), key: n.At("key").Text(), pooled: n.At("share_threshold").True()}
		d.name = d.key
		if value := n.At("value").Text(); value != "" {
			d.name += "_" + value
		}
		switch {
		case d.key == "":
			return r.fail(n, "the descriptor has no key; write one")
		case parent.child(d.name) != nil:
			return r.fail(n, "the descriptor %q occurs twice; the service refuses that, remove one", d.name)
		case d.pooled && !strings.Contains(d.name, "*"):
			return r.fail(n, `share_threshold needs a value with "*"; the service refuses it otherwise`)
		}
		var err error
		if limit := n.At("rate_limit"); limit.IsMapping() {
			if d.limit, err = r.readLimit(n, limit); err != nil {
				return err
			}
		}
		parent.children = append(parent.children, d)
		if err := r.readChildren(d, n.At("descriptors"), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *serviceReader) readLimit(n, limit *yamltree.Node) (*quota, error) {
	q := &quota{
		Place: placeOf(r.file, limit), name: limit.At("name").Text(), unlimited: limit.At("unlimited").True(),
		shadow: n.At("shadow_mode").True(), quotaMode: n.At("quota_mode").True(),
	}
	for _, replaced := range limit.At("replaces").Items() {
		q.replaces = append(q.replaces, replaced.At("name").Text())
	}
	unit := limit.At("unit").Text()
	q.window = units[strings.ToUpper(unit)]
	if q.window == 0 && !q.unlimited {
		return nil, r.fail(limit, "%q is no unit of the service; write second, minute, hour, day, week, month or year", unit)
	}
	if number := limit.At("requests_per_unit"); !number.IsNull() {
		value, ok := number.Number()
		if !ok || value > math.MaxUint32 {
			return nil, r.fail(number, "%q is no number of requests; write a whole number of at most 4294967295", number.Text())
		}
		q.number = value
	}
	return q, nil
}

// child finds one by its whole name.
func (d *descriptor) child(name string) *descriptor {
	for _, child := range d.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// find is the service's GetLimit for one entry: the value as it is, then patterns
// in the order of the file, then the key alone.
func (d *descriptor) find(key, value string) *descriptor {
	full := key + "_" + value
	if exact := d.child(full); exact != nil {
		return exact
	}
	for _, child := range d.children {
		if strings.Contains(child.name, "*") && matchesPattern(child.name, full) {
			return child
		}
	}
	return d.child(key)
}

// matchesPattern is the service's wildcardMatch: each "*" is any text, also none.
func matchesPattern(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	rest, ok = strings.CutSuffix(rest, parts[last])
	for i := 1; ok && i < last; i++ {
		_, rest, ok = strings.Cut(rest, parts[i])
	}
	return ok
}

// tellUnused names limits that no action of Envoy's asks about.
func (c *converter) tellUnused() {
	for _, root := range c.domains {
		c.tellUnusedIn(root)
	}
}

func (c *converter) tellUnusedIn(d *descriptor) {
	for _, child := range d.children {
		if child.limit != nil && !child.limit.unlimited && !child.used {
			c.note(child.Place, "no rate_limits action asks about %q here, so it limits nothing today and was left out", child.name)
		}
		c.tellUnusedIn(child)
	}
}
