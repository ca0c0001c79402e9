package route

import "testing"

// spellings are the routes of one table, and what requests must land in: the
// pattern that wins, and what its parameters matched.
var spellingRoutes = []string{
	"POST /login",
	"GET /users/:id",
	"GET /users/me",
	"GET /users/*",
	"GET /users/:id/posts/:post",
	"* /users/:id/posts/latest",
	"HEAD /users/me",
	"GET /files/*",
	"* /any",
	"GET /any",
	"GET /",
	"GET /v1/items:batchGet",
	"GET /a%2Fb",
	"GET /caf\u00e9",
	"GET /100%",
	"GET /%3Aid",
	"PUT /{org}/{repo}",
	"POST api.example.com/login",
	"* api.example.com/*",
	"GET api.example.com/users/:id",
}

var spellings = []struct {
	about  string
	method string
	host   string
	path   string
	want   string // "" for none
	params string // name=value, joined by a blank
}{
	// A fixed path, as servers commonly read it.
	{"plain", "POST", "h", "/login", "POST /login", ""},
	{"trailing slash", "POST", "h", "/login/", "POST /login", ""},
	{"two trailing slashes", "POST", "h", "/login//", "POST /login", ""},
	{"double slash in front", "POST", "h", "//login", "POST /login", ""},
	{"many slashes", "POST", "h", "////login////", "POST /login", ""},
	{"query", "POST", "h", "/login?x=1", "POST /login", ""},
	{"empty query", "POST", "h", "/login?", "POST /login", ""},
	{"slash in the query", "POST", "h", "/login?next=/users/me", "POST /login", ""},
	{"dots in the query", "POST", "h", "/login?/../..", "POST /login", ""},
	{"fragment", "POST", "h", "/login#top", "POST /login", ""},
	{"fragment before a query", "POST", "h", "/login#a?b", "POST /login", ""},
	{"dot segment", "POST", "h", "/./login", "POST /login", ""},
	{"dot segment at the end", "POST", "h", "/login/.", "POST /login", ""},
	{"many dot segments", "POST", "h", "/././login/././", "POST /login", ""},
	{"up and down again", "POST", "h", "/x/../login", "POST /login", ""},
	{"up from below", "POST", "h", "/login/x/..", "POST /login", ""},
	{"up from below with a slash", "POST", "h", "/login/x/../", "POST /login", ""},
	{"up over the root", "POST", "h", "/../login", "POST /login", ""},
	{"up over the root twice", "POST", "h", "/../../login", "POST /login", ""},
	{"up after an empty segment", "POST", "h", "/x//../login", "POST /login", ""},
	{"escaped letter", "POST", "h", "/%6Cogin", "POST /login", ""},
	{"escaped letter, lower-case digits", "POST", "h", "/%6cogin", "POST /login", ""},
	{"all letters escaped", "POST", "h", "/%6c%6f%67%69%6e", "POST /login", ""},
	{"escaped dots", "POST", "h", "/x/%2e%2e/login", "POST /login", ""},
	{"half-escaped dots", "POST", "h", "/x/.%2E/login", "POST /login", ""},
	{"escaped single dot", "POST", "h", "/%2e/login", "POST /login", ""},
	{"backslash in front", "POST", "h", "\\login", "POST /login", ""},
	{"slash and backslash", "POST", "h", "/\\login", "POST /login", ""},
	{"backslash behind", "POST", "h", "/login\\", "POST /login", ""},
	{"up by backslashes", "POST", "h", "/x\\..\\login", "POST /login", ""},
	{"dot and backslash", "POST", "h", "/.\\login", "POST /login", ""},
	{"no slash at all", "POST", "h", "login", "POST /login", ""},
	{"no slash, dots", "POST", "h", "../login", "POST /login", ""},
	{"everything together", "POST", "h", "//x/.//%2e%2E/\\.//%6c%6F%67in//?a=%2F..", "POST /login", ""},

	// Parameters of a segment, as Tomcat and Jetty cut them.
	{"matrix parameter", "POST", "h", "/login;v=1", "POST /login", ""},
	{"two matrix parameters", "POST", "h", "/login;v=1;w", "POST /login", ""},
	{"empty matrix parameter", "POST", "h", "/login;", "POST /login", ""},
	{"session id", "POST", "h", "/login;jsessionid=0A1B?x=1", "POST /login", ""},
	{"parameter of an empty segment", "POST", "h", "/;v=1/login", "POST /login", ""},
	{"parameter of a trailing slash", "POST", "h", "/login/;v=1", "POST /login", ""},
	{"parameter with an escaped slash", "POST", "h", "/login;v=%2F..", "POST /login", ""},
	{"parameter with a query's sign, escaped", "POST", "h", "/login;v=%3F", "POST /login", ""},
	{"parameter of a dot", "POST", "h", "/.;v=1/login", "POST /login", ""},
	{"parameter of two dots", "POST", "h", "/x/..;v=1/login", "POST /login", ""},
	{"parameter of escaped dots", "POST", "h", "/x/%2e%2e;/login", "POST /login", ""},
	{"parameter of an escaped letter", "POST", "h", "/%6cogin;%6c", "POST /login", ""},
	{"parameter before a backslash", "POST", "h", "/x;v\\..\\login", "POST /login", ""},
	{"parameter without a slash", "POST", "h", "login;v=1", "POST /login", ""},

	// What is another path.
	{"other letter case", "POST", "h", "/LOGIN", "", ""},
	{"first letter upper", "POST", "h", "/Login", "", ""},
	{"escaped upper-case letter", "POST", "h", "/%4Cogin", "", ""},
	{"longer word", "POST", "h", "/loginx", "", ""},
	{"shorter word", "POST", "h", "/logi", "", ""},
	{"one more segment", "POST", "h", "/login/now", "", ""},
	{"one segment in front", "POST", "h", "/x/login", "", ""},
	{"escaped slash behind", "POST", "h", "/login%2F", "", ""},
	{"escaped backslash behind", "POST", "h", "/login%5C", "", ""},
	{"escaped question mark", "POST", "h", "/login%3Fx=1", "", ""},
	{"escaped hash", "POST", "h", "/login%23top", "", ""},
	{"twice escaped letter", "POST", "h", "/%256Cogin", "", ""},
	{"blank behind", "POST", "h", "/login%20", "", ""},
	{"NUL behind", "POST", "h", "/login%00", "", ""},
	{"three dots", "POST", "h", "/x/.../login", "", ""},
	{"dots and an escaped slash", "POST", "h", "/x/..%2Flogin", "", ""},
	{"twice escaped dots", "POST", "h", "/x/%252e%252e/login", "", ""},
	{"escaped semicolon behind", "POST", "h", "/login%3Bv=1", "", ""},
	{"escaped semicolon behind, lower case", "POST", "h", "/login%3bv=1", "", ""},
	{"twice escaped semicolon behind", "POST", "h", "/login%253Bv=1", "", ""},
	{"parameter of another word", "POST", "h", "/logi;n", "", ""},
	{"bad escape behind", "POST", "h", "/login%", "", ""},

	// Methods.
	{"other method", "GET", "h", "/login", "", ""},
	{"lower-case method", "post", "h", "/login", "POST /login", ""},
	{"mixed-case method", "Post", "h", "/login", "POST /login", ""},
	{"no method", "", "h", "/login", "", ""},
	{"method of any route", "PURGE", "h", "/any", "* /any", ""},
	{"own method before any", "GET", "h", "/any", "GET /any", ""},
	{"HEAD takes GET's before any", "HEAD", "h", "/any", "GET /any", ""},
	{"HEAD in lower case", "head", "h", "/any", "GET /any", ""},
	{"OPTIONS is an ordinary method", "OPTIONS", "h", "/any", "* /any", ""},
	{"OPTIONS without a route", "OPTIONS", "h", "/login", "", ""},
	{"empty method under any", "", "h", "/any", "* /any", ""},
	{"HEAD has its own", "HEAD", "h", "/users/me", "HEAD /users/me", ""},
	{"HEAD takes GET's parameter", "HEAD", "h", "/users/7", "GET /users/:id", "id=7"},
	{"CONNECT without a path", "CONNECT", "h", "", "", ""},
	{"asterisk form", "OPTIONS", "h", "*", "", ""},

	// Parameters.
	{"number", "GET", "h", "/users/7", "GET /users/:id", "id=7"},
	{"with a trailing slash", "GET", "h", "/users/7/", "GET /users/:id", "id=7"},
	{"with a query", "GET", "h", "/users/7?a=b", "GET /users/:id", "id=7"},
	{"escaped digit", "GET", "h", "/users/%37", "GET /users/:id", "id=7"},
	{"blank", "GET", "h", "/users/%20", "GET /users/:id", "id= "},
	{"plus is a plus", "GET", "h", "/users/a+b", "GET /users/:id", "id=a+b"},
	{"UTF-8", "GET", "h", "/users/%C3%A9", "GET /users/:id", "id=\u00e9"},
	{"raw UTF-8", "GET", "h", "/users/\u00e9", "GET /users/:id", "id=\u00e9"},
	{"not UTF-8", "GET", "h", "/users/%ff", "GET /users/:id", "id=\xff"},
	{"escaped slash stays data", "GET", "h", "/users/a%2Fb", "GET /users/:id", "id=a%2Fb"},
	{"the same in lower case", "GET", "h", "/users/a%2fb", "GET /users/:id", "id=a%2Fb"},
	{"escaped backslash stays data", "GET", "h", "/users/a%5cb", "GET /users/:id", "id=a%5Cb"},
	{"escaped question mark stays data", "GET", "h", "/users/a%3fb", "GET /users/:id", "id=a%3Fb"},
	{"escaped hash stays data", "GET", "h", "/users/a%23b", "GET /users/:id", "id=a%23b"},
	{"twice escaped dots are data", "GET", "h", "/users/%252e%252e", "GET /users/:id", "id=%252e%252e"},
	{"percent sign at the end", "GET", "h", "/users/5%", "GET /users/:id", "id=5%25"},
	{"escaped percent sign", "GET", "h", "/users/5%25", "GET /users/:id", "id=5%25"},
	{"one digit after the percent sign", "GET", "h", "/users/5%2", "GET /users/:id", "id=5%252"},
	{"no digits after the percent sign", "GET", "h", "/users/%zz", "GET /users/:id", "id=%25zz"},
	{"percent signs", "GET", "h", "/users/%%%", "GET /users/:id", "id=%25%25%25"},
	{"percent sign before an escape", "GET", "h", "/users/%%37", "GET /users/:id", "id=%257"},
	{"IIS escape is no escape", "GET", "h", "/users/%u0037", "GET /users/:id", "id=%25u0037"},
	{"three dots are data", "GET", "h", "/users/...", "GET /users/:id", "id=..."},
	{"colon", "GET", "h", "/users/:id", "GET /users/:id", "id=:id"},
	{"braces", "GET", "h", "/users/{id}", "GET /users/:id", "id={id}"},
	{"star", "GET", "h", "/users/*", "GET /users/:id", "id=*"},
	{"matrix parameter goes", "GET", "h", "/users/7;v=1", "GET /users/:id", "id=7"},
	{"matrix parameters in the middle", "GET", "h", "/users;a/7;v=1/posts;b/9;c", "GET /users/:id/posts/:post", "id=7 post=9"},
	{"escaped semicolon stays data", "GET", "h", "/users/7%3bv=1", "GET /users/:id", "id=7%3Bv=1"},
	{"matrix parameter of a static one", "GET", "h", "/users/me;v=1", "GET /users/me", ""},
	{"a parameter alone is no segment", "GET", "h", "/users/;v=1", "", ""},
	{"static before parameter", "GET", "h", "/users/me", "GET /users/me", ""},
	{"static, escaped", "GET", "h", "/users/%6de", "GET /users/me", ""},
	{"static, with slash", "GET", "h", "/users/me/", "GET /users/me", ""},
	{"static in other case is a parameter", "GET", "h", "/users/ME", "GET /users/:id", "id=ME"},
	{"no segment is no parameter", "GET", "h", "/users/", "", ""},
	{"empty segment is no parameter", "GET", "h", "/users//", "", ""},
	{"dot is no parameter", "GET", "h", "/users/.", "", ""},
	{"up is no parameter", "GET", "h", "/users/7/..", "", ""},
	{"two parameters", "GET", "h", "/users/7/posts/9", "GET /users/:id/posts/:post", "id=7 post=9"},
	{"two parameters, odd spelling", "GET", "h", "//users/./7/posts//9/?", "GET /users/:id/posts/:post", "id=7 post=9"},
	{"static after a parameter", "GET", "h", "/users/7/posts/latest", "* /users/:id/posts/latest", "id=7"},
	{"static after a parameter, any method", "DELETE", "h", "/users/7/posts/latest", "* /users/:id/posts/latest", "id=7"},
	{"static, then back to the parameter", "GET", "h", "/users/me/posts/9", "GET /users/:id/posts/:post", "id=me post=9"},
	{"two braces", "PUT", "h", "/golang/go", "PUT /{org}/{repo}", "org=golang repo=go"},
	{"two braces over static segments", "PUT", "h", "/users/me", "PUT /{org}/{repo}", "org=users repo=me"},
	{"braces need both", "PUT", "h", "/golang", "", ""},
	{"braces take no third", "PUT", "h", "/golang/go/src", "", ""},

	// Back-tracking into a wildcard.
	{"parameter too short, wildcard", "GET", "h", "/users/7/photos", "GET /users/*", "*=7/photos"},
	{"parameter too long, wildcard", "GET", "h", "/users/7/posts/9/x", "GET /users/*", "*=7/posts/9/x"},
	{"static dead end, wildcard", "GET", "h", "/users/me/x", "GET /users/*", "*=me/x"},
	{"method sends back to the wildcard", "HEAD", "h", "/users/7/photos", "GET /users/*", "*=7/photos"},
	{"no method anywhere", "DELETE", "h", "/users/7/photos", "", ""},
	{"no method at the static one", "DELETE", "h", "/users/me", "", ""},

	// Wildcards.
	{"one segment", "GET", "h", "/files/a", "GET /files/*", "*=a"},
	{"three segments", "GET", "h", "/files/a/b/c", "GET /files/*", "*=a/b/c"},
	{"odd spelling", "GET", "h", "/files//a/./b/", "GET /files/*", "*=a/b"},
	{"matrix parameters within", "GET", "h", "/files/a;v=1/b;w/c", "GET /files/*", "*=a/b/c"},
	{"escaped slash within", "GET", "h", "/files/a%2fb/c", "GET /files/*", "*=a%2Fb/c"},
	{"no segment", "GET", "h", "/files", "", ""},
	{"slash only", "GET", "h", "/files/", "", ""},
	{"up out of it", "GET", "h", "/files/../x", "", ""},
	{"escaped slash is no way in", "GET", "h", "/files%2Fa", "", ""},

	// The root.
	{"root", "GET", "h", "/", "GET /", ""},
	{"empty path", "GET", "h", "", "GET /", ""},
	{"slashes only", "GET", "h", "///", "GET /", ""},
	{"dots only", "GET", "h", "/./..", "GET /", ""},
	{"query only", "GET", "h", "?a=b", "GET /", ""},
	{"root by HEAD", "HEAD", "h", "/", "GET /", ""},
	{"unknown path", "GET", "h", "/nothing", "", ""},

	// Templates with odd text.
	{"custom verb", "GET", "h", "/v1/items:batchGet", "GET /v1/items:batchGet", ""},
	{"custom verb, escaped colon", "GET", "h", "/v1/items%3AbatchGet", "GET /v1/items:batchGet", ""},
	{"escaped slash in the template", "GET", "h", "/a%2fb", "GET /a%2Fb", ""},
	{"two segments are not an escaped slash", "GET", "h", "/a/b", "", ""},
	{"UTF-8 in the template", "GET", "h", "/caf%C3%A9", "GET /caf\u00e9", ""},
	{"percent sign in the template", "GET", "h", "/100%", "GET /100%", ""},
	{"percent sign, escaped", "GET", "h", "/100%25", "GET /100%", ""},
	{"escaped colon in the template", "GET", "h", "/:id", "GET /%3Aid", ""},
	{"it is no parameter", "GET", "h", "/7", "", ""},

	// Hosts.
	{"on the host", "POST", "api.example.com", "/login", "POST api.example.com/login", ""},
	{"in other letter case", "POST", "API.Example.COM", "/login", "POST api.example.com/login", ""},
	{"with a port", "POST", "api.example.com:8443", "/login", "POST api.example.com/login", ""},
	{"with a final dot", "POST", "api.example.com.", "/login", "POST api.example.com/login", ""},
	{"with both", "POST", "api.example.com.:443", "/login", "POST api.example.com/login", ""},
	{"below the host", "POST", "x.api.example.com", "/login", "POST /login", ""},
	{"above the host", "POST", "example.com", "/login", "POST /login", ""},
	{"no host", "POST", "", "/login", "POST /login", ""},
	{"an address", "POST", "203.0.113.7:80", "/login", "POST /login", ""},
	{"an address in brackets", "POST", "[2001:db8::1]:80", "/login", "POST /login", ""},
	{"host before path", "GET", "api.example.com", "/users/me", "GET api.example.com/users/:id", "id=me"},
	{"host's wildcard before a static path", "GET", "api.example.com", "/any", "* api.example.com/*", "*=any"},
	{"host has no root, the others have", "GET", "api.example.com", "/", "GET /", ""},
	{"any method on the host", "DELETE", "api.example.com", "/users/me", "* api.example.com/*", "*=users/me"},
}

// plain is how paths are read unless configured otherwise.
var plain Reading

func TestEverySpellingLandsInItsRoute(t *testing.T) {
	if len(spellings) < 150 {
		t.Errorf("%d spellings, want at least 150", len(spellings))
	}
	table := tableOf(t, spellingRoutes...)
	var params []Param
	for _, s := range spellings {
		t.Run(s.about, func(t *testing.T) {
			got := ""
			value, ok := table.Match(s.method, s.host, plain.Normalize(nil, s.path), &params)
			if ok {
				got = spellingRoutes[value]
			}
			if got != s.want || showParams(params) != s.params {
				t.Errorf("%s %s%s: got %q with %q, want %q with %q", s.method, s.host, s.path, got, showParams(params), s.want, s.params)
			}
		})
	}
}

func showParams(params []Param) string {
	text := ""
	for i, p := range params {
		if i > 0 {
			text += " "
		}
		text += p.Name + "=" + p.Value
	}
	return text
}

// tableOf adds patterns with their index as value.
func tableOf(t testing.TB, patterns ...string) *Table {
	t.Helper()
	table := new(Table)
	for i, text := range patterns {
		p, err := plain.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Add(p, i); err != nil {
			t.Fatal(err)
		}
	}
	return table
}
