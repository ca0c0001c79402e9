package link

// fifo is a queue that keeps its memory.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

// push moves the items to the start of the memory where half of it is free:
// moving them for less would cost more than growing.
func (q *fifo[T]) push(v T) {
	if len(q.items) == cap(q.items) && q.head > 0 && q.head >= len(q.items)/2 {
		q.keep(func(*T) bool { return true })
	}
	q.items = append(q.items, v)
}

// peek returns the oldest item, which must exist.
func (q *fifo[T]) peek() *T { return &q.items[q.head] }

func (q *fifo[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// keep leaves those items that are wanted, in their order.
func (q *fifo[T]) keep(wanted func(*T) bool) {
	kept := q.items[:0]
	for i := q.head; i < len(q.items); i++ {
		if wanted(&q.items[i]) {
			kept = append(kept, q.items[i])
		}
	}
	clear(q.items[len(kept):])
	q.items, q.head = kept, 0
}
