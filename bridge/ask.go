package bridge

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/resp"
)

// asker sends commands to Redis and writes what it answers.
type asker struct {
	redis   redis.UniversalClient
	timeout time.Duration
	metrics *metrics
}

// once is a command that go-redis sends no second time, whatever happens to its connection: it may have been counted. Nor
// does it send the others of its pipeline again. Redirections are followed, since a node that redirects has done nothing.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// ask asks for all commands in one pipeline, and returns what came for each. What a server did not know by its SHA is
// asked once more with its text, since the server says that nothing was carried out.
func (a *asker) ask(commands []Command) []*redis.Cmd {
	began := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(a.timeout))
	defer cancel()
	answers := a.pipeline(ctx, commands)
	var unknown []int
	lost := false
	for i, c := range answers {
		text, answered := answeredError(c.Err())
		if answered && resp.ClassifyError([]byte(text)) == resp.NoScript {
			unknown = append(unknown, i)
		}
		lost = lost || c.Err() != nil && !answered
	}
	if cluster, ok := a.redis.(*redis.ClusterClient); ok && lost {
		cluster.ReloadState(ctx) // a node that is dead sends nobody to its successor
	}
	if len(unknown) > 0 {
		again := make([]Command, len(unknown))
		for i, at := range unknown {
			again[i] = commands[at]
			again[i].byText()
		}
		a.metrics.scriptsSent.Add(int64(len(unknown)))
		for i, c := range a.pipeline(ctx, again) {
			answers[unknown[i]] = c
		}
	}
	a.metrics.asked(time.Since(began))
	return answers
}

func (a *asker) pipeline(ctx context.Context, commands []Command) []*redis.Cmd {
	pipe := a.redis.Pipeline()
	cmds := make([]*redis.Cmd, len(commands))
	for i, c := range commands {
		cmds[i] = redis.NewCmd(ctx, c...)
		_ = pipe.Process(ctx, once{cmds[i]}) // it only queues
	}
	_, err := pipe.Exec(ctx)
	for _, c := range cmds {
		if c.Val() == nil && c.Err() == nil { // as where AUTH was refused, and nothing was sent
			c.SetErr(err)
		}
	}
	return cmds
}

// appendReply appends what Redis answered, in its own form. What is no answer becomes the error that redis_proxy gives.
func (a *asker) appendReply(dst []byte, c *redis.Cmd) []byte {
	// Of a connection that broke, go-redis gives its error to those commands too that were answered before.
	value, err := c.Result()
	if value == nil {
		return a.appendFailure(dst, err)
	}
	a.metrics.answered.Add(1)
	switch v := value.(type) {
	case string:
		return resp.AppendBulk(dst, v)
	case int64:
		dst = strconv.AppendInt(append(dst, ':'), v, 10)
		return append(dst, "\r\n"...)
	}
	return appendError(dst, "ERR Redis answered what none of the scripts returns")
}

func (a *asker) appendFailure(dst []byte, err error) []byte {
	text, answered := answeredError(err)
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		text = "ERR Redis answered nil, which none of the scripts returns"
	case answered:
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		text = "upstream failure: Redis did not answer within " + a.timeout.String()
	default:
		text = "upstream failure: " + err.Error()
	}
	a.metrics.failed(resp.ClassifyError([]byte(text)))
	return appendError(dst, text)
}

// answeredError is the text of an error that Redis has answered.
func answeredError(err error) (text string, ok bool) {
	var answered redis.Error
	if err == nil || !errors.As(err, &answered) {
		return "", false
	}
	return answered.Error(), true
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// longestError bounds the text of an error, in bytes.
const longestError = 512

// appendError appends an error reply: one line, whatever the text holds.
func appendError(dst []byte, text string) []byte {
	if len(text) > longestError {
		text = text[:longestError]
	}
	dst = append(dst, '-')
	dst = append(dst, strings.NewReplacer("\r", " ", "\n", " ").Replace(text)...)
	return append(dst, "\r\n"...)
}
