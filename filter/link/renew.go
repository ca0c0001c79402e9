package link

import "time"

// renewal is a stream that is to be given up though nothing is wrong with it: its
// other end may hold on to a server that is the wrong one by now.
type renewal struct {
	due  bool
	next time.Duration // not before
}

// renewEvery is how often a stream is renewed at most.
const renewEvery = time.Second

// Renew gives the stream up as soon as all replies to what was sent are in, at
// most once a second; the next question opens another. It may be called from
// Answer.
func (l *Link) Renew() {
	if l.now < l.renewal.next {
		return
	}
	l.renewal.due = l.open
	l.renewal.next = l.now + renewEvery/2 + draw(renewEvery/2) // a fleet does not come at one moment
}
