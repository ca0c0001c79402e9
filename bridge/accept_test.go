package bridge

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/limit"
	"routelimit/resp"
)

var (
	decideScript, refundScript = limit.Scripts()[0], limit.Scripts()[1]
	now                        = strings.Repeat("\x00", 7)
)

func TestOnlyOurScriptsOnOurKeysAreAccepted(t *testing.T) {
	const key = "rl:{GET:/|ip:192.0.2.1}"
	refund := limit.AppendRefund(nil, []byte(key), 1_700_000_000_000, 0, oneLimit)
	for name, tt := range map[string]struct {
		command []byte
		want    Refusal
	}{
		"a decision":                         {limit.AppendDecide(nil, []byte(key), 0, oneLimit), Accepted},
		"a decision with the text":           {limit.AppendEval(nil, limit.AppendDecide(nil, []byte(key), 0, oneLimit)), Accepted},
		"a refund":                           {refund, Accepted},
		"a refund with the text":             {limit.AppendEval(nil, refund), Accepted},
		"a second prefix":                    {limit.AppendDecide(nil, []byte("edge-1:{GET:/|all}"), 0, oneLimit), Accepted},
		"letter case of the name":            {array("evalsha", decideScript.SHA, "1", key, now), Accepted},
		"AUTH":                               {array("AUTH", "user", "password"), RefuseCommand},
		"SELECT":                             {array("SELECT", "3"), RefuseCommand},
		"FLUSHALL":                           {array("FLUSHALL"), RefuseCommand},
		"GET":                                {array("GET", key), RefuseCommand},
		"no key":                             {array("EVALSHA", decideScript.SHA, "0", key, now), RefuseCommand},
		"two keys":                           {array("EVALSHA", decideScript.SHA, "2", key, now), RefuseCommand},
		"no numbers":                         {array("EVALSHA", decideScript.SHA, "1", key), RefuseCommand},
		"EVALSHA_RO":                         {array("EVALSHA_RO", decideScript.SHA, "1", key, now), RefuseCommand},
		"another script":                     {array("EVALSHA", strings.Repeat("a", 40), "1", key, now), RefuseScript},
		"another text":                       {array("EVAL", "return redis.call('FLUSHALL')", "1", key, now), RefuseScript},
		"our text and more":                  {array("EVAL", decideScript.Text+" ", "1", key, now), RefuseScript},
		"EVAL of a SHA":                      {array("EVAL", decideScript.SHA, "1", key, now), RefuseScript},
		"EVALSHA of a text":                  {array("EVALSHA", decideScript.Text, "1", key, now), RefuseScript},
		"a SHA in capitals":                  {array("EVALSHA", strings.ToUpper(decideScript.SHA), "1", key, now), RefuseScript},
		"another prefix":                     {array("EVALSHA", decideScript.SHA, "1", "session:{a}", now), RefuseKey},
		"a prefix that begins alike":         {array("EVALSHA", decideScript.SHA, "1", "rlx:{a}", now), RefuseKey},
		"no brace":                           {array("EVALSHA", decideScript.SHA, "1", "rl:a", now), RefuseKey},
		"an empty tag, so the whole is one":  {array("EVALSHA", decideScript.SHA, "1", "rl:{}", now), RefuseKey},
		"something behind the brace":         {array("EVALSHA", decideScript.SHA, "1", key+"x", now), RefuseKey},
		"two braces":                         {array("EVALSHA", decideScript.SHA, "1", "rl:{a}}", now), RefuseKey},
		"an empty key":                       {array("EVALSHA", decideScript.SHA, "1", "", now), RefuseKey},
		"a time of its own":                  {limit.AppendDecide(nil, []byte(key), 1_700_000_000_000, oneLimit), RefuseClock},
		"numbers that are too short for any": {array("EVALSHA", decideScript.SHA, "1", key, "\x00"), RefuseClock},
	} {
		c, got, err := judge(t, NewAcceptor([]string{"rl", "edge-1"}), tt.command)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tt.want)
		}
		if (got == Accepted) != (c != nil) {
			t.Errorf("%s: command %v", name, c)
		}
	}
}

func judge(t testing.TB, a *Acceptor, command []byte) (Command, Refusal, error) {
	var d resp.Decoder
	d.Write(command)
	v, err := d.Next()
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return a.Judge(v)
}

func TestWhatIsNoCommandEndsTheStream(t *testing.T) {
	for _, odd := range []string{"+OK\r\n", "-ERR\r\n", ":1\r\n", "$4\r\nPING\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n*1\r\n$4\r\nPING\r\n"} {
		if _, _, err := judge(t, NewAcceptor([]string{"rl"}), []byte(odd)); err == nil {
			t.Errorf("%q is taken", odd)
		}
	}
}

func TestACommandGoesOnAsItCame(t *testing.T) {
	charges := []limit.Charge{{Limit: &limit.Limit{Limit: 10, Window: time.Minute}, Cost: 1}, {Limit: &limit.Limit{Limit: 5, Window: time.Hour, Shadow: true}, Cost: 2}}
	for _, sent := range [][]byte{
		limit.AppendDecide(nil, []byte("rl:{a}"), 0, charges), limit.AppendRefund(nil, []byte("rl:{a}"), 1_700_000_000_000, 0, charges),
	} {
		a := NewAcceptor([]string{"rl"})
		full := limit.AppendEval(nil, sent)
		for _, came := range [][]byte{sent, full} {
			c, _, _ := judge(t, a, came)
			if diff := cmp.Diff(string(sent), string(written(c))); diff != "" {
				t.Error(diff)
			}
			c.byText()
			if diff := cmp.Diff(string(full), string(written(c))); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func written(c Command) []byte {
	b := resp.AppendArray(nil, len(c))
	for _, e := range c {
		switch e := e.(type) {
		case string:
			b = resp.AppendBulk(b, e)
		case []byte:
			b = resp.AppendBulk(b, e)
		}
	}
	return b
}

// FuzzJudge lets anything stand on a stream, however it is cut. What is accepted is one of our scripts on one of our keys.
func FuzzJudge(f *testing.F) {
	f.Add(decide("a"), 3)
	f.Add(limit.AppendEval(nil, decide("a")), 100)
	f.Add(append(decide("a"), array("FLUSHALL")...), 1)
	f.Add(array("EVALSHA", decideScript.SHA, "1", "rl:{a}x{b}", now), 50)
	f.Add([]byte("*1000000\r\n$1000000\r\n"), 5)
	f.Add([]byte("*2\r\n*2\r\n$1\r\na\r\n"), 5)
	a := NewAcceptor([]string{"rl"})
	scripts := []string{decideScript.SHA, refundScript.SHA}
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		var d resp.Decoder
		cut = min(max(cut, 0), len(stream))
		for _, part := range [][]byte{stream[:cut], stream[cut:]} {
			d.Write(part)
			for {
				v, err := d.Next()
				if err != nil {
					break
				}
				c, refusal, err := a.Judge(v)
				if (c != nil) != (refusal == Accepted && err == nil) {
					t.Fatalf("%q: %v, %v, %v", stream, c, refusal, err)
				}
				if c == nil {
					continue
				}
				key := c[3].([]byte)
				if c[0] != "EVALSHA" || !slices.Contains(scripts, c[1].(string)) || c[2] != "1" ||
					!bytes.HasPrefix(key, []byte("rl:{")) || bytes.Count(key, []byte("}")) != 1 || key[len(key)-1] != '}' {
					t.Fatalf("%q: accepted %q", stream, c)
				}
			}
		}
	})
}
