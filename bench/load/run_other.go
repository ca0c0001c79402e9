//go:build !linux

package load

import (
	"context"
	"errors"
)

// Run is there on Linux alone.
func Run(context.Context, Plan) (*Result, error) {
	return nil, errors.New("the load generator needs epoll; run on Linux")
}
