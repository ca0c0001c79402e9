package identity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func withBody(contentType, body string) request {
	r := header("content-type", contentType)
	r.body = &Body{Bytes: []byte(body), Complete: true}
	return r
}

func jsonBody(body string) request { return withBody("application/json", body) }
func formBody(body string) request {
	return withBody("application/x-www-form-urlencoded", body)
}

func TestG37_WhatIsReadFromABody(t *testing.T) {
	const alice = "id:alice"
	fallen := func(noted Noted) resolved { return resolved{"ip:192.0.2.1", "ip", noted} }
	multipart := "--b\r\nContent-Disposition: form-data; name=\"username\"\r\n\r\nalice\r\n--b--\r\n"
	encoded := func(coding string) request {
		r := jsonBody(`{"username":"alice"}`)
		r.headers = append(r.headers, [2]string{"content-encoding", coding})
		return r
	}
	incomplete := jsonBody(`{"username":"alice"}`)
	incomplete.body.Complete = false
	cutForm := formBody("username=alice")
	cutForm.body.Complete = false
	twoTypes := jsonBody(`{"username":"alice"}`)
	twoTypes.headers = append(twoTypes.headers, [2]string{"content-type", "text/plain"})
	for name, tt := range map[string]struct {
		r    request
		want resolved
	}{
		"json":                          {jsonBody(`{"username":"alice"}`), resolved{alice, "id", 0}},
		"json with a charset":           {withBody("application/json; charset=utf-8", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"json of a kind":                {withBody("Application/Vnd.Login+JSON ;v=1", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"json with a mark":              {jsonBody("\ufeff" + `{"username":"alice"}`), resolved{alice, "id", 0}},
		"form":                          {formBody("a=1&username=alice&b=2"), resolved{alice, "id", 0}},
		"form with a charset":           {withBody("application/x-www-form-urlencoded;charset=UTF-8", "username=%61lice"), resolved{alice, "id", 0}},
		"identity encoding":             {encoded("identity"), resolved{alice, "id", 0}},
		"no body":                       {header("content-type", "application/json"), fallen(NoIdentity)},
		"empty body":                    {jsonBody(""), fallen(NoIdentity)},
		"no such field":                 {jsonBody(`{"user":"alice"}`), fallen(NoIdentity)},
		"gzip":                          {encoded("gzip"), fallen(NoIdentity | BodyUnread)},
		"identity, then gzip":           {encoded("identity, gzip"), fallen(NoIdentity | BodyUnread)},
		"multipart":                     {withBody("multipart/form-data; boundary=b", multipart), fallen(NoIdentity | BodyUnread)},
		"text":                          {withBody("text/plain", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"no type":                       {withBody("", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"an object under a form's type": {withBody("application/x-www-form-urlencoded", " \n"+`{"username":"alice"}`), resolved{alice, "id", 0}},
		"no object, no type":            {withBody("", `["username"]`), fallen(NoIdentity | BodyUnread)},
		"a form without its type":       {withBody("text/plain", "username=alice"), fallen(NoIdentity | BodyUnread)},
		"a bare +json":                  {withBody("application/+json", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"two types":                     {twoTypes, resolved{alice, "id", 0}},
		"cut off at the cap":            {incomplete, fallen(NoIdentity | BodyUnread)},
		"form cut off":                  {cutForm, fallen(NoIdentity | BodyUnread)},
		"json that breaks off":          {jsonBody(`{"username":"alice"`), fallen(NoIdentity | BodyUnread)},
		"json with more behind":         {jsonBody(`{"username":"alice"} {"username":"bob"}`), fallen(NoIdentity | BodyUnread)},
		"json, trailing comma":          {jsonBody(`{"username":"alice",}`), fallen(NoIdentity | BodyUnread)},
		"json in UTF-16":                {jsonBody("\xff\xfe{\x00}\x00"), fallen(NoIdentity | BodyUnread)},
		"json, repeated":                {jsonBody(`{"username":"alice","username":"alice"}`), fallen(NoIdentity | Ambiguous)},
		"json, repeated by case":        {jsonBody(`{"username":"alice","userName":"bob"}`), fallen(NoIdentity | Ambiguous)},
		"form, repeated":                {formBody("username=alice&username=bob"), fallen(NoIdentity | Ambiguous)},
		"form, by escape":               {formBody("username=alice&user%6eame=bob"), fallen(NoIdentity | Ambiguous)},
		"form, by case":                 {formBody("username=alice&USERNAME=bob"), fallen(NoIdentity | Ambiguous)},
		"form, empty value":             {formBody("username=&password=x"), fallen(NoIdentity)},
		"form, name alone":              {formBody("username"), fallen(NoIdentity)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resolve(single(t, "body:username"), tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONFieldByPath(t *testing.T) {
	const fallen = "ip:192.0.2.1"
	for _, tt := range []struct{ path, body, want string }{
		{"a.b", `{"a":{"b":"x"}}`, "id:x"},
		{"a.b", `{"c":{"b":"y"},"a":{"c":{"b":"z"},"b":"x"},"b":"w"}`, "id:x"},
		{"a.b", `{"a":[{"b":"y"}],"b":"w"}`, fallen},
		{"a.b", `{"a":"b"}`, fallen},
		{"a.b", `{"a.b":"x"}`, fallen},
		{`a\.b`, `{"a.b":"x"}`, "id:x"},
		{"a.b", `[{"a":{"b":"x"}}]`, fallen},
		{"a", `"a"`, fallen},
		{"a", `{"a":42}`, "id:42"},
		{"a", `{"a":"42"}`, "id:42"},
		{"a", `{"a":-7}`, "id:-7"},
		{"a", `{"a":9007199254740993}`, "id:9007199254740993"},
		{"a", `{"a":4.0}`, fallen},
		{"a", `{"a":1e3}`, fallen},
		{"a", `{"a":true}`, fallen},
		// A name in another letter case is what case-blind upstreams read.
		{"userName", `{"username":"x"}`, "id:x"},
		{"kind", `{"\u212aind":"x"}`, "id:x"},
		{"a", `{"\u0061":"x"}`, "id:x"},
		{"a", `{"A":"x"}`, "id:x"},
		{"é", `{"\u00C9":"x"}`, "id:x"},
		{"😀", `{"\ud83d\ude00":"x"}`, "id:x"},
		{"a", `{"a":"\ud83d\ude00"}`, "id:%F0%9F%98%80"},
		{"a", `{"a":"\ud83dx"}`, "id:%EF%BF%BDx"},
		{"a", `{"a":"\"\\\/\b\f\n\r\t"}`, "id:%22%5C/%08%0C%0A%0D%09"},
		// Twice, anywhere on the path.
		{"a.b", `{"a":{"b":"x"},"a":{"c":"y"}}`, fallen},
		{"a.b", `{"a":1,"a":{"b":"x"}}`, fallen},
		{"a.b", `{"a":{"b":"x"},"A":null}`, fallen},
		{"a.b", `{"a":{"b":"x","B":"x"}}`, fallen},
		{"a.b", `{"a":{"b":"x","\u0062":"x"}}`, fallen},
		{"a.b", `{"a":{"b":{"b":"y"},"b":"x"}}`, fallen},
		// Twice elsewhere does not matter.
		{"a.b", `{"c":1,"c":2,"a":{"b":"x","d":{"b":1,"b":2}}}`, "id:x"},
	} {
		if got := keyOf(single(t, "body:"+tt.path), jsonBody(tt.body)); got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.path, tt.body, got, tt.want)
		}
	}
}

func TestFormFieldMayHaveDots(t *testing.T) {
	for body, want := range map[string]string{
		"user.name=x":          "id:x",
		"user%2Ename=a+b%2Bc":  "id:a%20b+c",
		"User.Name=%zz%4":      "id:%25zz%254",
		"&&=&user.name=x=y&":   "id:x=y",
		"user=1&name=2":        "ip:192.0.2.1",
		"xuser.name=1&user.=2": "ip:192.0.2.1",
	} {
		if got := keyOf(single(t, "body:user.name"), formBody(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestDeepJSONIsReadUpToTheBoundAndNoFurther(t *testing.T) {
	nested := func(n int) string {
		return `{"username":"alice","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for n, want := range map[int]resolved{
		maxDepth - 1: {"id:alice", "id", 0},
		maxDepth:     {"ip:192.0.2.1", "ip", NoIdentity | BodyUnread},
		1 << 20:      {"ip:192.0.2.1", "ip", NoIdentity | BodyUnread},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := resolve(single(t, "body:username"), jsonBody(nested(n))); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
