package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"routelimit/bench/load"
	"routelimit/limit"
	"routelimit/servers"
)

// loadScripts lets a server know the module's scripts.
func loadScripts(ctx context.Context, r *servers.Redis) error {
	for _, s := range limit.Scripts() {
		if err := r.Client().ScriptLoad(ctx, s.Text).Err(); err != nil {
			return fmt.Errorf("redis does not take a script: %w; see its log %s", err, r.LogFile())
		}
	}
	return nil
}

// fill lets Redis decide about each of so many callers once.
func fill(ctx context.Context, r *servers.Redis, callers int) error {
	if err := loadScripts(ctx, r); err != nil {
		return err
	}
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return fmt.Errorf("cannot fill redis: %w; see its log %s", err, r.LogFile())
	}
	defer conn.Close()
	next := 0
	speak := newTalk(func() string { next++; return load.CallerName(next - 1) })
	for next < callers {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := exchange(conn, speak, min(256, callers-next)); err != nil {
			return fmt.Errorf("cannot fill redis: %w; see its log %s", err, r.LogFile())
		}
	}
	return nil
}

// exchange sends so many requests at once and reads their answers.
func exchange(conn net.Conn, speak load.Protocol, requests int) error {
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var out []byte
	for range requests {
		out = speak.Append(out)
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	var in []byte
	chunk := make([]byte, 64<<10)
	for requests > 0 {
		n, err := conn.Read(chunk)
		if err != nil {
			return err
		}
		in = append(in, chunk[:n]...)
		for requests > 0 {
			used, _, err := speak.Read(in)
			if err != nil {
				return err
			}
			if used == 0 {
				break
			}
			in = in[used:]
			requests--
		}
	}
	return nil
}
