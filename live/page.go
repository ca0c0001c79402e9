package live

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/policy"
	"routelimit/servers"
)

// Options say what the page is about.
type Options struct {
	Source   Source
	Policy   *policy.Policy
	Redis    redis.UniversalClient // whose keys are looked at; nil: none
	LogFile  string
	Facts    []Fact
	Warnings []string
	Port     int // on 127.0.0.1; 0: a free one
}

// Page is a running page.
type Page struct {
	options Options
	sampler *sampler
	tail    *tail
	callers *callers // nil: nobody looks into Redis
	server  *http.Server
	addr    string
	cancel  context.CancelFunc
	running sync.WaitGroup
}

//go:embed page.html page.js page.css
var files embed.FS

// Start serves the page until Stop. A port that is taken is a *servers.PortInUseError.
func Start(ctx context.Context, o Options) (*Page, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &servers.PortInUseError{Host: "127.0.0.1", Port: o.Port}
	}
	if err != nil {
		return nil, fmt.Errorf("the page cannot listen on port %d: %w; choose another", o.Port, err)
	}
	p := &Page{options: o, addr: l.Addr().String(), sampler: &sampler{source: o.Source}, tail: &tail{name: o.LogFile}}
	ctx, p.cancel = context.WithCancel(ctx)
	p.running.Go(func() { p.sampler.run(ctx) })
	if o.Redis != nil {
		p.callers = newCallers(o.Redis, o.Policy)
		p.running.Go(func() { p.callers.run(ctx) })
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	p.running.Go(func() { p.server.Serve(l) }) // until Stop
	return p, nil
}

// URL is where the page is.
func (p *Page) URL() string { return "http://" + p.addr + "/" }

// Stop ends the page and all that it does.
func (p *Page) Stop() {
	p.cancel()
	p.server.Close()
	p.running.Wait()
}

// contents are the page's files by their paths.
var contents = map[string][2]string{
	"/":         {"page.html", "text/html; charset=utf-8"},
	"/page.js":  {"page.js", "text/javascript; charset=utf-8"},
	"/page.css": {"page.css", "text/css; charset=utf-8"},
}

// securityPolicy lets the page load its own script and style, and ask for its own numbers.
const securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers for the page, its files and its numbers.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("content-security-policy", securityPolicy)
	h.Set("x-content-type-options", "nosniff")
	h.Set("x-frame-options", "DENY")
	h.Set("referrer-policy", "no-referrer")
	h.Set("cross-origin-resource-policy", "same-origin")
	h.Set("cache-control", "no-store")
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "this page is for this machine alone; open it as localhost or 127.0.0.1", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("allow", "GET, HEAD")
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
	case r.URL.Path == "/state":
		p.tail.read()
		h.Set("content-type", "application/json")
		_ = json.NewEncoder(w).Encode(p.state(time.Now())) // it fails when the browser has gone
	default:
		file, ok := contents[r.URL.Path]
		if !ok {
			http.Error(w, "there is nothing here; the page is at /", http.StatusNotFound)
			return
		}
		text, err := files.ReadFile(file[0])
		if err != nil {
			panic(err) // it is embedded
		}
		h.Set("content-type", file[1])
		_, _ = w.Write(text)
	}
}

// isLoopback says whether a Host header names this machine, so that no name that leads here does for a browser.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}
