package stored

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is what a Redis holds under one key.
type State struct {
	Key
	Exists bool
	// Foreign says why the key is none of routelimit's although its name is: "" if it is.
	Foreign string
	NowMS   int64         // by Redis' clock
	TTL     time.Duration // until the key goes; 0: it never does, which routelimit repairs
	Fields  []Field
}

// mostFields is more than any key of routelimit has.
const mostFields = 1000

// Read reads what is under a key.
func Read(ctx context.Context, client redis.UniversalClient, key Key) (*State, error) {
	s := &State{Key: key}
	kind, err := client.Type(ctx, key.Text).Result()
	if err != nil {
		return nil, fmt.Errorf("key %s cannot be read: %w; allow this user TYPE, PTTL, HLEN, HGETALL and TIME", key.Text, err)
	}
	now, err := client.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("the time of Redis cannot be read: %w; allow this user TIME", err)
	}
	s.NowMS = now.UnixMilli()
	switch kind {
	case "none":
		return s, nil
	case "hash":
	default:
		s.Exists, s.Foreign = true, "it is a "+kind+", not a hash"
		return s, nil
	}
	s.Exists = true
	fields, err := client.HLen(ctx, key.Text).Result()
	if err == nil && fields > mostFields {
		s.Foreign = fmt.Sprintf("it has %d fields", fields)
		return s, nil
	}
	var values map[string]string
	var ttl time.Duration
	if err == nil {
		values, err = client.HGetAll(ctx, key.Text).Result()
	}
	if err == nil {
		ttl, err = client.PTTL(ctx, key.Text).Result()
	}
	if err != nil {
		return nil, fmt.Errorf("key %s cannot be read: %w; allow this user PTTL, HLEN and HGETALL", key.Text, err)
	}
	s.TTL = max(0, ttl)
	s.Fields = ParseFields(values)
	for _, f := range s.Fields {
		if f.Kind == Unknown {
			s.Foreign = fmt.Sprintf("its field %q is none of routelimit's", f.Name)
		}
	}
	return s, nil
}

// ParseFields reads all fields of a key, sorted by their names, those of shadow limits last.
func ParseFields(values map[string]string) []Field {
	var fields []Field
	for name, value := range values {
		fields = append(fields, ParseField(name, value))
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}
