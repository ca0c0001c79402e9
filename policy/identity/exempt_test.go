package identity

import "testing"

func exemptDefinitions(key string) *Definitions {
	var hashKey []byte
	if key != "" {
		hashKey = []byte(key)
	}
	parsed := func(text string) Source {
		s, err := ParseSource(text)
		if err != nil {
			panic(err)
		}
		return s
	}
	return NewDefinitions([]Component{
		{Name: "api_key", Source: parsed("header:x-api-key"), Secret: true},
		{Name: "token", Source: parsed("header:authorization"), Secret: true},
		{Name: "name", Source: parsed("header:x-name"), Fold: true},
		{Name: "user_id", Source: parsed("metadata:ns/id")},
		{Name: "tenant", Source: parsed("path:tenant")},
		{Name: "login", Source: parsed("body:login")},
	}, noHops, hashKey)
}

func TestExemptCallersAreThoseWithTheHash(t *testing.T) {
	d := exemptDefinitions("")
	var e Exempt
	if !e.Empty() || e.Holds(header("x-api-key", "k1").real()) {
		t.Error("nobody is exempt yet")
	}
	for _, known := range [][2]string{{"api_key", "k1"}, {"api_key", "k2"}, {"name", " Zoë "}, {"user_id", "42"}} {
		caller, err := d.Hash(known[0], known[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Exempt(&e, caller); err != nil {
			t.Fatal(err)
		}
	}
	number := request{properties: [][2]string{{"metadata\x00filter_metadata\x00ns\x00id", "\x00\x00\x00\x00\x00\x00\x45\x40"}}} // 42
	for name, c := range map[string]struct {
		r    request
		want bool
	}{
		"one key":            {header("x-api-key", "k1"), true},
		"another key":        {header("x-api-key", " k2 "), true},
		"no key of theirs":   {header("x-api-key", "k3"), false},
		"no header":          {header(), false},
		"an empty header":    {header("x-api-key", ""), false},
		"a key twice":        {header("x-api-key", "k1", "x-api-key", "k1"), false},
		"the hash itself":    {header("x-api-key", "api_key:0a1b"), false},
		"another name's":     {header("x-name", "k1"), false},
		"a folded name":      {header("x-name", "ZOE\u0308"), true},
		"a number":           {number, true},
		"the second is good": {header("x-api-key", "k3", "x-name", "zoë"), true},
	} {
		r := c.r.real()
		if got := e.Holds(r); got != c.want || r.Noted != 0 {
			t.Errorf("%s: exempt %v, noted %b", name, got, r.Noted)
		}
	}
}

// What the program prints is what stands in keys, where the identity is secret.
func TestHashIsThatOfTheKey(t *testing.T) {
	for _, key := range []string{"", "0123456789abcdef"} {
		d := exemptDefinitions(key)
		expr, err := d.ParseExpr("api_key")
		if err != nil {
			t.Fatal(err)
		}
		want, _ := expr.Append(nil, header("x-api-key", "live_AAAAAAAA1").real())
		expr, err = d.ParseExpr("token")
		if err != nil {
			t.Fatal(err)
		}
		token, _ := expr.Append(nil, header("authorization", "bearer AbC").real())
		if got, err := d.Hash("token", " Bearer  AbC"); got != string(token) || err != nil {
			t.Errorf("key %q: %s, %v, want %s", key, got, err, token)
		}
		if got, err := d.Hash("api_key", "live_AAAAAAAA1"); got != string(want) || err != nil {
			t.Errorf("key %q: %s, %v, want %s", key, got, err, want)
		}
	}
}

func TestExemptSaysWhatCannotBe(t *testing.T) {
	d := exemptDefinitions("")
	for caller, want := range map[string]string{
		"ip:0123456789abcdef":     `an address is not hashed; write it as it is, such as "192.0.2.7"`,
		"all:0123456789abcdef":    `"all" is everybody; remove the limits instead`,
		"api_kez:0123456789abcde": `no identity is called "api_kez"; did you mean "api_key"?`,
		"login:0123456789abcdef":  `identity "login" is in the body, where anybody can write it; exempt one that its caller has to know or to prove`,
		"api_key:0123456789abcde": `"api_key:0123456789abcde" does not end in a hash, which is 16 lower-case hexadecimal digits; write what this prints: routelimit hash api_key`,
		"api_key:0123456789ABCDEF": `"api_key:0123456789ABCDEF" does not end in a hash, which is 16 lower-case hexadecimal digits; ` +
			`write what this prints: routelimit hash api_key`,
		"api_key": `"api_key" does not end in a hash, which is 16 lower-case hexadecimal digits; write what this prints: routelimit hash api_key`,
	} {
		var e Exempt
		if err := d.Exempt(&e, caller); err == nil || err.Error() != want || !e.Empty() {
			t.Errorf("%s: %v\nwant %s", caller, err, want)
		}
	}
	if caller, err := d.Hash("name", " \t "); caller != "" || err == nil {
		t.Errorf("blank: %q, %v", caller, err)
	}
	if caller, err := d.Hash("nobody", "x"); caller != "" || err == nil {
		t.Errorf("undeclared: %q, %v", caller, err)
	}
}
