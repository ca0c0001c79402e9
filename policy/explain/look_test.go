package explain

import (
	"errors"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/resp"
)

// decided is a reply of the script: each limit passes, with so much left and so long to its reset.
func decided(verdicts ...limit.Verdict) resp.Value {
	d := limit.Decision{Allowed: true, AtMS: 1729771200000, Verdicts: verdicts}
	var decoder resp.Decoder
	decoder.Write(d.AppendReply(nil))
	v, _ := decoder.Next()
	return v
}

func passes(remaining int64, reset time.Duration) limit.Verdict {
	return limit.Verdict{Pass: true, Remaining: remaining, Reset: reset}
}

const sharing = `{"default": {"limits": [
	{"name": "dear", "identity": "ip", "limit": 10, "window": "1m", "cost": 5},
	{"name": "cheap", "identity": "ip", "limit": 20, "window": "1m", "algorithm": "fixed_window"},
	{"name": "other", "identity": "ip", "limit": 10, "window": "1h"}]}}`

// Limits that share a count are charged the largest of their costs.
func TestLookTakesTheCostThatWouldBeCharged(t *testing.T) {
	report := Explain(mustParse(t, sharing), request("GET", "/"))
	err := report.Look(func([]byte) (resp.Value, error) {
		return decided(passes(5, 100*time.Millisecond), passes(4, time.Second), passes(1, 0)), nil
	})
	want := []Left{{5, 100, true}, {4, 1000, false}, {1, 0, true}}
	if err != nil || len(report.Keys) != 1 || len(report.Keys[0].Left) != 3 {
		t.Fatalf("%+v, %v", report.Keys, err)
	}
	for i, left := range report.Keys[0].Left {
		if left != want[i] {
			t.Errorf("%s: got %+v, want %+v", report.Keys[0].Limits[i], left, want[i])
		}
	}
	if report.Outcome != Refused || report.Why != `limit "cheap" has 4 left` {
		t.Errorf("%s: %s", report.Outcome, report.Why)
	}
}

func TestLookSendsTheScriptToARedisThatDoesNotKnowIt(t *testing.T) {
	report := Explain(mustParse(t, sharing), request("GET", "/"))
	var sent []string
	err := report.Look(func(command []byte) (resp.Value, error) {
		sent = append(sent, string(command))
		if len(sent) == 1 {
			return resp.Value{Kind: resp.Error, Text: []byte("NOSCRIPT No matching script. Please use EVAL.")}, nil
		}
		return decided(passes(10, 0), passes(20, 0), passes(10, 0)), nil
	})
	if err != nil || len(sent) != 2 || !strings.Contains(sent[0], "EVALSHA") || !strings.Contains(sent[1], limit.Scripts()[0].Text) {
		t.Errorf("%d commands, %v", len(sent), err)
	}
	if report.Outcome != Passes {
		t.Errorf("%s: %s", report.Outcome, report.Why)
	}
}

func TestLookThatFailsNamesTheKey(t *testing.T) {
	for name, ask := range map[string]Ask{
		"no answer":   func([]byte) (resp.Value, error) { return resp.Value{}, errors.New("no answer; start it") },
		"an odd one":  func([]byte) (resp.Value, error) { return decided(passes(10, 0)), nil },
		"an error":    func([]byte) (resp.Value, error) { return resp.Value{Kind: resp.Error, Text: []byte("OOM")}, nil },
		"not a list":  func([]byte) (resp.Value, error) { return resp.Value{Kind: resp.BulkString}, nil },
		"NOSCRIPT x2": func([]byte) (resp.Value, error) { return resp.Value{Kind: resp.Error, Text: []byte("NOSCRIPT")}, nil },
	} {
		report := Explain(mustParse(t, sharing), request("GET", "/"))
		if err := report.Look(ask); err == nil || !strings.HasPrefix(err.Error(), "key rl:{default|ip:192.0.2.1}: ") || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: %v", name, err)
		}
		if report.Outcome != Asks {
			t.Errorf("%s: the outcome is %s, though nobody knows", name, report.Outcome)
		}
	}
}

func TestLookAsksNothingWhereRedisDoesNotDecide(t *testing.T) {
	report := Explain(mustParse(t, `{"default": {"identity": "ip", "limit": 0, "window": "1m"}}`), request("GET", "/"))
	err := report.Look(func([]byte) (resp.Value, error) { t.Error("asked"); return resp.Value{}, nil })
	if err != nil || report.Outcome != Refused {
		t.Errorf("%s, %v", report.Outcome, err)
	}
}
