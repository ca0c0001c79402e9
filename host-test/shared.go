package hosttest

// Shared data and shared queues: what the VMs of one process and one vm_id
// have in common.

type sharedValue struct {
	value []byte
	cas   uint32
}

func (in *instance) getSharedData(args []uint64) uint32 {
	key, ok := in.read(args[0], args[1])
	if !ok {
		return resultInvalidMemoryAccess
	}
	v, ok := in.vm.host.shared[string(key)]
	if !ok {
		return resultNotFound
	}
	if r := in.give(v.value, args[2], args[3]); r != resultOK {
		return r
	}
	if !in.writeUint32(args[4], v.cas) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

// setSharedData writes without a condition where cas is 0, and inserts an
// absent key whatever cas is.
func (in *instance) setSharedData(args []uint64) uint32 {
	key, keyOK := in.read(args[0], args[1])
	value, valueOK := in.read(args[2], args[3])
	if !keyOK || !valueOK {
		return resultInvalidMemoryAccess
	}
	shared := in.vm.host.shared
	old, exists := shared[string(key)]
	if cas := uint32(args[4]); exists && cas != 0 && cas != old.cas {
		return resultCasMismatch
	}
	shared[string(key)] = sharedValue{value: value, cas: old.cas + 1}
	return resultOK
}

// sharedQueue is a queue; the root that registered it last is told of new items.
type sharedQueue struct {
	name  string
	root  *root
	items [][]byte
}

// queue returns the token of the queue of that name, 0 if there is none.
func (h *Host) queue(name string) uint32 {
	for i, q := range h.queues {
		if q.name == name {
			return uint32(i + 1)
		}
	}
	return 0
}

func (h *Host) queueByToken(token uint64) *sharedQueue {
	if token == 0 || token > uint64(len(h.queues)) {
		return nil
	}
	return h.queues[token-1]
}

func (in *instance) registerSharedQueue(args []uint64) uint32 {
	name, ok := in.read(args[0], args[1])
	if !ok {
		return resultInvalidMemoryAccess
	}
	h := in.vm.host
	token := h.queue(string(name))
	if token == 0 {
		h.queues = append(h.queues, &sharedQueue{name: string(name)})
		token = uint32(len(h.queues))
	}
	h.queues[token-1].root = in.context().root
	if !in.writeUint32(args[2], token) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

func (in *instance) resolveSharedQueue(args []uint64) uint32 {
	_, vmIDOK := in.read(args[0], args[1])
	name, nameOK := in.read(args[2], args[3])
	if !vmIDOK || !nameOK {
		return resultInvalidMemoryAccess
	}
	token := in.vm.host.queue(string(name))
	if token == 0 {
		return resultNotFound
	}
	if !in.writeUint32(args[4], token) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

func (in *instance) dequeueSharedQueue(args []uint64) uint32 {
	q := in.vm.host.queueByToken(args[0])
	switch {
	case q == nil:
		return resultNotFound
	case len(q.items) == 0:
		return resultEmpty
	}
	item := q.items[0]
	q.items = q.items[1:]
	return in.give(item, args[1], args[2])
}

// enqueueSharedQueue adds an item. on_queue_ready is a task of the event loop
// in Envoy; here it is called once the callback that enqueued has returned.
func (in *instance) enqueueSharedQueue(args []uint64) uint32 {
	token := args[0]
	q := in.vm.host.queueByToken(token)
	item, ok := in.read(args[1], args[2])
	switch {
	case !ok:
		return resultInvalidMemoryAccess
	case q == nil:
		return resultNotFound
	}
	q.items = append(q.items, item)
	if r := q.root; r != nil {
		in.after = append(in.after, func() { r.in.callback(r.context.id, "proxy_on_queue_ready", token) })
	}
	return resultOK
}
