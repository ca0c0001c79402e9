package main

import (
	"bytes"
	"compress/gzip"

	"google.golang.org/protobuf/encoding/protowire"
)

// encode writes edges as a profile: https://github.com/google/pprof/blob/main/proto/profile.proto
//
// Each edge is a sample of two frames. The compiler takes the distance of the calling line from the caller's first.
func encode(edges []edge) []byte {
	p := &profile{strings: map[string]uint64{"": 0}, list: []string{""}, functions: map[string]uint64{}}
	kind := varint(varint(nil, 1, p.text("cpu")), 2, p.text("nanoseconds"))
	p.field(1, varint(varint(nil, 1, p.text("samples")), 2, p.text("count")))
	p.field(1, kind)
	for _, e := range edges {
		p.function(e.caller, e.begins) // first, since a callee does not know where it begins
	}
	for _, e := range edges {
		callee := p.location(e.callee, 0, 0)
		caller := p.location(e.caller, e.begins, e.line)
		sample := packed(nil, 1, callee, caller)
		sample = packed(sample, 2, uint64(e.calls), uint64(e.calls))
		p.field(2, sample)
	}
	for _, s := range p.list {
		p.field(6, []byte(s))
	}
	p.field(11, kind)
	p.out = varint(p.out, 12, 1)
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	w.Write(p.out) // into memory: nothing can fail
	w.Close()
	return compressed.Bytes()
}

type profile struct {
	out       []byte
	strings   map[string]uint64
	list      []string
	functions map[string]uint64
	locations uint64
}

func (p *profile) field(number protowire.Number, b []byte) {
	p.out = protowire.AppendBytes(protowire.AppendTag(p.out, number, protowire.BytesType), b)
}

// text is the index of a string.
func (p *profile) text(s string) uint64 {
	i, ok := p.strings[s]
	if !ok {
		i = uint64(len(p.list))
		p.strings[s], p.list = i, append(p.list, s)
	}
	return i
}

func (p *profile) function(name string, begins int) uint64 {
	id, ok := p.functions[name]
	if !ok {
		id = uint64(len(p.functions) + 1)
		p.functions[name] = id
		f := varint(nil, 1, id)
		f = varint(f, 2, p.text(name))
		f = varint(f, 3, p.text(name))
		p.field(5, varint(f, 5, uint64(begins)))
	}
	return id
}

func (p *profile) location(name string, begins, line int) uint64 {
	p.locations++
	where := varint(varint(nil, 1, p.function(name, begins)), 2, uint64(line))
	l := protowire.AppendBytes(protowire.AppendTag(varint(nil, 1, p.locations), 4, protowire.BytesType), where)
	p.field(4, l)
	return p.locations
}

func varint(dst []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), v)
}

func packed(dst []byte, number protowire.Number, values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = protowire.AppendVarint(b, v)
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), b)
}
