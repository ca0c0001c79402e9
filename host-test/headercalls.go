package hosttest

import "strings"

// Header maps as hostcalls reach them. A map is there from its own callback on,
// until the plugin lets it go; in on_log all are, to read.

// writableMap returns the map that can be changed, nil if there is none.
func (in *instance) writableMap(kind uint64) *Headers {
	s := in.context().stream
	if s == nil {
		return nil
	}
	switch kind {
	case mapRequestHeaders:
		return s.request.visibleHeaders
	case mapRequestTrailers:
		return s.request.visibleTrailers
	case mapResponseHeaders:
		return s.response.visibleHeaders
	case mapResponseTrailers:
		return s.response.visibleTrailers
	}
	return nil
}

// readableMap returns the map that can be read, nil if there is none.
func (in *instance) readableMap(kind uint64) *Headers {
	c := in.context()
	switch {
	case kind == mapGRPCInitialMetadata && c.root != nil && c.root.initialMetadata != nil:
		return &c.root.initialMetadata
	case kind == mapGRPCTrailingMetadata && c.root != nil && c.root.trailingMetadata != nil:
		return &c.root.trailingMetadata
	case c.stream != nil && c.stream.logging:
		return c.stream.loggedMap(kind)
	}
	return in.writableMap(kind)
}

func (s *Stream) loggedMap(kind uint64) *Headers {
	switch kind {
	case mapRequestHeaders:
		return &s.request.headers
	case mapResponseHeaders:
		return &s.client.Headers
	case mapResponseTrailers:
		return &s.client.Trailers
	}
	return nil
}

func (in *instance) getHeaderMapValue(args []uint64) uint32 {
	key, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	m := in.readableMap(args[0])
	if m == nil {
		return resultBadArgument
	}
	value, found := m.first(strings.ToLower(string(key)))
	if !found {
		return resultNotFound
	}
	return in.give([]byte(value), args[3], args[4])
}

func (in *instance) getHeaderMapPairs(args []uint64) uint32 {
	if args[0] > mapLast {
		return resultBadArgument
	}
	m := in.readableMap(args[0])
	if m == nil || len(*m) == 0 {
		return in.give(nil, args[1], args[2])
	}
	b, ok := encodePairs(*m)
	if !ok {
		return resultInvalidMemoryAccess
	}
	return in.give(b, args[1], args[2])
}

func (in *instance) getHeaderMapSize(args []uint64) uint32 {
	m := in.writableMap(args[0])
	if m == nil {
		return resultBadArgument
	}
	size := 0
	for _, line := range *m {
		size += len(line[0]) + len(line[1])
	}
	if !in.writeUint32(args[1], uint32(size)) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

func (in *instance) addHeaderMapValue(args []uint64) uint32 {
	return in.changeMap(args, (*Headers).add)
}

func (in *instance) replaceHeaderMapValue(args []uint64) uint32 {
	return in.changeMap(args, (*Headers).set)
}

func (in *instance) changeMap(args []uint64, change func(m *Headers, name, value string)) uint32 {
	key, keyOK := in.read(args[1], args[2])
	value, valueOK := in.read(args[3], args[4])
	if !keyOK || !valueOK {
		return resultInvalidMemoryAccess
	}
	m := in.writableMap(args[0])
	if m == nil {
		return resultBadArgument
	}
	change(m, string(key), string(value))
	return resultOK
}

func (in *instance) removeHeaderMapValue(args []uint64) uint32 {
	key, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	m := in.writableMap(args[0])
	if m == nil {
		return resultBadArgument
	}
	m.remove(string(key))
	return resultOK
}

func (in *instance) setHeaderMapPairs(args []uint64) uint32 {
	b, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	m := in.writableMap(args[0])
	if m == nil {
		return resultBadArgument
	}
	*m = received(decodePairs(b))
	return resultOK
}
