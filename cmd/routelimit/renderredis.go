package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"routelimit/render"
)

// renderRedis is how a command line says which Redis Envoy is to use.
type renderRedis struct {
	url     string
	cluster bool
	secret  render.Secret
	tls     render.TLS

	notes []string // what a person should know of what was read
}

// defaultPasswordEnv is where Envoy looks for the password if nobody says otherwise.
const defaultPasswordEnv = "REDIS_PASSWORD"

func (r *renderRedis) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.url, "redis", "", "the Redis as Envoy reaches it: redis://user@host:port, rediss:// for TLS, or unix:///path;\nfurther nodes of a Cluster behind commas")
	flags.BoolVar(&r.cluster, "redis-cluster", false, "it is a Redis Cluster; some of its nodes are enough")
	flags.StringVar(&r.secret.Env, "redis-password-env", "", "the environment variable in which Envoy finds the password\n(for envoy REDIS_PASSWORD, if the URL has a user)")
	flags.StringVar(&r.secret.File, "redis-password-file", "", "the file in which Envoy finds it\n(for the others "+render.SecretFolder+"/password, if the URL has a user)")
	flags.StringVar(&r.tls.CA, "redis-ca", "", "Envoy's file with the authority of a rediss:// Redis, in PEM\n(for envoy the system's, for the others "+render.SecretFolder+"/ca.crt)")
	flags.StringVar(&r.tls.Name, "redis-tls-name", "", "the name that the certificates of all nodes hold; else one of those in the URL")
	flags.StringVar(&r.tls.Cert, "redis-cert", "", "Envoy's file with its own certificate, where Redis asks for one")
	flags.StringVar(&r.tls.Key, "redis-key", "", "Envoy's file with that certificate's key")
	cmd.MarkFlagsMutuallyExclusive("redis-password-env", "redis-password-file")
}

// read makes of the URL and the flags what Envoy has to know. On platforms where a Secret is mounted, its files are what
// holds if nobody says otherwise.
func (r *renderRedis) read(mounted bool) (render.Redis, error) {
	url := r.url
	if url == "" {
		url = os.Getenv("REDIS_URL")
	}
	if url == "" {
		return render.Redis{}, errors.New("no Redis is given; write --redis redis://host:port, or set REDIS_URL")
	}
	found := render.Redis{Cluster: r.cluster, Password: r.secret}
	encrypted, hasPassword := false, false
	for _, one := range splitNodes(url) {
		options, err := readRedisURL(one)
		if err != nil {
			return render.Redis{}, err
		}
		found.Nodes = append(found.Nodes, options.Addr)
		found.User = options.Username
		encrypted, hasPassword = options.TLSConfig != nil, options.Password != ""
	}
	if (found.User != "" || hasPassword) && r.secret == (render.Secret{}) {
		found.Password.Env = defaultPasswordEnv
		if mounted {
			found.Password = render.Secret{File: render.SecretFolder + "/password"}
		}
	}
	if hasPassword {
		r.notes = append(r.notes, "The password in the URL is not written into the output, and is not needed here: give the URL without it.")
	}
	switch {
	case encrypted:
		found.TLS = &r.tls
		if mounted && r.tls.CA == "" {
			r.tls.CA = render.SecretFolder + "/ca.crt"
		}
	case r.tls != render.TLS{}:
		return render.Redis{}, errors.New("settings of TLS are given and the URL asks for none; write rediss://, or leave them away")
	}
	return found, nil
}

// splitNodes makes of scheme://user@a:1,b:2/path one URL for each node.
func splitNodes(url string) []string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme == "unix" {
		scheme, rest = "redis", url
		if ok {
			return []string{url}
		}
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = rest[:at+1], rest[at+1:]
	}
	nodes, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		nodes, path = rest[:end], rest[end:]
	}
	var all []string
	for node := range strings.SplitSeq(nodes, ",") {
		all = append(all, fmt.Sprintf("%s://%s%s%s", scheme, user, node, path))
	}
	return all
}
