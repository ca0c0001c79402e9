package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// sideFlags say where the bridge listens, and whom it lets in.
type sideFlags struct {
	address, admin             string
	certificate, key, clientCA string
}

func (f *sideFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "listen", "127.0.0.1:6480", "where the module's streams come in: host:port, or unix:///path for a socket that this user alone may open")
	flags.StringVar(&f.admin, "admin", "127.0.0.1:6481", "where /healthz, /readyz and /metrics are; empty for none")
	flags.StringVar(&f.certificate, "tls-cert", "", "a file with a certificate for --listen, in PEM, read anew for each connection; without one it is plain text")
	flags.StringVar(&f.key, "tls-key", "", "a file with its key")
	flags.StringVar(&f.clientCA, "tls-client-ca", "", "a file with the authority of the Envoys' certificates; then nobody else is let in")
}

// tls is how the module's side is spoken to; nil in plain text.
func (f *sideFlags) tls() (*tls.Config, error) {
	if f.certificate == "" && f.key == "" {
		if f.clientCA != "" {
			return nil, errors.New("--tls-client-ca is given without a certificate of the bridge's own; write --tls-cert and --tls-key, too")
		}
		return nil, nil
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		return &pair, err
	}
	if _, err := load(nil); err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w; give both, in PEM", err)
	}
	config := &tls.Config{GetCertificate: load, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if f.clientCA == "" {
		return config, nil
	}
	pool, err := readAuthority(f.clientCA)
	if err != nil {
		return nil, err
	}
	config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	return config, nil
}

// listen opens the module's side. A socket that a bridge left behind, and that nobody serves, is replaced.
func (f *sideFlags) listen() (net.Listener, error) {
	path, socket := strings.CutPrefix(f.address, "unix://")
	if !socket {
		l, err := net.Listen("tcp", f.address)
		if err != nil {
			return nil, fmt.Errorf("%w; write another --listen", err)
		}
		return l, nil
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := listenPrivately(path)
	if err != nil {
		return nil, fmt.Errorf("%w; write another path into --listen", err)
	}
	return l, nil
}

// removeStale removes a socket that nobody serves.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		err = errors.New("it is no socket")
	}
	if err != nil {
		return fmt.Errorf("%s cannot be listened on: %w; write another path into --listen", path, err)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("somebody serves %s; end it, or write another path into --listen", path)
	}
	return os.Remove(path)
}

// listenPrivately makes a socket that is never open to others, not even for a moment.
func listenPrivately(path string) (net.Listener, error) {
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}

// isLocal says that only this machine reaches an address.
func isLocal(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
