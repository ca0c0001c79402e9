package route

import "testing"

func pattern(t *testing.T, text string) Pattern {
	t.Helper()
	p, err := plain.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReasonSaysWhyOnePatternWins(t *testing.T) {
	for _, c := range []struct{ winner, loser, method, want string }{
		{"GET a.com/users/:id", "GET /users/me", "GET", "it names the host a.com"},
		{"GET /users/me", "GET /users/:id", "GET", `its segment 2 is "me", the other's ":id", any one`},
		{"GET /users/:id", "GET /users/*", "GET", `its segment 2 is ":id", any one, the other's "*", the rest`},
		{"GET /users/me", "GET /*", "GET", `its segment 1 is "users", the other's "*", the rest`},
		{"GET /a/:x/c", "GET /a/:x/*", "GET", `its segment 3 is "c", the other's "*", the rest`},
		{"GET /a", "* /a", "GET", "it names the method"},
		{"HEAD /a", "GET /a", "HEAD", "it names the method"},
		{"GET /a", "* /a", "HEAD", "HEAD goes by GET before *"},
		{"get /a/:x", "* /:y/:x", "GET", `its segment 1 is "a", the other's ":y", any one`},
	} {
		winner, loser := pattern(t, c.winner), pattern(t, c.loser)
		if got := winner.Reason(loser, c.method); got != c.want {
			t.Errorf("%s over %s: %q, want %q", c.winner, c.loser, got, c.want)
		}
		if got := loser.Reason(winner, c.method); got != "" {
			t.Errorf("%s over %s: %q", c.loser, c.winner, got)
		}
	}
	same := pattern(t, "GET /a/:x")
	if got := same.Reason(pattern(t, "GET /a/:y"), "GET"); got != "" {
		t.Errorf("two of one shape: %q", got)
	}
}

func TestParamsAreNamedInOrder(t *testing.T) {
	for text, want := range map[string]int{"GET /a": 0, "GET /:a/b/{c}/*": 3} {
		if got := pattern(t, text).Params(); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := pattern(t, "GET /:a/b/{c}/*").Params(); got[0] != "a" || got[1] != "c" || got[2] != "*" {
		t.Errorf("got %v", got)
	}
}
