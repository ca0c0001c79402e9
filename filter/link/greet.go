package link

import "routelimit/resp"

// greet sends what begins a stream. It is a message like others, so that whatever
// is asked waits for its replies: where the greeting fails, nothing may be counted,
// least of all in another database.
func (l *Link) greet() {
	b := l.takeSpare()
	b.bytes, b.open = l.Greeting(b.bytes)
	for i := range b.open {
		l.flight.push(slot{batch: b, index: i, greeting: true})
	}
	l.heardAt = l.now
	l.messages++
	l.host.Send(l.token, b.bytes)
}

// welcome takes the reply to one command of the greeting, and says whether the
// stream may be used.
func (l *Link) welcome(s slot, reply resp.Value) bool {
	l.answered(s)
	l.rejected = false
	if reply.Kind == resp.SimpleString && string(reply.Text) == "OK" {
		return true
	}
	if l.Rejected != nil {
		l.Rejected(s.index, reply)
	}
	l.rejected = lasting(reply)
	why := l.unconnected()
	l.Abandon(why)
	l.failQueue(why) // what waits would wait in vain
	return false
}

// lasting says whether it is the greeting's fault that it was refused, and not
// that of a server in trouble.
func lasting(reply resp.Value) bool {
	if reply.Kind != resp.Error {
		return true
	}
	switch resp.ClassifyError(reply.Text) {
	case resp.Auth, resp.Unsupported, resp.Other:
		return true
	}
	return false
}

// greets says that the greeting is not answered yet.
func (l *Link) greets() bool { return l.flight.len() > 0 && l.flight.peek().greeting }

// unconnected is why there is no stream.
func (l *Link) unconnected() Failure {
	if l.rejected {
		return Rejected
	}
	return Disconnected
}
