package stand

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCallsReadsInfo(t *testing.T) {
	got := parseCalls("# Stats\r\ntotal_net_input_bytes:4096\r\ntotal_net_output_bytes:77\r\ntotal_commands_processed:999\r\ntotal_reads_processed:9\r\n" +
		"# Commandstats\r\n" +
		"cmdstat_eval:calls=5,usec=669,usec_per_call=133.80,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_config|get:calls=2,usec=66,usec_per_call=33.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_evalsha:calls=12,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=5\r\n" +
		"cmdstat_incrby:calls=3,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_expire:calls=3,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_info:calls=100,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_cluster|slots:calls=100,usec=30,usec_per_call=6.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_odd:calls=many,usec=1\r\n" +
		"cmdstat_odd:usec=1\r\n")
	if diff := cmp.Diff(Calls{Decisions: 20, All: 25, Reads: 9, Read: 4096, Wrote: 77}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestCallsSinceAnEarlierReading(t *testing.T) {
	got := Calls{10, 20, 30, 40, 50}.Less(Calls{1, 2, 3, 4, 5})
	if want := (Calls{9, 18, 27, 36, 45}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
