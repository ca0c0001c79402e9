package render

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// redisManifests are the documents of deploy/kubernetes/redis-cluster.yaml, by kind.
func redisManifests(t *testing.T) map[string]resource {
	t.Helper()
	file, err := os.ReadFile("../deploy/kubernetes/redis-cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]resource{}
	for _, r := range parseResources(t, file) {
		all[r.Kind] = r
	}
	return all
}

// redisConfig is the ConfigMap of the Cluster.
func redisConfig(t *testing.T) map[string]string {
	t.Helper()
	var c corev1.ConfigMap
	decode(t, redisManifests(t)["ConfigMap"].raw, &c)
	return c.Data
}

func TestTheRedisClusterIsValidKubernetes(t *testing.T) {
	all := redisManifests(t)
	into := map[string]any{
		"Namespace": new(corev1.Namespace), "ConfigMap": new(corev1.ConfigMap), "Service": new(corev1.Service),
		"StatefulSet": new(appsv1.StatefulSet), "Job": new(batchv1.Job), "PodDisruptionBudget": new(policyv1.PodDisruptionBudget),
		"NetworkPolicy": new(networkingv1.NetworkPolicy),
	}
	if len(all) != len(into) {
		t.Errorf("%d kinds", len(all))
	}
	for kind, object := range into {
		decode(t, all[kind].raw, object)
	}
	set := into["StatefulSet"].(*appsv1.StatefulSet)
	service := into["Service"].(*corev1.Service)
	if set.Spec.ServiceName != service.Name || set.Spec.Template.Labels["app"] != service.Spec.Selector["app"] {
		t.Error("the Service is not that of the StatefulSet")
	}
	mounted(t, set.Spec.Template.Spec)
	mounted(t, into["Job"].(*batchv1.Job).Spec.Template.Spec)
}

// mounted says which volumes a pod mounts and does not have, or has and does not mount.
func mounted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	mounts := map[string]bool{"data": true} // a claim
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.Name] = true
	}
	for _, v := range pod.Volumes {
		if !mounts[v.Name] {
			t.Errorf("the volume %s is not mounted", v.Name)
		}
		delete(mounts, v.Name)
	}
	if delete(mounts, "data"); len(mounts) > 0 {
		t.Errorf("no volumes: %v", mounts)
	}
}

// The servers at hand are built without TLS, and the files are the pod's: those settings are read here by nobody.
func TestRedisTakesItsConfiguration(t *testing.T) {
	var args []string
	for line := range strings.Lines(redisConfig(t)["redis.conf"]) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" || strings.HasPrefix(words[0], "tls-") {
			continue
		}
		switch words[0] {
		case "port", "dir", "include", "aclfile", "cluster-config-file":
			continue
		}
		args = append(args, "--"+words[0])
		args = append(args, words[1:]...)
	}
	r := servertest.StartRedis(t, servers.RedisOptions{Args: args})
	got, err := r.Client().ConfigGet(t.Context(), "maxmemory-policy").Result()
	if err != nil || got["maxmemory-policy"] != "noeviction" {
		t.Errorf("%v, %v", got, err)
	}
	for _, user := range []string{"routelimit", "replica", "admin"} {
		if err := r.Client().Do(t.Context(), userRules(t, user, "secret")...).Err(); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// userRules are the rules of a user in users.acl, for ACL SETUSER.
func userRules(t *testing.T, user, password string) []any {
	t.Helper()
	for line := range strings.Lines(redisConfig(t)["users.acl"]) {
		words := strings.Fields(line)
		if words[1] != user {
			continue
		}
		rules := []any{"ACL", "SETUSER"}
		for _, word := range words[1:] {
			rules = append(rules, regexp.MustCompile(`^>[A-Z_]+$`).ReplaceAllString(word, ">"+password))
		}
		return rules
	}
	t.Fatalf("no user %s", user)
	return nil
}

// What a script calls is asked of the user who runs it.
func TestTheUserMayCallWhatTheScriptsCall(t *testing.T) {
	rules := fmt.Sprint(userRules(t, "routelimit", "secret"))
	for _, script := range []string{"../limit/decide.lua", "../limit/refund.lua"} {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		calls := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`).FindAllStringSubmatch(string(text), -1)
		if len(calls) == 0 {
			t.Errorf("no calls in %s", script)
		}
		for _, call := range calls {
			if !strings.Contains(rules+" ", " +"+strings.ToLower(call[1])+" ") {
				t.Errorf("%s calls %s, which the user may not", script, call[1])
			}
		}
	}
}

func TestTheUserMayDoWhatEnvoyAsksAndNothingElse(t *testing.T) {
	cluster := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
	for _, node := range cluster.Nodes {
		if err := node.Client().Do(t.Context(), userRules(t, "routelimit", "secret")...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), WorkDir: "..", Env: []string{"REDIS_PASSWORD=secret"},
		Config: rendered(t, Setup{
			Policy: readmePolicy(t), Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Upstream: upstream.Addr(),
			Redis: Redis{Nodes: cluster.Addrs(), Cluster: true, User: "routelimit", Password: Secret{Env: "REDIS_PASSWORD"}},
		}),
	})
	limited(t, "http://"+servertest.Address(t, e, "public")) // the last one is refused, and two charges are given back

	for _, node := range cluster.Nodes {
		log, err := node.Client().Do(t.Context(), "ACL", "LOG").Slice()
		if err != nil || len(log) > 0 {
			t.Errorf("refused to Envoy at %s: %v, %v", node.Addr(), log, err)
		}
		conn := node.Client().Conn()
		defer conn.Close()
		if err := conn.AuthACL(t.Context(), "routelimit", "secret").Err(); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{
			"FLUSHALL", "KEYS *", "CONFIG GET *", "GET rl:{a}", "HSET other f 1", "ACL LIST", "CLUSTER RESET", "SCAN 0", "EVAL return{redis.call('GET','x')} 0",
		} {
			var args []any
			for word := range strings.FieldsSeq(command) {
				args = append(args, word)
			}
			if err := conn.Do(t.Context(), args...).Err(); err == nil || !strings.Contains(err.Error(), "permission") && !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%s: %v", command, err)
			}
		}
	}
}

// Run twice: the second time the nodes are a Cluster already.
func TestTheScriptFormsACluster(t *testing.T) {
	var nodes []*servers.Redis
	var addrs []string
	for range 6 {
		r := servertest.StartRedis(t, servers.RedisOptions{Args: []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000"}})
		nodes, addrs = append(nodes, r), append(addrs, r.Addr())
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		script := exec.CommandContext(ctx, "bash", "-c", redisConfig(t)["form.sh"])
		script.Env = append(os.Environ(), "CLI="+servertest.RedisCLI(t), "NODES="+strings.Join(addrs, " "))
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for _, node := range nodes {
		for {
			info, err := node.Client().ClusterInfo(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:6") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s:\n%s", node.Addr(), info)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}
