package simulate

import "slices"

// population is the identities that a limit met. Up to most it has them all;
// beyond that one in two, four, …, chosen by a hash of the key, so that who is in
// it was in it from the first request on, and shares and quantiles stay true.
type population struct {
	most    int
	oneIn   uint64 // a power of 2
	members map[uint64]member
}

type member struct {
	peak            int64
	refused, spared bool
}

func newPopulation(most int) population {
	return population{most: most, oneIn: 1, members: map[uint64]member{}}
}

// saw takes note of one request. An identity that is spared is let through all the same.
func (p *population) saw(key string, use int64, refused, spared bool) {
	hash := hashOf(key)
	if hash%p.oneIn != 0 {
		return
	}
	m := p.members[hash]
	m.peak, m.refused, m.spared = max(m.peak, use), m.refused || refused, m.spared || refused && spared
	p.members[hash] = m
	for len(p.members) > p.most {
		p.oneIn *= 2
		for hash := range p.members {
			if hash%p.oneIn != 0 {
				delete(p.members, hash)
			}
		}
	}
}

// hashOf is FNV-1a with the finish of MurmurHash3, whose low bits are as good as
// its high ones. Two keys with the same hash count as one identity.
func hashOf(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// peaks are the highest uses, in ascending order, how many members were refused, and
// how many of those spared.
func (p *population) peaks() (peaks []int64, refused, spared int64) {
	peaks = make([]int64, 0, len(p.members))
	for _, m := range p.members {
		peaks = append(peaks, m.peak)
		if m.refused {
			refused++
		}
		if m.spared {
			spared++
		}
	}
	slices.Sort(peaks)
	return peaks, refused, spared
}

// perMille are the shares of identities that suggestions are made for.
var perMille = []int64{1, 10, 50}

// suggest gives the smallest number below the peaks of at most so many of a
// thousand identities.
func suggest(peaks []int64, perMille int64) int64 {
	refused := int64(len(peaks)) * perMille / 1000
	return peaks[int64(len(peaks))-1-refused]
}

// distribute counts the peaks in bins that grow with the number.
func distribute(peaks []int64) []Bin {
	var bins []Bin
	rest := peaks
	for from := int64(1); len(rest) > 0; {
		to := NextStep(from) - 1
		n, _ := slices.BinarySearch(rest, to+1)
		if n > 0 || len(bins) > 0 {
			bins = append(bins, Bin{from, to, int64(n)})
		}
		rest, from = rest[n:], to+1
	}
	return bins
}

// NextStep is the start of the bin behind that of n, which follow 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, …
func NextStep(n int64) int64 {
	scale := int64(1)
	for n/scale >= 20 {
		scale *= 10
	}
	for _, step := range [...]int64{1, 2, 3, 5, 7, 10, 15, 20, 30} {
		if next := step * scale; next > n {
			return next
		}
	}
	return n + scale
}
