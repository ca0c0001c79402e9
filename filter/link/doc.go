// Package link asks Redis over one lasting stream, on behalf of many requests
// at once. One Link belongs to one plugin context of one worker.
//
//	Begin, Add … Add, Commit          one request asks, with one command a key
//	    -> queue -> one message -> flight -> replies, in the order of the commands
//	    -> Waiter.Answer / Fail        once for each command
//	    -> Resume                      once for each request, when all are in
//
// Batches clock themselves: while the replies to a message are awaited, commands
// queue; the last of the replies sends all of them as the next message. There is
// no timer and no added wait, and the number of messages falls as load rises.
//
// Replies come in the order of the commands, and that order is the only thing
// that relates the two. So a slot is kept for every command sent, also for those
// whose request has gone or has been answered meanwhile; any reply out of step
// drops the stream and fails everybody who waits on it.
//
// Only a request, or a tick while commands wait, opens a stream: Redis may be gone,
// and a stream opened on the news that the last one closed would close at once.
//
// The package knows neither the proxy nor what the commands mean. A waiter may
// call Tell and Leave from Late and Resume, and nothing of the link from Answer
// and Fail.
package link
