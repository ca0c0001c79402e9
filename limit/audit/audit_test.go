package audit_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/limit"
	"routelimit/limit/audit"
)

// at is an admission decided so many ms after a full hour, which the outside knows to have been between two more.
func at(sent, answered int64) audit.Admission {
	hour := time.Unix(1_729_771_200, 0)
	return audit.Admission{
		Sent: hour.Add(time.Duration(sent) * time.Millisecond), Answered: hour.Add(time.Duration(answered) * time.Millisecond),
	}
}

func TestOver(t *testing.T) {
	second := func(a limit.Algorithm, n int64) limit.Limit {
		return limit.Limit{Algorithm: a, Limit: n, Window: time.Second}
	}
	bucket := second(limit.TokenBucket, 2)
	bucket.Burst = 3
	for name, tt := range map[string]struct {
		limit    limit.Limit
		admitted []audit.Admission
		want     int
	}{
		"fixed: the limit":                 {second(limit.FixedWindow, 2), []audit.Admission{at(0, 1), at(999, 999)}, 0},
		"fixed: two more":                  {second(limit.FixedWindow, 2), []audit.Admission{at(0, 1), at(2, 3), at(4, 5), at(6, 7)}, 2},
		"fixed: around a boundary":         {second(limit.FixedWindow, 2), []audit.Admission{at(998, 998), at(999, 999), at(1000, 1000), at(1001, 1001)}, 0},
		"fixed: either side of a boundary": {second(limit.FixedWindow, 1), []audit.Admission{at(990, 1010), at(990, 1010)}, 0},
		"fixed: three on two sides":        {second(limit.FixedWindow, 1), []audit.Admission{at(990, 1010), at(990, 1010), at(995, 1020)}, 1},
		"fixed: the certain one goes first": {second(limit.FixedWindow, 1),
			[]audit.Admission{at(900, 1010), at(950, 960), at(2000, 2001)}, 0},
		"fixed: over three windows": {second(limit.FixedWindow, 1),
			[]audit.Admission{at(900, 2100), at(901, 2100), at(902, 2100), at(903, 2100)}, 1},
		"log: the limit":                {second(limit.SlidingLog, 2), []audit.Admission{at(0, 1), at(2, 3), at(1002, 1004)}, 0},
		"log: one more":                 {second(limit.SlidingLog, 2), []audit.Admission{at(0, 1), at(2, 3), at(500, 998)}, 1},
		"log: not certain":              {second(limit.SlidingLog, 2), []audit.Admission{at(0, 1), at(2, 3), at(500, 1000)}, 0},
		"log: across a boundary":        {second(limit.SlidingLog, 1), []audit.Admission{at(900, 900), at(1100, 1100)}, 1},
		"sliding: the limit":            {second(limit.SlidingWindow, 2), []audit.Admission{at(0, 1), at(2, 3), at(1500, 1500)}, 0},
		"sliding: one more":             {second(limit.SlidingWindow, 2), []audit.Admission{at(0, 1), at(2, 3), at(1499, 1499)}, 1},
		"sliding: perhaps before":       {second(limit.SlidingWindow, 1), []audit.Admission{at(0, 1), at(999, 1001)}, 0},
		"bucket: the burst":             {bucket, []audit.Admission{at(0, 0), at(1, 1), at(2, 2), at(500, 500)}, 0},
		"bucket: one more":              {bucket, []audit.Admission{at(0, 0), at(1, 1), at(2, 2), at(490, 490)}, 1},
		"bucket: refilled for a second": {bucket, []audit.Admission{at(0, 0), at(0, 0), at(0, 0), at(1000, 1000), at(1000, 1000)}, 0},
		"bucket: and no more than that": {bucket, []audit.Admission{at(0, 0), at(0, 0), at(0, 0), at(1000, 1000), at(1000, 1000), at(1000, 1000)}, 1},
		"nothing":                       {bucket, nil, 0},
		"a limit of 0 that admits":      {second(limit.FixedWindow, 0), []audit.Admission{at(0, 1)}, 1},
	} {
		if got := audit.Over(tt.limit, tt.admitted); got != tt.want {
			t.Errorf("%s: %d over, want %d", name, got, tt.want)
		}
	}
}

// TestOverAccusesNobody plays requests to the model of a limit, which keeps it however little is known of the times.
func TestOverAccusesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limit.Limit{
			Algorithm: limit.Algorithm(rapid.IntRange(0, 3).Draw(t, "algorithm")), Limit: rapid.Int64Range(1, 6).Draw(t, "limit"),
			Window: time.Second,
		}
		if l.Algorithm == limit.TokenBucket {
			l.Burst = rapid.Int64Range(1, 6).Draw(t, "burst")
		}
		steps := rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 30), rapid.Int64Range(0, 2500)), 1, 60).Draw(t, "steps")
		blur := rapid.SliceOfN(rapid.Int64Range(0, 300), 2*len(steps), 2*len(steps)).Draw(t, "blur")
		if got := audit.Over(l, play(l, steps, blur)); got != 0 {
			t.Fatalf("%v: %d over", l, got)
		}
	})
}

// play is what a limit's model admits of requests that come so many ms after each other, seen from outside: not known
// better than by blur.
func play(l limit.Limit, steps, blur []int64) []audit.Admission {
	var model limit.Model
	var admitted []audit.Admission
	now := int64(1_729_771_200_000)
	for i, step := range steps {
		now += step
		if model.Decide("k", now, []limit.Charge{limit.NewCharge(&l, 1)}).Allowed {
			admitted = append(admitted, audit.Admission{
				Sent: time.UnixMilli(now - blur[2*i]), Answered: time.UnixMilli(now + blur[2*i+1]),
			})
		}
	}
	return admitted
}

func TestOverFindsALimitThatAdmitsOneMore(t *testing.T) {
	for _, algorithm := range limit.AlgorithmNames() {
		a, err := limit.ParseAlgorithm(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		l := limit.Limit{Algorithm: a, Limit: 5, Window: time.Second}
		leaky := l
		leaky.Limit++
		steps, known := make([]int64, 200), make([]int64, 400)
		for i := range steps {
			steps[i] = 20
		}
		if got := audit.Over(l, play(l, steps, known)); got != 0 {
			t.Errorf("%s: %d over", algorithm, got)
		}
		if got := audit.Over(l, play(leaky, steps, known)); got < 3 {
			t.Errorf("%s: %d over of a limiter that admits one more in each of four windows", algorithm, got)
		}
	}
}

func TestDensest(t *testing.T) {
	for _, tt := range []struct {
		admitted []audit.Admission
		want     int
	}{
		{nil, 0},
		{[]audit.Admission{at(0, 1)}, 1},
		{[]audit.Admission{at(900, 901), at(990, 991), at(1000, 1001), at(1898, 1898), at(1900, 1900)}, 4},
		{[]audit.Admission{at(0, 999), at(1, 998)}, 1},
	} {
		if got := audit.Densest(time.Second, tt.admitted); got != tt.want {
			t.Errorf("%s: %d, want %d", fmt.Sprint(tt.admitted), got, tt.want)
		}
	}
}
