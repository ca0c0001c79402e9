package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"routelimit/bootstrap"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// Setup is what every output is made of.
type Setup struct {
	Policy []byte // JSON, which goes in as it stands
	Redis  Redis
	Module Module
	Tokens Tokens

	// The rest is for Bootstrap alone.
	Listen   string // host:port for clients; "": 0.0.0.0:10000
	Admin    string // host:port of the admin page; "": 127.0.0.1:9901
	Upstream string // what is protected, host:port or the path of a unix socket; "": 127.0.0.1:8080
}

// Module is where Envoy gets the module from.
type Module struct {
	File string // for Bootstrap: from the directory where Envoy is started; "": build/routelimit.wasm

	// For the platforms: an address (oci://, https://) and the SHA-256 of what is there in hexadecimal digits, of the
	// module for https:// and of the image for oci://; "": not checked.
	URL    string
	SHA256 string
}

// check says whether a platform can fetch the module.
func (m Module) check() error {
	scheme, rest, _ := strings.Cut(m.URL, "://")
	switch {
	case m.URL == "":
		return errors.New("it is not said where the module is; give the address of an image (oci://registry/name:version) or of a file (https://…)")
	case rest == "" || !slices.Contains([]string{"oci", "https", "http"}, scheme):
		return fmt.Errorf("%q is no address of a module; write oci://registry/name:version for an image, or https://…", m.URL)
	case m.SHA256 != "" && !isSHA256(m.SHA256):
		return fmt.Errorf("%q is no SHA-256; write its 64 hexadecimal digits", m.SHA256)
	}
	return nil
}

func (m Module) isImage() bool { return strings.HasPrefix(m.URL, "oci://") }

// image is the image's name without a scheme, as container runtimes write it.
func (m Module) image() string { return strings.TrimPrefix(m.URL, "oci://") }

// reference is the image's name with its checksum, if that is known.
func (m Module) reference() string {
	name := m.image()
	if m.SHA256 == "" || strings.Contains(name, "@") {
		return name
	}
	return name + "@sha256:" + m.SHA256
}

// pinned says whether nothing but one module can be loaded: by its checksum, or that of the image in its name.
func (m Module) pinned() bool {
	return m.SHA256 != "" || m.isImage() && strings.Contains(m.URL, "@sha256:")
}

func isSHA256(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

// remote is the module as Istio's agent fetches it, which replaces it by a file before Envoy sees it.
func (m Module) remote() *corev3.AsyncDataSource {
	return &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Remote{Remote: &corev3.RemoteDataSource{
		HttpUri: &corev3.HttpUri{
			Uri:              m.URL,
			Timeout:          durationpb.New(30 * time.Second),
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: "_"}, // the agent uses none, and Envoy's types want one
		},
		Sha256: cmp.Or(m.SHA256, "nil"), // Istio's own word for none
	}}}
}

// Tokens says how jwt_authn verifies tokens, where the policy reads their claims.
type Tokens struct {
	Issuer string // "": https://issuer.example
	KeySet string // a JSON Web Key Set; "": the key of nobody, as in envoy.yaml
}

func (t Tokens) check() error {
	if !json.Valid([]byte(t.KeySet)) {
		return errors.New("the keys of the issuer are no JSON; give a JSON Web Key Set")
	}
	return nil
}

// printable refuses text that no protobuf message can hold, or that nobody has meant.
func (s Setup) printable() error {
	texts := map[string]string{
		"the policy": string(s.Policy), "the keys of the issuer": s.Tokens.KeySet, "the issuer": s.Tokens.Issuer,
		"the module's file": s.Module.File, "the module's address": s.Module.URL, "the upstream": s.Upstream,
		"the user of Redis": s.Redis.User, "the variable of Redis' password": s.Redis.Password.Env, "the file of Redis' password": s.Redis.Password.File,
		"the address of Redis": strings.Join(s.Redis.Nodes, " "),
	}
	if t := s.Redis.TLS; t != nil {
		texts["the authority of Redis"], texts["the name of Redis"] = t.CA, t.Name
		texts["Envoy's certificate for Redis"], texts["Envoy's key for Redis"] = t.Cert, t.Key
	}
	for _, what := range slices.Sorted(maps.Keys(texts)) {
		odd := func(r rune) bool {
			return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r)
		}
		if strings.ContainsFunc(texts[what], odd) {
			return fmt.Errorf("%s holds bytes that are no text; write UTF-8 without control characters", what)
		}
	}
	return nil
}

