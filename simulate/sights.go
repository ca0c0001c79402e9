package simulate

import (
	"strings"

	"routelimit/accesslog"
	"routelimit/replay"
)

// sights are what the requests showed by the way.
type sights struct {
	first, last int64
	refused     int64 // with status 429
	query       bool  // some path had one
	preflights  int64
	before      map[string]int64 // answered before routelimit, by what
}

// skips says whether a request never came to routelimit, and takes note of it.
func (s *sights) skips(e *accesslog.Entry) bool {
	by := replay.AnsweredBefore(e)
	if by == "" {
		return false
	}
	if s.before == nil {
		s.before = map[string]int64{}
	}
	s.before[by]++
	return true
}

// skipped is how many never came to routelimit.
func (s *sights) skipped() (n int64) {
	for _, requests := range s.before {
		n += requests
	}
	return n
}

func (s *sights) add(p *replay.Played) {
	e := p.Entry
	if s.first == 0 {
		s.first = e.TimeMS
	}
	s.last = e.TimeMS
	if e.Status == 429 {
		s.refused++
	}
	s.query = s.query || strings.Contains(e.Path, "?")
	if p.Outcome == replay.Preflight {
		s.preflights++
	}
}
