//go:build browser

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"routelimit/live"
	"routelimit/policy"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// growing is a source whose counters grow with each reading.
type growing struct {
	n     uint64
	names []string
}

func (g *growing) Read(context.Context) (*live.Reading, error) {
	g.n++
	r := &live.Reading{Values: map[string]uint64{}, Decisions: []servers.Bucket{{UpTo: 200, Count: g.n}, {UpTo: 3000, Count: 2 * g.n}}}
	for i, name := range g.names {
		r.Values[name] = g.n * uint64(10-i)
	}
	return r, nil
}

// hostile is what an attacker would send.
const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'>`

// unescaped is what of it can stand in a key, where blanks and some more are escaped.
const unescaped = `<img/src=x/onerror="window.hacked=1">`

// What callers send is text, wherever it stands.
func TestTheLivePageShowsWhatAttackersSendAsText(t *testing.T) {
	p, err := policy.Parse([]byte(`{"identities": {"user": {"from": "header:x-user"}},
		"routes": {"GET /a": {"limits": [{"name": "user", "identity": "user", "limit": 1, "window": "365d", "algorithm": "fixed_window"},
			{"name": "watched", "identity": "ip", "limit": 5, "window": "1m", "shadow": true}]}, "GET /healthz": {"limits": []}},
		"default": {"identity": "ip", "limit": 9, "window": "1m", "on_error": "closed"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	redis := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	if err := redis.Client().HSet(t.Context(), "rl:{GET:/a|user:"+unescaped+"}", "w31536000", fmt.Sprintf("%d 7 0", yearStart())).Err(); err != nil {
		t.Fatal(err)
	}
	logFile := filepath.Join(t.TempDir(), "envoy.log")
	line := fmt.Sprintf("[2026-12-01 10:00:00.000][1][info][wasm] [context.cc:1] wasm log routelimit: {%q:%q,%q:%q,%q:%q,%q:%q,%q:1,%q:%q,%q:%q}\n",
		"event", "rate_limited", "route", hostile, "limit", hostile, "key", hostile, "quota", "window", hostile, "identity", "user:"+hostile)
	if err := os.WriteFile(logFile, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := live.Start(t.Context(), live.Options{
		Source: &growing{names: []string{
			"routelimit_requests_total.route=.GET:/a;.limit=.user;.outcome=.passed;.", "routelimit_requests_total.route=.GET:/a;.limit=.user;.outcome=.refused;.",
			"routelimit_requests_total.route=." + hostile + ";.limit=.x;.outcome=.passed;.", "routelimit_failures_total.kind=." + hostile + ";.",
			"routelimit_leases_total.outcome=.taken;.", "routelimit_leased_requests_total.outcome=.spent;.",
		}},
		Policy: p, Redis: redis.Client(), LogFile: logFile, Facts: []live.Fact{{Name: "envoy", Value: hostile}}, Warnings: []string{hostile},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Stop)

	browser := chromium(t)
	for _, view := range []struct {
		width  int64
		scheme string
	}{{phone, "light"}, {phone, "dark"}, {screen, "light"}, {screen, "dark"}} {
		name := fmt.Sprintf("hostile-%d-%s", view.width, view.scheme)
		b := open(t, browser, page.URL(), view.width, view.scheme)
		b.until(`document.querySelectorAll('svg .refused').length > 1`)
		b.until(`document.getElementById('refused').innerText.includes('user:<img/src') && document.getElementById('used').innerText.includes('user:<img/src')`)
		b.until(`document.querySelector('#trouble .trouble').innerText.startsWith('Redis does not decide') && document.getElementById('status').className === 'still'`)
		b.until(`document.getElementById('link').innerText.includes('leases taken') && document.getElementById('refusals').innerText.includes('2 times')`)
		b.sound(name)
		for _, part := range []string{"warnings", "refusals", "routes", "link", "facts"} {
			if !eval[bool](b, `document.getElementById('`+part+`').innerText.includes('<img src=x onerror=')`) {
				t.Errorf("%s: %s shows no such text", name, part)
			}
		}
		if eval[bool](b, `'hacked' in window || document.querySelector('main img, main script, main b:not(.tile b)') !== null`) {
			t.Errorf("%s: what was sent became a part of the page", name)
		}
		background := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		if dark := background == "rgb(21, 23, 26)"; dark != (view.scheme == "dark") {
			t.Errorf("%s: the background is %s", name, background)
		}
	}
}

// Even a script that got into the page does not run.
func TestTheSecurityPolicyLetsNoOtherScriptRun(t *testing.T) {
	p, err := policy.Parse([]byte(`{"default": {"identity": "ip", "limit": 9, "window": "1m"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := live.Start(t.Context(), live.Options{Source: &growing{}, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Stop)
	b := open(t, chromium(t), page.URL(), screen, "light")
	eval[bool](b, `(() => { const d = document.createElement('div'); d.innerHTML = '<img src="/nothing" onerror="window.hacked=1">'; document.body.append(d);
		const s = document.createElement('script'); s.textContent = 'window.hacked=1'; document.body.append(s); return true })()`)
	b.until(`performance.now() > 2500`) // the image has failed by then
	if eval[bool](b, `'hacked' in window`) {
		t.Error("it ran")
	}
}