// parsed is a setup whose policy has been read.
type parsed struct {
	Setup
	policy  *policy.Policy
	hashKey string // the variable with the key of secret identities; "": none
}

// parse reads the policy. Variables that it names may be set where Envoy runs, so here all are taken for good ones.
func (s Setup) parse() (*parsed, error) {
	s.Listen = cmp.Or(s.Listen, "0.0.0.0:10000")
	s.Admin = cmp.Or(s.Admin, "127.0.0.1:9901")
	s.Upstream = cmp.Or(s.Upstream, "127.0.0.1:8080")
	s.Module.File = cmp.Or(s.Module.File, "build/routelimit.wasm")
	s.Tokens.Issuer = cmp.Or(s.Tokens.Issuer, "https://issuer.example")
	s.Tokens.KeySet = cmp.Or(s.Tokens.KeySet, keyOfNobody)

	if (bootstrap.Placed{Text: string(s.Policy)}).Gateway() {
		return nil, errors.New("the policy is the gateway's role and limits nothing; give the policy of the limits")
	}
	p, err := policy.Parse(s.Policy, func(string) (string, bool) { return strings.Repeat("x", policy.LeastHashKey), true })
	if err != nil {
		return nil, err
	}
	if err := s.Redis.check(); err != nil {
		return nil, err
	}
	if err := s.Tokens.check(); err != nil {
		return nil, err
	}
	if err := s.printable(); err != nil {
		return nil, err
	}
	if name := p.Redis.Cluster; slices.Contains([]string{tunnelName, storeName, bootstrap.RedisCluster, bootstrap.UpstreamCluster}, name) {
		return nil, fmt.Errorf("redis.cluster is %q, which is the name of another cluster on the way to Redis; write another, or leave it out", name)
	}
	if p.Redis.PasswordEnv != "" || p.Redis.Database != 0 {
		return nil, errors.New("the policy has redis.password_env or redis.database, for a Redis that is reached without redis_proxy, and here it is reached through it; " +
			"remove them, and say where Envoy finds the password")
	}
	return &parsed{Setup: s, policy: p, hashKey: hashKeyEnv(s.Policy)}, nil
}

func hashKeyEnv(raw []byte) string {
	if n := strictjson.Parse(raw).Root().Member("hash_key_env"); n != nil {
		name, _ := n.Text()
		return name
	}
	return ""
}

// routes are the policy's and its default.
func (p *parsed) routes() []*policy.Route {
	all := slices.Clone(p.policy.Routes)
	if p.policy.Default != nil {
		all = append(all, p.policy.Default)
	}
	return all
}

// needsBody says whether a route waits for a request's body.
func (p *parsed) needsBody() bool {
	return slices.ContainsFunc(p.routes(), func(r *policy.Route) bool { return r.NeedsBody })
}

// payloads are the keys under which the policy expects the claims of verified tokens, in its order.
func (p *parsed) payloads() []string {
	var keys []string
	add := func(s identity.Source) {
		rest, ok := strings.CutPrefix(s.String(), "metadata:"+jwtFilter+"/")
		key, _, _ := strings.Cut(rest, "/")
		if ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, r := range p.routes() {
		for _, c := range r.Components() {
			add(c.Source)
		}
		for _, l := range r.Limits {
			if l.Plans != nil {
				add(l.Plans.By)
			}
		}
	}
	return keys
}

// notes are what has to be set where Envoy runs, on whatever platform.
func (p *parsed) notes() []string {
	var notes []string
	if p.Redis.Password.Env != "" {
		notes = append(notes, fmt.Sprintf("Envoy takes the password of Redis from its environment variable %s.", p.Redis.Password.Env))
	}
	if p.Redis.Password.File != "" {
		notes = append(notes, fmt.Sprintf("Envoy takes the password of Redis from %s, which must hold nothing else, not even a line's end.", p.Redis.Password.File))
	}
	if p.hashKey != "" {
		notes = append(notes, fmt.Sprintf("The module takes the key of secret identities from Envoy's environment variable %s.", p.hashKey))
	}
	return notes
}
