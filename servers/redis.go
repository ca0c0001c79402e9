package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisOptions says how to run one Redis or Valkey server.
type RedisOptions struct {
	Binary string   // redis-server or valkey-server; see Toolbox.Redis
	Port   int      // 0: a free one
	Socket bool     // listen on a unix socket in Dir and on no port
	Args   []string // added to the command line, for example "--maxmemory", "10mb"
	// Password is what everybody has to give who uses no other user, Client too; "": none.
	Password string
	// TLS, if set, makes it speak TLS as well; see Toolbox.TLSRedis.
	TLS *RedisTLS
	Dir string // where its files go; "": a temporary one, removed by Stop
}

// Redis is a running server without persistence.
type Redis struct {
	*process
	options RedisOptions
	dir     directory
	addr    string
	client  *redis.Client
}

// redisStartTime bounds the wait for the first PONG if the caller's context does not.
const redisStartTime = 15 * time.Second

// StartRedis runs a server and returns when it answers PING. A port that is taken is a *PortInUseError, unless the port
// was left to StartRedis: then it tries others.
func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) {
	if o.Port != 0 || o.Socket {
		return startRedisAt(ctx, o)
	}
	for attempt := 1; ; attempt++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		chosen := o
		chosen.Port = port
		r, err := startRedisAt(ctx, chosen)
		var taken *PortInUseError
		if err == nil || !errors.As(err, &taken) || attempt == 5 {
			return r, err
		}
	}
}

func startRedisAt(ctx context.Context, o RedisOptions) (*Redis, error) {
	dir, err := openDirectory(o.Dir, "redis")
	if err != nil {
		return nil, err
	}
	r := &Redis{options: o, dir: dir, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))}
	if o.Socket {
		r.addr = dir.file("redis.sock")
	}
	if o.TLS != nil && o.TLS.Port == 0 {
		chosen := *o.TLS
		if chosen.Port, err = FreePort(); err != nil {
			dir.remove()
			return nil, err
		}
		r.options.TLS = &chosen
	}
	client := ClientOptions(r.Network(), r.addr)
	client.Password = o.Password
	r.client = redis.NewClient(client)
	if err := r.run(ctx); err != nil {
		r.client.Close()
		return nil, err
	}
	return r, nil
}

// ClientOptions are those of a RESP2 connection without retries, so that what a test sends is sent once.
func ClientOptions(network, addr string) *redis.Options {
	return &redis.Options{
		Network: network, Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// run starts the process and waits for PONG; on failure nothing is left running.
func (r *Redis) run(ctx context.Context) error {
	if r.Network() == "tcp" {
		// Redis would find out as well, but a second server's PONG could be taken for ours meanwhile.
		if err := CheckPort("127.0.0.1", r.options.Port); err != nil {
			r.dir.remove()
			return err
		}
	}
	p, err := spawn(command{
		name: "redis", binary: r.options.Binary, log: r.dir.file("redis.log"), args: r.arguments(),
	})
	if err != nil {
		r.dir.remove()
		return err
	}
	ctx, cancel := within(ctx, redisStartTime)
	defer cancel()
	err = p.waitUntil(ctx, r.answers)
	if err == nil {
		r.process = p
		return nil
	}
	p.end(0)
	if log := p.Log(); strings.Contains(log, "Address already in use") {
		r.dir.remove()
		return &PortInUseError{Host: "127.0.0.1", Port: r.options.Port}
	}
	return fmt.Errorf("redis (%s) did not start: %w: %s; see its log %s", r.options.Binary, err, lastWords(p.Log()), p.log)
}

// lastWords is why a server ended: what it says about a setting, which follows ">>> ", or the last line of its log.
func lastWords(log string) string {
	if _, setting, found := strings.Cut(log, ">>> "); found {
		return strings.Join(strings.Fields(setting), " ")
	}
	return lastLine(log)
}

// answers is nil once the server says PONG. It knocks first: the client logs connections that are refused.
func (r *Redis) answers(ctx context.Context) error {
	conn, err := net.DialTimeout(r.Network(), r.addr, time.Second)
	if err != nil {
		return err
	}
	conn.Close()
	return r.client.Ping(ctx).Err()
}

func (r *Redis) arguments() []string {
	args := []string{
		"--port", strconv.Itoa(r.options.Port), "--bind", "127.0.0.1", "--dir", r.dir.path,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}
	if r.options.Socket {
		args = append(args, "--unixsocket", r.addr)
	}
	if r.options.Password != "" {
		args = append(args, "--requirepass", r.options.Password, "--masterauth", r.options.Password)
	}
	args = append(args, r.options.tlsArguments()...)
	return append(args, r.options.Args...)
}

// busBase is the port by which the nodes of a Cluster know each other.
func (r *Redis) busBase() int {
	if r.options.TLS != nil {
		return r.options.TLS.Port
	}
	return r.options.Port
}

// TLSAddr is the host:port where it speaks TLS, if it does.
func (r *Redis) TLSAddr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.options.TLS.Port))
}

// Network is "tcp" or "unix".
func (r *Redis) Network() string {
	if r.options.Socket {
		return "unix"
	}
	return "tcp"
}

// Addr is host:port, or the path of the unix socket.
func (r *Redis) Addr() string { return r.addr }

// URL is the address as REDIS_URL takes it.
func (r *Redis) URL() string {
	if r.options.Socket {
		return "unix://" + filepath.ToSlash(r.addr)
	}
	return "redis://" + r.addr
}

// Client is a connection pool to this server for as long as it runs. Stop closes it.
func (r *Redis) Client() *redis.Client { return r.client }

// Restart runs a server that was killed, or still runs, again at the same address, with nothing in it.
func (r *Redis) Restart(ctx context.Context) error {
	r.Kill()
	return r.run(ctx)
}

// Stop ends the server and removes what it left. It holds nothing worth waiting for, so it is killed.
func (r *Redis) Stop() {
	r.client.Close()
	r.Kill()
	r.dir.remove()
}
