package limit

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"routelimit/resp"
)

// bareScript runs two commands, about the least that a limiter on Redis' clock can do.
const bareScript = `local t = redis.call('TIME') local c = redis.call('INCR', KEYS[1])
if c == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end return {c, t[1] + 0}`

// BenchmarkScript reports what Redis says that one call takes it, in microseconds, from INFO commandstats.
func BenchmarkScript(b *testing.B) {
	sliding := func(window time.Duration, limit int64) Charge { return one(&Limit{Limit: limit, Window: window}) }
	decide := func(charges ...Charge) []byte { return AppendDecide(nil, []byte("rl:{bench}"), 0, charges) }
	sum := sha1.Sum([]byte(bareScript))
	bare := resp.AppendBulk(resp.AppendArray(nil, 4), "EVALSHA")
	bare = resp.AppendBulk(bare, hex.EncodeToString(sum[:]))
	bare = resp.AppendBulk(resp.AppendBulk(bare, "1"), "rl:{bench}")
	for i, r := range redises {
		for _, bb := range []struct {
			name    string
			command []byte
		}{
			{"bare", bare},
			{"one", decide(sliding(time.Hour, 1e9))},
			{"one-refused", decide(sliding(time.Hour, 1))},
			{"three", decide(sliding(time.Hour, 1e9), sliding(2*time.Hour, 1e9), sliding(3*time.Hour, 1e9))},
			{"log-100", decide(one(&Limit{Algorithm: SlidingLog, Limit: 100, Window: time.Hour}))},
			{"bucket", decide(one(&Limit{Algorithm: TokenBucket, Limit: 1e9, Window: time.Hour}))},
		} {
			b.Run(r.name+"/"+bb.name, func(b *testing.B) {
				d := connect(b, i)
				d.do("SCRIPT", "LOAD", bareScript)
				d.do("CONFIG", "RESETSTAT")
				const batch = 100
				for n := 0; n < b.N; n += batch {
					d.send([]byte(strings.Repeat(string(bb.command), batch)))
					for range batch {
						if v := d.reply(); v.Kind == resp.Error {
							b.Fatalf("%s", v.Text)
						}
					}
				}
				b.ReportMetric(usecPerCall(b, d, "evalsha"), "redis-us/call")
			})
		}
	}
}

func usecPerCall(b *testing.B, r *redisDecider, command string) (usec float64) {
	b.Helper()
	info, err := r.client.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(info, "cmdstat_"+command+":")
	_, after, _ = strings.Cut(after, "usec_per_call=")
	fmt.Sscan(strings.ReplaceAll(after, ",", " "), &usec)
	return usec
}
