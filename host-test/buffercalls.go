package hosttest

// buffer returns the bytes of a buffer; present is false where Envoy has none
// of that kind, and writable says whether set_buffer_bytes can change it.
func (in *instance) buffer(kind uint64) (b *[]byte, present, writable bool) {
	c := in.context()
	switch kind {
	case bufferRequestBody, bufferResponseBody:
		if c.stream == nil {
			return nil, true, false
		}
		h := &c.stream.request
		if kind == bufferResponseBody {
			h = &c.stream.response
		}
		b = h.body()
		return b, true, b != nil
	case bufferGRPCReceive:
		if c.root == nil {
			return nil, true, false
		}
		return &c.root.received, true, false
	case bufferVMConfiguration:
		return &in.vm.host.options.VMConfiguration, true, false
	case bufferPluginConfiguration:
		if c.root != nil && c.root.configuring {
			return &c.root.plugin.configuration, true, false
		}
	}
	return nil, false, false
}

func (in *instance) getBufferBytes(args []uint64) uint32 {
	if args[0] > bufferLast {
		return resultBadArgument
	}
	b, present, _ := in.buffer(args[0])
	if !present {
		return resultNotFound
	}
	start, length := args[1], args[2]
	if b == nil || start >= uint64(len(*b)) {
		return in.give(nil, args[3], args[4])
	}
	end := min(start+length, uint64(len(*b)))
	return in.give((*b)[start:end], args[3], args[4])
}

func (in *instance) getBufferStatus(args []uint64) uint32 {
	b, present, _ := in.buffer(args[0])
	if !present {
		return resultNotFound
	}
	size := 0
	if b != nil {
		size = len(*b)
	}
	if !in.writeUint32(args[1], uint32(size)) || !in.writeUint32(args[2], 0) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

// setBufferBytes puts bytes in front (with start 0: in place of the first
// length bytes) or at the end. Nothing else can be done to a body.
func (in *instance) setBufferBytes(args []uint64) uint32 {
	b, present, writable := in.buffer(args[0])
	if !present {
		return resultNotFound
	}
	data, ok := in.read(args[3], args[4])
	if !ok {
		return resultInvalidMemoryAccess
	}
	start, length := args[1], args[2]
	switch {
	case !writable:
		return resultBadArgument
	case start == 0:
		*b = append(data, (*b)[min(length, uint64(len(*b))):]...)
	case start >= uint64(len(*b)):
		*b = append(*b, data...)
	default:
		return resultBadArgument
	}
	return resultOK
}
