//go:build !wasip1

package main_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
	"routelimit/limit/standin"
)

const entered = `{"redis": {"password_env": "PASSWORD", "username_env": "USER", "database": 3}, "deny_cache": {"max_time": "0s"}, "routes": {
	"GET /open":   {"identity": "ip", "limit": 5, "window": "1m"},
	"GET /closed": {"identity": "ip", "limit": 5, "window": "1m", "on_error": "closed"}}, "default": null}`

// secret holds what would break a command that is not framed.
const secret = "hush \"\r\n*1\r\n$8\r\nFLUSHALL\r\n"

// enters is a Redis that lets in whom a test says, and decides then.
func enters(reply map[string]string) (answer func([][]byte) []byte) {
	var redis standin.Redis
	return func(command [][]byte) []byte {
		if text, ok := reply[string(command[0])]; ok {
			return []byte(text)
		}
		return redis.Do(command, time.Now().UnixMilli())
	}
}

var environment = hosttest.Options{Environment: map[string]string{"PASSWORD": secret, "USER": "app"}}

func TestEachStreamBeginsWithAuthAndSelect(t *testing.T) {
	r := onScriptWith(t, environment, enters(map[string]string{"AUTH": "+OK\r\n", "SELECT": "+OK\r\n"}), entered)
	r.want("passed", r.get("/closed"))
	if err := r.script.CloseAll(2, "via_upstream"); err != nil {
		t.Fatal(err)
	}
	r.advance(time.Second)
	r.want("passed", r.get("/closed"))
	var got []string
	for _, c := range r.script.Commands() {
		got = append(got, string(c[0]))
	}
	if diff := cmp.Diff([]string{"AUTH", "SELECT", "EVALSHA", "AUTH", "SELECT", "EVALSHA"}, got); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"AUTH", "app", secret}, texts(r.script.Commands()[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"SELECT", "3"}, texts(r.script.Commands()[1])); diff != "" {
		t.Error(diff)
	}
	r.wantNoSecret()
}

func texts(command [][]byte) (list []string) {
	for _, e := range command {
		list = append(list, string(e))
	}
	return list
}

func (r *rig) wantNoSecret() {
	r.t.Helper()
	if strings.Contains(r.vm.LogText(), "hush") || strings.Contains(fmt.Sprint(r.host.Metrics()), "hush") {
		r.t.Error("the password shows")
	}
}

// TestARefusedEntryGoesByOnError whatever is refused, with a line that names the field, and nothing is asked.
func TestARefusedEntryGoesByOnError(t *testing.T) {
	for name, tt := range map[string]struct {
		auth, database, line string
	}{
		"a wrong password": {"-WRONGPASS invalid username-password pair or user is disabled.\r\n", "-NOAUTH Authentication required.\r\n",
			"Redis refuses AUTH, by WRONGPASS; correct what the variables of redis.username_env and redis.password_env hold"},
		"no such database": {"+OK\r\n", "-ERR DB index is out of range\r\n", "Redis refuses SELECT, by ERR; correct redis.database"},
		"a server that knows no AUTH": {"-ERR unknown command 'AUTH', with args beginning with: 'app' 'hush'\r\n", "+OK\r\n",
			"Redis refuses AUTH, by ERR; correct"},
		"an error whose first word is the password": {"-hush is no command\r\n", "+OK\r\n", "Redis refuses AUTH, by no error that is known; correct"},
		"something else than Redis":                 {"+hush\r\n", "+OK\r\n", "Redis refuses AUTH, by no error that is known; correct"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScriptWith(t, environment, enters(map[string]string{"AUTH": tt.auth, "SELECT": tt.database}), entered)
			r.wantFailure("auth", r.deliver)
			for _, c := range r.script.Commands() {
				if name := string(c[0]); name != "AUTH" && name != "SELECT" {
					t.Errorf("%s was sent", name)
				}
			}
			if !strings.Contains(r.vm.LogText(), tt.line) {
				t.Errorf("no line says %q", tt.line)
			}
			r.wantNoSecret()
		})
	}
}

func TestWithoutAUserAuthHasOneArgument(t *testing.T) {
	r := onScriptWith(t, environment, enters(map[string]string{"AUTH": "+OK\r\n"}), strings.Replace(entered, `, "username_env": "USER", "database": 3`, "", 1))
	r.want("passed", r.get("/closed"))
	if diff := cmp.Diff([]string{"AUTH", secret}, texts(r.script.Commands()[0])); diff != "" {
		t.Error(diff)
	}
}

func TestAVariableThatIsNotSetRefusesTheConfiguration(t *testing.T) {
	for missing, environment := range map[string]map[string]string{
		"PASSWORD": {"USER": "app"}, "USER": {"PASSWORD": "hush", "USER": ""},
	} {
		m, err := module()
		if err != nil {
			t.Fatal(err)
		}
		vm, err := hosttest.NewHost(m, hosttest.Options{Environment: environment}).NewVM(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { vm.Close() })
		if _, err := vm.NewPlugin([]byte(entered)); err == nil {
			t.Errorf("without %s it is taken", missing)
		}
		if want := "the environment variable " + missing + " is not set or empty"; !strings.Contains(vm.LogText(), want) || strings.Contains(vm.LogText(), "hush") {
			t.Errorf("log:\n%s", vm.LogText())
		}
	}
}
