package page

import (
	"fmt"
	"time"
)

// maxBars is how many bars a phone can show.
const maxBars = 110

// timeline draws a route's requests over time, those refused at the bottom of each bar.
func timeline(l line) *chart {
	requests, refused, step := fewer(l.Requests, l.Refused, l.Timeline.Seconds)
	c := newChart(fmt.Sprintf("%s: requests and refusals over time", l.Route),
		fmt.Sprintf("requests each %s, UTC", duration(step)))
	most := int64(1)
	for _, n := range requests {
		most = max(most, n)
	}
	most = ceiling(most)
	from := l.Timeline.Start
	length := time.Duration(step) * time.Second
	each := plotWidth / float64(max(1, len(requests)))
	rise := func(n int64) float64 { return plotHeight * float64(n) / float64(most) }
	for i := range requests {
		if requests[i] == 0 {
			continue
		}
		at := from.Add(time.Duration(i) * length)
		title := fmt.Sprintf("%s: %s requests, %s refused", second(at), grouped(requests[i]), grouped(refused[i]))
		x, w := left+float64(i)*each, max(0.6, each*0.9)
		low, high := rise(refused[i]), rise(requests[i]-refused[i])
		if high > 0 {
			c.Bars = append(c.Bars, bar{X: x, Y: c.Bottom - low - high, Width: w, Height: high, Class: "passed", Title: title})
		}
		if low > 0 {
			c.Bars = append(c.Bars, bar{X: x, Y: c.Bottom - low, Width: w, Height: low, Class: "refused", Title: title})
		}
	}
	for _, n := range [...]int64{0, most / 2, most} {
		if n != 0 || len(c.Across) == 0 {
			c.Across = append(c.Across, tick{c.Bottom - rise(n), short(n)})
		}
	}
	whole := time.Duration(len(requests)) * length
	at, layout := timeTicks(from, from.Add(whole))
	for _, t := range at {
		c.Along = append(c.Along, tick{left + plotWidth*float64(t.Sub(from))/float64(whole), t.Format(layout)})
	}
	return c
}

// fewer puts steps together until there are few enough.
func fewer(requests, refused []int64, seconds int64) (r, f []int64, step int64) {
	into := (len(requests) + maxBars - 1) / maxBars
	if into <= 1 {
		return requests, refused, seconds
	}
	for i := range requests {
		if i%into == 0 {
			r, f = append(r, 0), append(f, 0)
		}
		r[len(r)-1] += requests[i]
		f[len(f)-1] += refused[i]
	}
	return r, f, seconds * int64(into)
}

// duration is 90s, 5m or 6h.
func duration(seconds int64) string {
	switch {
	case seconds == 1:
		return "second"
	case seconds%86400 == 0:
		return fmt.Sprintf("%d d", seconds/86400)
	case seconds%3600 == 0:
		return fmt.Sprintf("%d h", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%d min", seconds/60)
	}
	return fmt.Sprintf("%d s", seconds)
}
