package policytest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"routelimit/bootstrap"
	"routelimit/described"
	hosttest "routelimit/host-test"
	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// Options are what a file's tests are played with.
type Options struct {
	Module *hosttest.Module
	Store  Store
	// KeyPrefix takes the place of the policy's own; "" leaves that.
	KeyPrefix string
	// Front is what Envoy does before the filter, nil where the policy stands by itself.
	Front *bootstrap.Front

	policy *policy.Policy
	raw    []byte
	env    map[string]string
}

// Result is what came of a file.
type Result struct {
	Tests    []TestResult `json:"tests"`
	Requests int          `json:"requests"`
	Failed   int          `json:"failed"` // tests
}

// TestResult is what came of a test.
type TestResult struct {
	Name     string    `json:"name"`
	Line     int       `json:"line"`
	Requests int       `json:"requests"`
	Failures []Failure `json:"failures"`
	// Elapsed is real time, not the test's.
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Failure is a request that did not get what it must. Of the requests of one step the first is told of.
type Failure struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Step     int    `json:"step"` // from 1
	At       string `json:"at"`   // since the test's start
	Request  string `json:"request"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	// Why is what the policy makes of the request, and what is left after it; nil where the step itself failed.
	Why *explain.Report `json:"why,omitempty"`
}

// Run plays the tests of a file. raw is its policy. The error is a policy.Errors where the policy is wrong, Problems where
// a limit is expected that it does not have, and else says why the tests could not be played.
func Run(ctx context.Context, f *File, raw []byte, o Options) (*Result, error) {
	o.env = f.Env
	var unset string
	p, err := policy.Parse(raw, func(name string) (string, bool) {
		value, ok := f.Env[name]
		if !ok {
			unset = name
		}
		return value, ok
	})
	if unset != "" {
		return nil, fmt.Errorf("hash_key_env names %s, which is not set for the tests; write env: {%s: a key of 16 bytes or more}", unset, unset)
	}
	if err != nil {
		return nil, err
	}
	if o.raw = raw; o.KeyPrefix != "" || p.Redis.PasswordEnv != "" || p.Redis.Database != 0 {
		if o.raw, err = forTests(raw, o.KeyPrefix); err != nil {
			return nil, err
		}
		if p, err = policy.Parse(o.raw, func(name string) (string, bool) { value, ok := f.Env[name]; return value, ok }); err != nil {
			return nil, err
		}
	}
	o.policy = p
	if err := checkLimits(f, p, &o); err != nil {
		return nil, err
	}
	result := &Result{Tests: []TestResult{}}
	for i := range f.Tests {
		played, err := o.play(ctx, &f.Tests[i])
		if err != nil {
			return nil, fmt.Errorf("test %q: %w", f.Tests[i].Name, err)
		}
		result.Tests = append(result.Tests, played)
		result.Requests += played.Requests
		if len(played.Failures) > 0 {
			result.Failed++
		}
	}
	return result, nil
}

// forTests puts a key prefix into a policy that was read already, if there is one, and takes out how Redis is entered: the
// tests have one of their own.
func forTests(raw []byte, prefix string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	redis := map[string]json.RawMessage{}
	if text := fields["redis"]; text != nil {
		if err := json.Unmarshal(text, &redis); err != nil {
			return nil, err
		}
	}
	for _, field := range [...]string{"username_env", "password_env", "database"} {
		delete(redis, field)
	}
	var err error
	if prefix != "" {
		if redis["key_prefix"], err = json.Marshal(prefix); err != nil {
			return nil, err
		}
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if fields["redis"], err = json.Marshal(redis); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// play plays one test, from nothing.
func (o *Options) play(ctx context.Context, t *Test) (TestResult, error) {
	began := time.Now()
	result := TestResult{Name: t.Name, Line: t.Line, Failures: []Failure{}}
	e, err := newEnvoy(ctx, o)
	if err != nil {
		return result, err
	}
	defer e.vm.Close()
	p := player{options: o, envoy: e, result: &result}
	for i := range t.Steps {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if err := p.step(ctx, i+1, &t.Steps[i]); err != nil {
			return result, err
		}
	}
	if err := e.broken(); err != nil {
		return result, err
	}
	result.Elapsed = time.Since(began)
	return result, o.Store.Forget()
}

// player plays the steps of one test.
type player struct {
	options *Options
	envoy   *envoy
	result  *TestResult
}

func (p *player) step(ctx context.Context, number int, s *Step) error {
	e := p.envoy
	switch now := e.elapsed(); {
	case s.HasAt && s.At < now-slack:
		p.result.Failures = append(p.result.Failures, Failure{
			Line: s.Line, Column: s.Column, Step: number, At: inTime(now), Request: "at " + inTime(s.At),
			Expected: "steps in the order of their times", Seen: "it is " + inTime(now) + " already; write a later time, or wait:",
		})
		return nil
	case s.HasAt:
		e.advance(max(0, s.At-now))
	default:
		e.advance(s.Wait)
	}
	if s.Redis != "" {
		if err := e.become(s.Redis); err != nil {
			return err
		}
	}
	if s.Send == nil {
		return nil
	}
	failed := false
	for n := 1; n <= s.Send.Times; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n > 1 {
			e.advance(s.Send.Every)
		}
		failure, err := p.send(s.Send, n)
		if err != nil {
			return err
		}
		if failure != nil && !failed {
			failed = true
			failure.Line, failure.Column, failure.Step = s.Line, s.Column, number
			p.result.Failures = append(p.result.Failures, *failure)
		}
	}
	return nil
}

// slack is how much later than its time a step may be because requests before it waited for Redis.
const slack = time.Second

// patience is how much longer than the policy's own deadline a request may wait for a decision.
const patience = time.Second

// send sends the request once, and compares. The failure is nil if it got what it must.
func (p *player) send(s *Send, n int) (*Failure, error) {
	e, o := p.envoy, p.options
	request, body, err := s.build(o.Front, o.policy.Body.MaxBytes)
	if err != nil {
		return nil, err
	}
	at := e.elapsed()
	stream := begin(e.plugin, request, s.Body)
	decided := e.decided(stream, o.policy.Redis.Timeout+o.policy.Body.Timeout+patience)
	if decided && stream.LocalReply() == nil && stream.Upstream().Started {
		stream.Respond(hosttest.Response{Headers: hosttest.Headers{{":status", fmt.Sprint(s.Upstream)}}})
		e.deliver() // what is given back for the status
	}
	p.result.Requests++
	if e.err != nil {
		return nil, e.err
	}
	seen := look(stream, decided)
	var report *explain.Report
	if len(s.Expect.Remaining) > 0 && n == s.Times {
		if report, err = p.explain(request, body); err != nil {
			return nil, err
		}
		seen.left(report, s.Expect.Remaining)
	}
	if s.Expect.met(seen, n == s.Times) {
		return nil, nil
	}
	if report == nil {
		if report, err = p.explain(request, body); err != nil {
			return nil, err
		}
	}
	return &Failure{
		At: inTime(at), Request: s.describe(n), Expected: s.Expect.String(), Seen: seen.String(&s.Expect), Why: report,
	}, nil
}

// explain says what the policy makes of a request, and what is left now.
func (p *player) explain(request *described.Request, body *identity.Body) (*explain.Report, error) {
	report := explain.Explain(p.options.policy, explain.Request{Attributes: request, Body: body})
	if p.envoy.down {
		return report, nil
	}
	return report, report.Look(p.envoy.ask)
}

// inTime is a time since the test's start as files write it.
func inTime(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return strictjson.FormatDuration(d)
}

// describe is the request in words: POST /login as alice, 7 of 10.
func (s *Send) describe(n int) string {
	text := s.Method + " " + s.URL
	if s.Caller != "" {
		text += " as " + s.Caller
	} else {
		text += " from " + s.From
	}
	if s.Times > 1 {
		text += fmt.Sprintf(", %d of %d", n, s.Times)
	}
	return text
}
