package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// The servers in wheels are built without TLS; Debian's Redis has it. Its packages are unpacked, not installed, so no
// service is started and no root needed.
var debianRedis = []string{"redis-server", "redis-tools", "libjemalloc2", "liblzf1"}

// tlsVariable holds the path of a Redis or Valkey that was built with TLS.
const tlsVariable = "REDIS_TLS"

// TLSRedis is the path of a Redis that speaks TLS: that of REDIS_TLS, or Debian's, fetched by apt-get.
func (b *Toolbox) TLSRedis(ctx context.Context) (string, error) {
	if path := os.Getenv(tlsVariable); path != "" {
		return redisTool.check(ctx, path, tlsVariable+"="+path)
	}
	home := filepath.Join(b.Dir, "debian-redis")
	server := filepath.Join(home, "redis-server")
	if _, err := os.Stat(server); err == nil {
		return server, nil
	}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the folder for fetched servers: %w; make %s writable", err, b.Dir)
	}
	unlock, err := lock(ctx, filepath.Join(b.Dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(server); err == nil {
		return server, nil // another program fetched it while this one waited
	}
	if err := b.unpackDebian(ctx, home); err != nil {
		return "", fmt.Errorf("%w, or set %s= to the path of a redis-server that was built with TLS", err, tlsVariable)
	}
	return redisTool.check(ctx, server, server)
}

// unpackDebian unpacks beside the final place and moves there what is whole.
func (b *Toolbox) unpackDebian(ctx context.Context, home string) error {
	part := home + ".part"
	defer os.RemoveAll(part)
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o755)); err != nil {
		return fmt.Errorf("cannot make room for a Redis with TLS: %w; make %s writable", err, b.Dir)
	}
	download := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-qq"}, debianRedis...)...)
	download.Dir = part
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get cannot download Debian's Redis, which has TLS: %w: %s; run apt-get update", err, lastLine(string(out), "E:"))
	}
	packs, _ := filepath.Glob(filepath.Join(part, "*.deb")) // fails only for a bad pattern
	for _, pack := range packs {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", pack, part).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb cannot unpack %s: %w: %s; remove it and try again", filepath.Base(pack), err, lastLine(string(out), "rror"))
		}
	}
	// Found from where it stands, so that the folder can be moved.
	const script = "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\n" +
		"for d in \"$here\"/usr/lib/*/; do LD_LIBRARY_PATH=$d${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; done\n" +
		"export LD_LIBRARY_PATH\nexec \"$here/usr/bin/redis-server\" \"$@\"\n"
	// redis-server is a link to redis-check-rdb, whose program looks at the name that it is called by.
	if err := os.WriteFile(filepath.Join(part, "redis-server"), []byte(script), 0o755); err != nil {
		return fmt.Errorf("cannot write %s: %w; make the folder writable", home, err)
	}
	if err := os.Rename(part, home); err != nil {
		return fmt.Errorf("cannot put Debian's Redis into place: %w; make %s writable", err, b.Dir)
	}
	return nil
}

// tlsArguments make a server listen for TLS on a port of its own, beside its plain one.
func (o RedisOptions) tlsArguments() []string {
	if o.TLS == nil {
		return nil
	}
	return []string{
		"--tls-port", strconv.Itoa(o.TLS.Port), "--tls-cert-file", o.TLS.Certificate, "--tls-key-file", o.TLS.Key,
		"--tls-ca-cert-file", o.TLS.Authority, "--tls-auth-clients", "no",
	}
}

// RedisTLS are the files with which a server speaks TLS, in PEM.
type RedisTLS struct {
	Certificate, Key, Authority string
	Port                        int // 0: a free one
}
