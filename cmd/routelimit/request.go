package main

import (
	"fmt"
	"io"
	"strings"

	"routelimit/bootstrap"
	"routelimit/described"
	"routelimit/policy"
	"routelimit/policy/explain"
	"routelimit/policy/identity"
)

// request is what the command line describes. Errors repeat no value of a header: it may be a secret.
func (f *explainFlags) request(stdin io.Reader, method, url string, p *policy.Policy, front *bootstrap.Front) (explain.Request, error) {
	r, err := described.New(method, url)
	if err != nil {
		return explain.Request{}, err
	}
	for i, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !r.AddHeader(name, value) {
			return explain.Request{}, fmt.Errorf("header %d has no name; write -H 'name: value'", i+1)
		}
	}
	if err := r.Arrive(f.from, front); err != nil {
		return explain.Request{}, fmt.Errorf("--from %w", err)
	}
	if f.envoyRoute != "" {
		r.SetEnvoyRoute(f.envoyRoute)
	}
	for i, setting := range f.set {
		source, value, ok := strings.Cut(setting, "=")
		if !ok {
			return explain.Request{}, fmt.Errorf("--set %d has no value; write --set metadata:namespace/key=value or --set property:path=value", i+1)
		}
		if err := r.Set(source, value); err != nil {
			return explain.Request{}, fmt.Errorf("--set %w", err)
		}
	}
	body, err := f.body(stdin, r, p.Body.MaxBytes)
	return explain.Request{Attributes: r, Body: body}, err
}

// body is the request's body, as far as the filter would have read it.
func (f *explainFlags) body(stdin io.Reader, r *described.Request, most int) (*identity.Body, error) {
	if !f.hasData {
		return nil, nil
	}
	data := []byte(f.data)
	if f.dataFile != "" {
		var err error
		if data, err = readFile(f.dataFile, stdin); err != nil {
			return nil, err
		}
	}
	return r.Body(data, most), nil
}
