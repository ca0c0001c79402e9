// Package resp writes Redis commands and reads replies in RESP2, the Redis serialization protocol
// (https://redis.io/docs/latest/develop/reference/protocol-spec/).
//
// Commands are appended to a buffer of the caller's. Replies come from a stream whose chunks end anywhere, so a Decoder
// takes chunks and gives back whole replies:
//
//	d.Write(chunk)
//	for {
//		v, err := d.Next()
//		if err == resp.ErrShort {
//			break // wait for the next chunk
//		}
//		if err != nil {
//			// a *ProtocolError: nothing after it can be trusted; drop the stream and Reset
//		}
//		// use v before the next call of Write, Next or Reset
//	}
package resp

// Kind is the type of a value, by the byte that stands for it on the wire.
type Kind byte

// The kinds of RESP2.
const (
	SimpleString Kind = '+' // +OK\r\n
	Error        Kind = '-' // -ERR unknown command\r\n
	Integer      Kind = ':' // :1000\r\n
	BulkString   Kind = '$' // $3\r\nabc\r\n    $-1\r\n is null
	Array        Kind = '*' // *1\r\n:5\r\n     *-1\r\n is null
)

// String says the kind as it reads in a sentence, "an integer".
func (k Kind) String() string {
	switch k {
	case SimpleString:
		return "a simple string"
	case Error:
		return "an error"
	case Integer:
		return "an integer"
	case BulkString:
		return "a bulk string"
	case Array:
		return "an array"
	}
	return "of no kind"
}

// Value is one reply, or one element of one. Text and Elems alias the Decoder's memory: they are valid until its next
// Write, Next or Reset.
type Value struct {
	Kind  Kind
	Null  bool    // a null bulk string or array
	Int   int64   // of an integer
	Text  []byte  // of a simple string, an error (without its "-") or a bulk string
	Elems []Value // of an array
}
