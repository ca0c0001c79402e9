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

// A body that is there but cannot be read for certain does not free its caller
// of the limit: the upstream may read it. All such bodies share one key.
func TestG37_WhatIsReadFromABody(t *testing.T) {
	const alice = "id:alice"
	nobody := resolved{"ip:192.0.2.1", "ip", NoIdentity}
	unread := func(why Noted) resolved { return resolved{"id:#unread", "id", why} }
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
	twoCharsets := jsonBody(`{"username":"alice"}`)
	twoCharsets.headers = append(twoCharsets.headers, [2]string{"content-type", "application/json; charset=utf-16"})
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
		"no body":                       {header("content-type", "application/json"), nobody},
		"empty body":                    {jsonBody(""), nobody},
		"no such field":                 {jsonBody(`{"user":"alice"}`), nobody},
		"gzip":                          {encoded("gzip"), unread(BodyUnread)},
		"identity, then gzip":           {encoded("identity, gzip"), unread(BodyUnread)},
		"multipart":                     {withBody("multipart/form-data; boundary=b", multipart), unread(BodyUnread)},
		"text":                          {withBody("text/plain", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"no type":                       {withBody("", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"an object under a form's type": {withBody("application/x-www-form-urlencoded", " \n"+`{"username":"alice"}`), resolved{alice, "id", 0}},
		"no object, no type":            {withBody("", `["username"]`), unread(BodyUnread)},
		"a form without its type":       {withBody("text/plain", "username=alice"), unread(BodyUnread)},
		"a bare +json":                  {withBody("application/+json", `{"username":"alice"}`), resolved{alice, "id", 0}},
		"two types":                     {twoTypes, resolved{alice, "id", 0}},
		"cut off at the cap":            {incomplete, unread(BodyUnread)},
		"form cut off":                  {cutForm, unread(BodyUnread)},
		"json that breaks off":          {jsonBody(`{"username":"alice"`), unread(BodyUnread)},
		"json with more behind":         {jsonBody(`{"username":"alice"} {"username":"bob"}`), unread(BodyUnread)},
		"json, trailing comma":          {jsonBody(`{"username":"alice",}`), unread(BodyUnread)},
		"json in UTF-16":                {jsonBody("\xff\xfe{\x00}\x00"), unread(BodyUnread)},
		"json, repeated":                {jsonBody(`{"username":"alice","username":"alice"}`), unread(Ambiguous)},
		"json, repeated by case":        {jsonBody(`{"username":"alice","userName":"bob"}`), unread(Ambiguous)},
		"form, repeated":                {formBody("username=alice&username=bob"), unread(Ambiguous)},
		"form, by escape":               {formBody("username=alice&user%6eame=bob"), unread(Ambiguous)},
		"form, by case":                 {formBody("username=alice&USERNAME=bob"), unread(Ambiguous)},
		"form behind an object's text":  {withBody("application/x-www-form-urlencoded", `{"a":"&username=bob&b="}`), unread(Ambiguous)},
		"object and form":               {withBody("application/x-www-form-urlencoded", `{"username":"alice","a":"&username=bob&"}`), unread(Ambiguous)},
		"object and form, of no type":   {withBody("text/plain", `{"username":"alice","a":"&username=bob&"}`), unread(Ambiguous)},
		"object, form twice":            {withBody("text/plain", `{"a":"&username=bob&username=bob&"}`), unread(Ambiguous)},
		"json that holds a form":        {jsonBody(`{"username":"alice","a":"&username=bob&"}`), resolved{alice, "id", 0}},
		"json in UTF-7":                 {withBody("application/json; charset=utf-7", `{"username":"x","a":"+ACIALA-"}`), unread(BodyUnread)},
		"text in UTF-7":                 {withBody("text/plain;charset=utf-7", `{"username":"x","a":"+ACIALA-"}`), unread(BodyUnread)},
		"form in EBCDIC":                {withBody("application/x-www-form-urlencoded; Charset=\"IBM037\"", "%a4%a2%85%99"), unread(BodyUnread)},
		"two charsets":                  {withBody("application/json; charset=utf-8; charset=utf-7", `{"username":"x"}`), unread(BodyUnread)},
		"a charset behind a quote":      {withBody(`application/json; a=";"; charset = "utf-7"`, `{"username":"x"}`), unread(BodyUnread)},
		"a charset on another line":     {twoCharsets, unread(BodyUnread)},
		"form in Latin-1, ASCII":        {withBody("application/x-www-form-urlencoded; charset=ISO-8859-1", "username=alice"), resolved{alice, "id", 0}},
		"form in Latin-1":               {withBody("application/x-www-form-urlencoded; charset=ISO-8859-1", "username=ren%E9"), unread(BodyUnread)},
		"form, empty value":             {formBody("username=&password=x"), nobody},
		"form, name alone":              {formBody("username"), nobody},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resolve(single(t, "body:username"), tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestG37_AnUnreadBodyCountsWhereNoAlternativeIsPresent(t *testing.T) {
	d := NewDefinitions([]Component{
		{Name: "username", Source: source(t, "body:username"), Fold: true, Secret: true},
		{Name: "email", Source: source(t, "body:email")},
		{Name: "api_key", Source: source(t, "header:x-api-key")},
	}, noHops, nil)
	const ip = "ip:192.0.2.1"
	cut := jsonBody(`{"username":"alice"`)
	twice := jsonBody(`{"username":"alice","username":"bob"}`)
	nowhere := cut
	nowhere.peer = "-"
	withKey := cut
	withKey.headers = append(header("x-api-key", "k").headers, cut.headers...)
	twoKeys := header("x-api-key", "k", "x-api-key", "l")
	for name, tt := range map[string]struct {
		expr string
		r    request
		want resolved
	}{
		"alone":                            {"username", cut, resolved{"username:#unread", "username", BodyUnread}},
		"alone, twice":                     {"username", twice, resolved{"username:#unread", "username", Ambiguous}},
		"alone, without an address":        {"username", nowhere, resolved{"username:#unread", "username", BodyUnread}},
		"the address is asked for next":    {"username|ip", cut, resolved{ip, "ip", BodyUnread}},
		"twice, the address next":          {"username|ip", twice, resolved{ip, "ip", Ambiguous}},
		"another is present":               {"username|api_key", withKey, resolved{"api_key:k", "api_key", BodyUnread}},
		"another is absent":                {"username|api_key", cut, resolved{"username:#unread", "username", BodyUnread}},
		"another field is present":         {"username|email", jsonBody(`{"username":1,"Username":2,"email":"a@b"}`), resolved{"email:a@b", "email", Ambiguous}},
		"the first that is unread":         {"api_key|email|username", cut, resolved{"email:#unread", "email", BodyUnread}},
		"with the address":                 {"ip+username", cut, resolved{ip + "|username:#unread", "ip+username", BodyUnread}},
		"before the address":               {"username+ip", cut, resolved{"username:#unread|" + ip, "username+ip", BodyUnread}},
		"both unread":                      {"username+email", cut, resolved{"username:#unread|email:#unread", "username+email", BodyUnread}},
		"one field of two":                 {"email+username", jsonBody(`{"username":1,"username":2,"email":"a"}`), resolved{"email:a|username:#unread", "email+username", Ambiguous}},
		"with what is absent":              {"username+api_key", cut, resolved{ip, "ip", NoIdentity | BodyUnread}},
		"with what is absent, then alone":  {"api_key+username|username", cut, resolved{"username:#unread", "username", BodyUnread}},
		"an address that is not there":     {"ip+username", nowhere, resolved{"ip:unknown", "unknown", NoIdentity}},
		"no body":                          {"ip+username", request{}, resolved{ip, "ip", NoIdentity}},
		"a header twice is no body":        {"api_key", twoKeys, resolved{ip, "ip", NoIdentity | Ambiguous}},
		"a header twice, the field absent": {"api_key|username", twoKeys, resolved{ip, "ip", NoIdentity | Ambiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resolve(expr(t, d, tt.expr), tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Several limits ask one request in turn, and what one of them noted stays.
func TestWhatAnotherLimitNotedMakesNoFieldUnread(t *testing.T) {
	d := NewDefinitions([]Component{
		{Name: "username", Source: source(t, "body:username")},
		{Name: "email", Source: source(t, "body:email")},
		{Name: "api_key", Source: source(t, "header:x-api-key")},
	}, noHops, nil)
	for name, tt := range map[string]struct {
		first string
		r     request
		key   string
	}{
		"a field twice":  {"username", jsonBody(`{"username":"alice","username":"bob"}`), "username:#unread"},
		"a header twice": {"api_key", request{headers: header("x-api-key", "k", "x-api-key", "l", "content-type", "application/json").headers, body: jsonBody(`{"a":1}`).body}, "ip:192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			q := tt.r.real()
			if key, _ := expr(t, d, tt.first).Append(nil, q); string(key) != tt.key || !q.Noted.Has(Ambiguous) {
				t.Fatalf("first: %q, noted %v; want %q, ambiguous", key, q.Noted, tt.key)
			}
			key, used := expr(t, d, "email").Append(nil, q)
			got := resolved{string(key), used, q.Noted}
			if diff := cmp.Diff(resolved{"ip:192.0.2.1", "ip", NoIdentity | Ambiguous}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONFieldByPath(t *testing.T) {
	const fallen, unread = "ip:192.0.2.1", "id:#unread"
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
		{"a", `{"a":4.0}`, unread},
		{"a", `{"a":1e3}`, unread},
		{"a", `{"a":true}`, unread},
		{"a", `{"a":["x"]}`, unread},
		{"a", `{"a":{"b":"x"}}`, unread},
		{"a", `{"a":[]}`, unread},
		{"a", `{"a":null}`, fallen},
		{"a.b", `{"a":{"b":["x"]}}`, unread},
		{"a.b", `{"a":{"c":["x"]}}`, fallen},
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
		{"a.b", `{"a":{"b":"x"},"a":{"c":"y"}}`, unread},
		{"a.b", `{"a":1,"a":{"b":"x"}}`, unread},
		{"a.b", `{"a":{"b":"x"},"A":null}`, unread},
		{"a.b", `{"a":{"b":"x","B":"x"}}`, unread},
		{"a.b", `{"a":{"b":"x","\u0062":"x"}}`, unread},
		{"a.b", `{"a":{"b":{"b":"y"},"b":"x"}}`, unread},
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

// However upstreams come to a field, a caller does not get around it by how its
// name is spelled: PHP drops blanks before it and what follows a NUL, and takes
// other signs for "_"; older servers separate fields by ";", too.
func TestG06_FieldsAreFoundHoweverTheirNameIsSpelled(t *testing.T) {
	const alice, unread = "id:alice", "id:#unread"
	for _, tt := range []struct{ field, form, want string }{
		{"user_name", "user_name=alice", alice},
		{"user_name", "+user_name=alice", alice},
		{"user_name", "%20%20User_Name=alice", alice},
		{"user_name", "user.name=alice", alice},
		{"user_name", "user+name=alice", alice},
		{"user_name", "user%5Bname=alice", alice},
		{"user_name", "user_name%00x=alice", alice},
		{"user_name", "user_name=alice&user.name=bob", unread},
		{"user_name", "a=1;user_name=alice", unread},
		{"user_name", "a;b=1;+user_name=alice;c", unread},
		{"user_name", "user_name=alice;user_name=bob", unread},
		{"user_name", "user_name=alice;b=1", "id:alice%3Bb=1"},
		{"user_name", "a=1;b=2;c&user_name=alice", alice},
		{"user.name", "user_name=alice", alice},
	} {
		if got := keyOf(single(t, "body:"+tt.field), formBody(tt.form)); got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.field, tt.form, got, tt.want)
		}
	}
}

func TestDeepJSONIsReadUpToTheBoundAndNoFurther(t *testing.T) {
	nested := func(n int) string {
		return `{"username":"alice","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for n, want := range map[int]resolved{
		maxDepth - 1: {"id:alice", "id", 0},
		maxDepth:     {"id:#unread", "id", BodyUnread},
		1 << 20:      {"id:#unread", "id", BodyUnread},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := resolve(single(t, "body:username"), jsonBody(nested(n))); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
