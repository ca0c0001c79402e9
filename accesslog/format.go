package accesslog

import (
	"fmt"
	"slices"
	"strings"
)

// format is how lines are written that somebody else has laid down.
type format struct {
	name string
	// kinds are those of the words at least, see splitWords.
	kinds string
	// more says that lines may have further words.
	more bool
	// escapes says that quotes within quotes have a backslash.
	escapes  bool
	received bool // X-Forwarded-For is as the proxy received it
	fields   []string
}

// The formats of text, the longer ones first: the shorter ones may have further words.
var formats = []format{
	{
		// Envoy's documentation, "Access logging", "Default format string".
		name: "envoy", kinds: "tqbbbbbbqqqqq",
		fields: []string{"time=1", "request=2", "status=3", "forwarded_for=9", "header:user-agent=10", "header:x-request-id=11", "host=12"},
	},
	{
		// Istio's documentation, "Envoy Access Logs", "Default access log format".
		name: "istio", kinds: "tqbbbbqbbbbqqqqqbbbbbb",
		fields: []string{
			"time=1", "request=2", "status=3", "details=5", "forwarded_for=12", "header:user-agent=13", "header:x-request-id=14",
			"host=15", "client=20", "property:xds.route_name=22",
		},
	},
	{
		// nginx, ngx_http_log_module; Apache, mod_log_config.
		name: "combined", kinds: "bbbtqbbqq", more: true, escapes: true, received: true,
		fields: []string{"client=1", "time=4", "request=5", "status=6", "header:referer=8", "header:user-agent=9"},
	},
	{
		name: "common", kinds: "bbbtqbb", escapes: true, received: true,
		fields: []string{"client=1", "time=4", "request=5", "status=6"},
	},
}

// formatText is any other text; all its fields have to be given.
const (
	formatText = "text"
	formatJSON = "json"
)

// FormatNames lists what Options.Format may be, besides "" for finding out.
func FormatNames() []string {
	names := make([]string, 0, len(formats)+2)
	for _, f := range formats {
		names = append(names, f.name)
	}
	return append(names, formatJSON, formatText)
}

// jsonNames are the keys under which logs in JSON commonly keep something, the
// likeliest first. The first that occurs in the log's first lines counts.
var jsonNames = []struct {
	field string
	keys  []string
}{
	{"time", []string{"start_time", "time", "@timestamp", "timestamp", "ts", "msec", "time_iso8601", "time_local"}},
	{"request", []string{"request", "request_line"}},
	{"method", []string{"method", "request_method", "http_method"}},
	{"path", []string{"path", "request_uri", "uri", "url"}},
	{"host", []string{"authority", "host", "http_host"}},
	{"status", []string{"response_code", "status", "status_code"}},
	{"client", []string{"downstream_remote_address", "remote_addr", "client_ip", "remote_ip", "downstream_remote_address_without_port"}},
	{"forwarded_for", []string{"x_forwarded_for", "forwarded_for", "http_x_forwarded_for"}},
	{"details", []string{"response_code_details"}},
	{"header:user-agent", []string{"user_agent", "http_user_agent"}},
	{"property:xds.route_name", []string{"route_name"}},
}

// receivedKeys are nginx' own names, whose values are as it received them.
var receivedKeys = []string{"http_x_forwarded_for", "remote_addr"}

// places are the given fields, and those of a format that no given one replaces.
func places(given []Field, known []string) []Field {
	all := slices.Clone(given)
	for _, text := range known {
		f, err := ParseField(text)
		if err != nil {
			panic(err) // of the tables above
		}
		if !named(all, f.Name) {
			all = append(all, f)
		}
	}
	return all
}

// fitting parts the fields whose place a log can have from those that it cannot,
// unless another place of the same name fits: of several logs each takes what it
// can. A line of text has so many words at most.
func fitting(given []Field, isJSON bool, words int) (fit, unfit []Field) {
	var rest []Field
	for _, f := range given {
		if f.path != nil && !isJSON || f.position > 0 && isJSON || f.position > words {
			rest = append(rest, f)
		} else {
			fit = append(fit, f)
		}
	}
	for _, f := range rest {
		if !named(fit, f.Name) && !named(unfit, f.Name) {
			unfit = append(unfit, f)
		}
	}
	return fit, unfit
}

func named(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
}

// checkFields says why lines cannot be read by these fields, or nil. unfit are given
// as well, and cannot be used.
func checkFields(format string, fields, unfit []Field) error {
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			return fmt.Errorf("field %q is given twice; give it once", f.Name)
		}
		seen[f.Name] = true
	}
	if len(fields) > maxFields {
		return fmt.Errorf("there are %d fields; give at most %d", len(fields), maxFields)
	}
	var missing []string
	for _, need := range [...]string{"time", "method", "path"} {
		if seen[need] || need != "time" && seen["request"] {
			continue
		}
		if i := slices.IndexFunc(unfit, func(f Field) bool { return f.Name == need }); i >= 0 {
			return fmt.Errorf("field %q cannot be found at %s: %s", need, unfit[i].place, Unfit(format, unfit[i]))
		}
		missing = append(missing, need)
	}
	if missing != nil {
		return fmt.Errorf("nothing says where the log has its %s; give each with --field, such as --field %s=%s",
			strings.Join(missing, " and "), missing[0], samplePlace(format, missing[0]))
	}
	return nil
}

// Unfit says why a log of this format cannot have the field's place, and what to do.
func Unfit(format string, f Field) string {
	switch {
	case f.path != nil:
		return fmt.Sprintf("that is a path, and the log is no JSON but %s; write the number of a word", format)
	case format == formatJSON:
		return "that is the number of a word, and the log is JSON; write .json.path"
	}
	return "its lines have fewer words; write the number of a word that is there"
}

func samplePlace(format, name string) string {
	if format == formatJSON {
		return "." + name
	}
	return "1"
}
