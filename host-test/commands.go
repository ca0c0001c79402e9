package hosttest

import (
	"errors"
	"fmt"
	"slices"

	"routelimit/resp"
)

// commands cuts what a plugin sends into commands, wherever its messages end.
type commands struct{ decoder resp.Decoder }

// read takes the next bytes and returns the commands that are whole now.
func (c *commands) read(b []byte) ([][][]byte, error) {
	c.decoder.Write(b)
	var list [][][]byte
	for {
		v, err := c.decoder.Next()
		if errors.Is(err, resp.ErrShort) {
			return list, nil
		}
		if err != nil {
			return list, fmt.Errorf("the plugin sent what is no Redis command: %w", err)
		}
		command, ok := words(v)
		if !ok {
			return list, errors.New("the plugin sent a Redis value that is no array of bulk strings; only that is a command")
		}
		list = append(list, command)
	}
}

func words(v resp.Value) ([][]byte, bool) {
	if v.Kind != resp.Array || len(v.Elems) == 0 {
		return nil, false
	}
	var command [][]byte
	for _, e := range v.Elems {
		if e.Kind != resp.BulkString || e.Null {
			return nil, false
		}
		command = append(command, slices.Clone(e.Text))
	}
	return command, true
}

func appendCommand(dst []byte, command [][]byte) []byte {
	dst = resp.AppendArray(dst, len(command))
	for _, word := range command {
		dst = resp.AppendBulk(dst, word)
	}
	return dst
}
