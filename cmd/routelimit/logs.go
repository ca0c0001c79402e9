package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"routelimit/accesslog"
	"routelimit/bootstrap"
	"routelimit/policy"
	"routelimit/replay"
	"routelimit/simulate"
)

// logFlags are the logs that are played, and how they are read.
type logFlags struct {
	logs         []string
	format       string
	fields       []string
	forwardedFor string
	missing      string
	top          int
	output       string
}

const aboutLogs = `Logs are read in Envoy's default format, Istio's, the combined and the Common Log Format, and JSON, also compressed by gzip;
"-" is standard input. The format is found out from the first lines. Several logs are merged by time. What the log holds under
other names, or what an identity of the policy is read from, is named with --field NAME=PLACE: a place is .a.path in JSON,
the number of a word in a line of text, or =a text that holds for every request; a name is one of
` + "time, request, method, path, host, status, client, forwarded_for, details" + `, or the source as the policy writes it:

  --field method=.req.method --field header:x-api-key=.api_key --field body:username=.user --field host==api.example.com`

func (f *logFlags) add(cmd *cobra.Command, outputs string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.logs, "log", nil, "an access log, also .gz; - is standard input; may be repeated, or given as arguments")
	flags.StringVar(&f.format, "format", "", "the logs' format: "+strings.Join(accesslog.FormatNames(), ", ")+" (default: found out from the first lines)")
	flags.StringArrayVar(&f.fields, "field", nil, "where the log keeps something, NAME=PLACE; may be repeated")
	flags.StringVar(&f.forwardedFor, "forwarded-for", "auto", "whether X-Forwarded-For in the log is complete, with the proxy's own entry as in Envoy's logs, or\n"+
		"as received: then the client's address is appended where Envoy would")
	flags.StringVar(&f.missing, "missing", "skip", "what becomes of limits whose identity the log has no place for: skip, or fallback to the address")
	flags.IntVar(&f.top, "top", 10, "how many refused identities are listed")
	flags.StringVar(&f.output, "output", "text", outputs)
}

// begin checks the flags, beside policies that may come from standard input too.
func (f *logFlags) begin(policies []string, outputs ...string) (simulate.Options, error) {
	options, err := f.options(outputs...)
	if err == nil {
		err = stdinOnce(append(policies, f.logs...)...)
	}
	if err != nil {
		return options, usage(err)
	}
	return options, nil
}

// play opens the logs and has them played, with a bar that shows how far that is. what names it.
func (f *logFlags) play(cmd *cobra.Command, o *simulate.Options, what string, run func([]accesslog.Input) error) error {
	inputs, size, end, err := f.open(cmd.InOrStdin())
	if err != nil {
		return usage(err)
	}
	defer end()
	progress := startProgress(cmd.ErrOrStderr(), size)
	defer progress.end()
	o.Read.Progress = progress.add
	if err := run(inputs); err != nil {
		return &failure{exitFindings, fmt.Errorf("the %s was broken off: %w", what, err)}
	}
	return nil
}

// options are what the flags say, checked.
func (f *logFlags) options(outputs ...string) (simulate.Options, error) {
	o := simulate.Options{Top: f.top}
	if err := oneOf("--output", f.output, outputs...); err != nil {
		return o, err
	}
	if err := oneOf("--missing", f.missing, "skip", "fallback"); err != nil {
		return o, err
	}
	if err := oneOf("--forwarded-for", f.forwardedFor, "auto", "complete", "received"); err != nil {
		return o, err
	}
	if f.format != "" {
		if err := oneOf("--format", f.format, accesslog.FormatNames()...); err != nil {
			return o, err
		}
	}
	switch {
	case len(f.logs) == 0:
		return o, errors.New("no log is given; name one with --log FILE, or - for standard input")
	case f.top < 0:
		return o, fmt.Errorf("--top %d is negative; write 0 or more", f.top)
	}
	for _, text := range f.fields {
		field, err := accesslog.ParseField(text)
		if err == nil && strings.Contains(field.Name, ":") {
			err = replay.CheckSource(field.Name)
		}
		if err != nil {
			return o, fmt.Errorf("--field: %w", err)
		}
		o.Read.Fields = append(o.Read.Fields, field)
	}
	o.Read.Format = f.format
	if f.forwardedFor != "auto" {
		received := f.forwardedFor == "received"
		o.Read.Received = &received
	}
	o.Replay.Fallback = f.missing == "fallback"
	return o, nil
}

func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return fmt.Errorf("%s %q is unknown; write %s", flag, value, strings.Join(known, ", "))
}

// settings are what a policy's Envoy says of the replay.
func (f *logFlags) settings(s replay.Settings, name string, p *policy.Policy, front *bootstrap.Front) (replay.Settings, error) {
	if front == nil {
		return s, nil
	}
	s.Front, s.Carried = front, map[string]*policy.Route{}
	for _, c := range front.Carried {
		route, err := p.ParseMetadata(c.Fields)
		if err != nil {
			return s, &failure{exitFindings, fmt.Errorf("route %q in %s: %w", c.Name, name, err)}
		}
		if route != nil {
			s.Carried[c.Name] = route
		}
	}
	return s, nil
}

// open opens all logs and says how long they are in all, 0 if that is not known.
func (f *logFlags) open(stdin io.Reader) (inputs []accesslog.Input, size int64, end func(), err error) {
	var files []*os.File
	end = func() {
		for _, file := range files {
			file.Close()
		}
	}
	known := true
	for _, name := range f.logs {
		if name == "-" {
			inputs, known = append(inputs, accesslog.Input{Name: "standard input", Reader: stdin}), false
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			end()
			return nil, 0, nil, fmt.Errorf("%w; give the name of an access log", err)
		}
		files = append(files, file)
		info, err := file.Stat()
		if err == nil && info.IsDir() {
			end()
			return nil, 0, nil, fmt.Errorf("%s is a folder; name the logs in it", name)
		}
		if known = known && err == nil && info.Mode().IsRegular(); known {
			size += info.Size()
		}
		inputs = append(inputs, accesslog.Input{Name: name, Reader: file})
	}
	if !known {
		size = 0
	}
	return inputs, size, end, nil
}

// stdinOnce says why standard input cannot be several things, or nil.
func stdinOnce(names ...string) error {
	n := 0
	for _, name := range names {
		if name == "-" {
			n++
		}
	}
	if n > 1 {
		return errors.New("standard input can only be one of them; give the others as files")
	}
	return nil
}
