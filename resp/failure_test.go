package resp_test

import (
	"regexp"
	"testing"

	"routelimit/resp"
)

func TestG26_ClassifyErrorTellsEachKindInEitherSpelling(t *testing.T) {
	const inside = "ERR Error running script (call to f_5f2bb8b0d1ea5b4c8b1fa7ba37f5b7a9e5f0a3c1): @user_script:5: @user_script: 5: "
	for _, tt := range []struct {
		text string
		want resp.Failure
	}{
		{"NOSCRIPT No matching script. Please use EVAL.", resp.NoScript},
		{"READONLY You can't write against a read only replica.", resp.ReadOnly},
		{"READONLY You can't write against a read only replica. script: 5f2bb8b0, on @user_script:5.", resp.ReadOnly},
		{inside + "-READONLY You can't write against a read only replica.", resp.ReadOnly},
		{"LOADING Redis is loading the dataset in memory", resp.Loading},
		{"OOM command not allowed when used memory > 'maxmemory'. script: 5f2bb8b0, on @user_script:5.", resp.OOM},
		{inside + "-OOM command not allowed when used memory > 'maxmemory'.", resp.OOM},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", resp.Misconf},
		{inside + "-MISCONF Redis is configured to save RDB snapshots, but is currently not able to persist on disk.", resp.Misconf},
		{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", resp.Busy},
		{"CLUSTERDOWN Hash slot not served", resp.ClusterDown},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", resp.MasterDown},
		{"NOREPLICAS Not enough good replicas to write.", resp.NoReplicas},
		{inside + "-NOREPLICAS Not enough good replicas to write.", resp.NoReplicas},
		{"MOVED 3999 192.0.2.2:6379", resp.Moved},
		{"ASK 3999 192.0.2.3:6379", resp.Ask},
		{"TRYAGAIN Multiple keys request during rehashing of slot", resp.TryAgain},
		{"CROSSSLOT Keys in request don't hash to the same slot", resp.CrossSlot},
		{inside + "Lua script attempted to access a non local key in a cluster node", resp.CrossSlot},
		{"NOAUTH Authentication required.", resp.Auth},
		{"WRONGPASS invalid username-password pair or user is disabled.", resp.Auth},
		{"NOPERM this user has no permissions to run the 'evalsha' command", resp.Auth},
		{"DENIED Redis is running in protected mode", resp.Auth},
		{"ERR invalid password", resp.Auth},
		{"ERR ACL failure in script: User narrow has no permissions to run the 'hget' command", resp.Auth},
		{inside + "The user executing the script can't run this command or subcommand", resp.Auth},
		{"ERR max number of clients reached", resp.MaxClients},
		{"ERR max number of clients + cluster connections reached", resp.MaxClients},
		{"upstream failure", resp.UpstreamFailure},
		{"no upstream host", resp.NoUpstreamHost},
		{"ERR unknown command `EVALSHA`, with args beginning with: ", resp.Unsupported},

		{"ERR Protocol error: invalid bulk length", resp.Other},
		{"ERR wrong number of arguments for 'evalsha' command", resp.Other},
		{"ERR user_script:1: Script attempted to access nonexistent global variable 'ASKED'", resp.Other},
		{"ERR the word READONLY outside a script's report", resp.Other},
		{"readonly in small letters", resp.Other},
		{"READONLYx", resp.Other},
		{"", resp.Other},
		{" ", resp.Other},
		{"-", resp.Other},
	} {
		if got := resp.ClassifyError([]byte(tt.text)); got != tt.want {
			t.Errorf("%q is %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestG22_ClassifyErrorNamesAServerThatIsTooOld(t *testing.T) {
	text := "ERR Error running script (call to f_1c8d): @user_script:1: @user_script: 1: Write commands not allowed after " +
		"non deterministic commands. Call redis.replicate_commands() at the start of your script"
	if got := resp.ClassifyError([]byte(text)); got != resp.Unsupported {
		t.Errorf("got %v, want %v", got, resp.Unsupported)
	}
}

func TestFailureNamesAreDistinctMetricLabels(t *testing.T) {
	label := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]resp.Failure{}
	for _, f := range resp.Failures() {
		name := f.String()
		if before, ok := seen[name]; ok || !label.MatchString(name) {
			t.Errorf("failure %d is called %q, as failure %d is, or that is no snake_case", f, name, before)
		}
		seen[name] = f
	}
	if len(seen) != 19 || resp.Failure(200).String() != "other" {
		t.Errorf("%d kinds; an unknown one is %q", len(seen), resp.Failure(200))
	}
}
