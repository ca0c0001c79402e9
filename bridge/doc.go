// Package bridge serves the module's stream to Redis where no listener can be added to an Envoy: a small process that
// takes the gRPC stream which else ends in the same Envoy, and asks Redis by go-redis.
//
//	stream -> Acceptor     whole commands; ours alone, on keys under the prefix
//	       -> asker        one pipeline for each message; to one server, a Cluster, or a Sentinel's primary
//	       -> stream       one reply for each command, in their order
//
// It knows nothing of limits: it forwards what the module asks and what Redis answers, errors too. A command is sent to
// Redis once; what became of it when no answer came, nobody knows, so it is never sent again. Only an answer that says
// that nothing was carried out (NOSCRIPT, MOVED, ASK) is followed.
//
// Everything is bounded: streams, the bytes of a message, commands that are being answered, how long Redis may take, and
// how long a client may take to read.
package bridge
