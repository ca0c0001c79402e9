package accesslog

// merge plays the entries of all streams, the earliest first; of one time, those
// of the log that was named first.
func merge(streams []*stream, play func(*Entry) error) error {
	heads := make([]head, 0, len(streams))
	for _, s := range streams {
		if h := (head{from: s}); h.fill() {
			heads = append(heads, h)
		}
	}
	for len(heads) > 0 {
		first := 0
		for i := range heads {
			if heads[i].batch[0].TimeMS < heads[first].batch[0].TimeMS {
				first = i
			}
		}
		h := &heads[first]
		if err := play(h.batch[0]); err != nil {
			return err
		}
		h.batch = h.batch[1:]
		if !h.fill() {
			heads = append(heads[:first], heads[first+1:]...)
		}
	}
	return nil
}

// head is the entries of a stream that are next.
type head struct {
	from  *stream
	batch []*Entry
}

// fill makes sure that there is one; it is false at the stream's end, and when nobody wants more.
func (h *head) fill() bool {
	if len(h.batch) > 0 {
		return true
	}
	select {
	case h.batch = <-h.from.batches:
	case <-h.from.done:
		return false
	}
	return len(h.batch) > 0
}
