package accesslog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of several logs each takes the places that its format can have; those that it
// cannot have, and those that no line had, are named.
func TestPlacesThatALogCannotHaveAreLeftOutAndNamed(t *testing.T) {
	const (
		combined = `203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"`
		further  = combined + ` "k"`
		common   = `203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5`
		json     = `{"time":1796130000,"method":"GET","path":"/","user":"a"}`
	)
	for name, c := range map[string]struct {
		fields []string
		line   string
		want   string // format, values, unfit, unmet
	}{
		"a path of text":           {[]string{"body:user=.user"}, combined, "combined;-|curl;[body:user=.user];[]"},
		"a path of JSON":           {[]string{"body:user=.user"}, json, "json;a;[];[]"},
		"a word of JSON":           {[]string{"header:k=10"}, json, "json;;[header:k=10];[]"},
		"one place for each":       {[]string{"header:k=10", "header:k=.user"}, further, "combined;k|-|curl;[];[]"},
		"and the other":            {[]string{"header:k=10", "header:k=.user"}, json, "json;a;[];[]"},
		"a word that is not there": {[]string{"header:k=10"}, combined, "combined;-|curl;[header:k=10];[]"},
		"a word of a shorter line": {[]string{"header:k=9"}, common, "common;;[header:k=9];[]"},
		"no value of a word":       {[]string{"header:k=2"}, common, "common;-;[];[header:k=2]"},
		"a key that is misspelt":   {[]string{"body:user=.usr"}, json, "json;-;[];[body:user=.usr]"},
		"a constant":               {[]string{"host==h"}, json, "json;;[];[]"},
		"the format's own place":   {[]string{"method=.m"}, common, "common;;[method=.m];[]"},
	} {
		entries, logs := read(t, Options{Fields: fields(t, c.fields...)}, c.line)
		if len(entries) != 1 {
			t.Errorf("%s: %v", name, logs[0].Err)
			continue
		}
		values := append([]string(nil), entries[0].Values...)
		for i := range values {
			if values[i] == "" {
				values[i] = "-"
			}
		}
		got := fmt.Sprintf("%s;%s;%v;%v", logs[0].Layout.Format, strings.Join(values, "|"), logs[0].Unfit, logs[0].Unmet)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDetailsAreReadWhereTheFormatHasThem(t *testing.T) {
	for name, line := range map[string]string{
		"JSON":  `{"time":1796130000,"method":"GET","path":"/","response_code_details":"ext_authz_denied"}`,
		"istio": `[2026-12-01T13:47:36.685Z] "GET / HTTP/1.1" 403 - ext_authz_denied - "-" 0 2 0 - "192.0.2.2" "c" "id" "h" "-" - - 127.0.0.1:18080 127.0.0.1:48652 - some`,
	} {
		if entries, logs := read(t, Options{}, line); len(entries) != 1 || entries[0].Details != "ext_authz_denied" {
			t.Errorf("%s: %+v, %v", name, entries, logs[0].Err)
		}
	}
}
