package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"routelimit/policy/explain"
	"routelimit/resp"
	"routelimit/servers"
)

// look asks a Redis, one node or a Cluster, what is left.
func look(ctx context.Context, report *explain.Report, access *redisAccess) error {
	given, err := access.find(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	client := given.client()
	defer client.Close()
	return report.Look(func(command []byte) (resp.Value, error) { return ask(ctx, client, command) })
}

// client speaks to the Redis; to the right node of a Cluster.
func (r *givenRedis) client() redis.UniversalClient {
	options := servers.ClientOptions(r.network, r.addr)
	options.Username, options.Password, options.ContextTimeoutEnabled = r.user, r.password, true
	options.TLSConfig = r.tls
	if !r.cluster {
		return redis.NewClient(options)
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{r.addr}, Username: r.user, Password: r.password, ContextTimeoutEnabled: true, TLSConfig: r.tls,
		Protocol: options.Protocol, DisableIdentity: options.DisableIdentity,
	})
}

// ask sends a command as it would go over the link, and makes a reply of what comes back.
func ask(ctx context.Context, client redis.UniversalClient, command []byte) (resp.Value, error) {
	var decoder resp.Decoder
	decoder.Write(command)
	words, err := decoder.Next()
	if err != nil {
		return resp.Value{}, err
	}
	args := make([]any, len(words.Elems))
	for i, word := range words.Elems {
		args[i] = string(word.Text)
	}
	reply, err := client.Do(ctx, args...).Result()
	var refused redis.Error
	switch {
	case errors.As(err, &refused):
		return resp.Value{Kind: resp.Error, Text: []byte(refused.Error())}, nil
	case err != nil:
		return resp.Value{}, fmt.Errorf("redis does not answer: %w; start it, or correct --redis", err)
	}
	return value(reply), nil
}

// value is a reply as the link would read it, as far as a script of ours gives it.
func value(reply any) resp.Value {
	switch r := reply.(type) {
	case int64:
		return resp.Value{Kind: resp.Integer, Int: r}
	case []any:
		list := resp.Value{Kind: resp.Array}
		for _, element := range r {
			list.Elems = append(list.Elems, value(element))
		}
		return list
	}
	return resp.Value{Kind: resp.BulkString, Text: fmt.Append(nil, reply)}
}
