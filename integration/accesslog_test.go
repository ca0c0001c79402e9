package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const decisionsLog = "decisions.log"

// decisions writes what an access log can show of a decision into a file.
var decisions = listen("decisions", `{"routes": {
		"GET /login": {"on_error": "closed", "limits": [{"name": "per minute", "identity": "all", "limit": 1, "window": "24h"}]},
		"GET /reads": {"identity": "all", "limit": 1, "window": "24h"}
	}, "default": null}`,
	func(manager tree) {
		manager["access_log"] = []any{tree{
			"name": "envoy.access_loggers.file",
			"typed_config": tree{
				"@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
				"path":  filepath.Join(dynamicFolder, decisionsLog),
				"log_format": tree{"text_format_source": tree{"inline_string": "%PATH(NQ)% %RESPONSE_CODE% %RESPONSE_CODE_DETAILS%" +
					" %FILTER_STATE(wasm.routelimit.outcome:PLAIN)% %FILTER_STATE(wasm.routelimit.limit:PLAIN)%\n"}},
			},
		}}
	})

func TestAccessLogShowsTheDecision(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, decisions, "")
	c.get("/login")
	c.get("/login")
	c.get("/other")
	restart := kill(t)
	c.get("/login")
	c.get("/reads")
	restart()
	want := []string{
		"/login 200 via_upstream - -",
		"/login 429 routelimit_refused{per_minute} refused per minute",
		"/other 200 via_upstream - -",
		"/login 503 routelimit_unavailable{upstream_failure} unavailable -",
		"/reads 200 via_upstream open -",
		"",
	}
	eventually(t, "Envoy writes its log", func() error {
		text, err := os.ReadFile(filepath.Join(dynamicFolder, decisionsLog))
		if err != nil {
			return err
		}
		return differ(want, strings.Split(string(text), "\n"))
	})
}

// TestShippedAccessLogNamesTheRefusal looks at the log that envoy.yaml writes, which has the path without its query.
func TestShippedAccessLogNamesTheRefusal(t *testing.T) {
	e := fresh(t)
	before := len(e.Log())
	c := dial(t, e, journey, "127.0.0.11")
	for range 11 {
		c.send("POST", "/login?username=hush", `{"username":"hush-l"}`)
	}
	eventually(t, "Envoy writes its log", func() error {
		if n := logged(e, before, `"path":"/login","response_code":429,"response_code_details":"routelimit_refused{pair}"`); n != 1 {
			return fmt.Errorf("%d lines about one refusal", n)
		}
		return nil
	})
}
