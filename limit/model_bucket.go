package limit

// bucketState is what the bucket lacked to be full at a time in ms, 0 for a full one. A token is as many units as the
// window has ms, so that each ms refills "limit" units exactly.
type bucketState struct{ at, deficit int64 }

func (s bucketState) answer(q question) outcome {
	length := q.limit.windowMS()
	restarted := s.at-q.nowMS > length
	if restarted {
		s = bucketState{}
	}
	at := max(q.nowMS, s.at)
	deficit := s.refilled(at, q.refill)

	o := outcome{at: at}
	capacity := q.limit.Capacity()
	full := capacity * length
	o.verdict.Restarted = restarted
	o.verdict.Pass = q.refill > 0 && q.cost <= capacity && deficit <= full-q.cost*length
	if o.verdict.Pass && q.charge && q.cost > 0 {
		deficit += q.cost * length
		o.next = bucketState{at, deficit}
	}

	ms := func(units int64) int64 { return at - q.nowMS + (units+q.refill-1)/q.refill }
	o.forget = q.nowMS
	if q.refill > 0 {
		o.verdict.Remaining = max(0, full-deficit) / length
		if deficit > 0 {
			o.verdict.Reset = duration(ms(deficit))
			o.forget += ms(deficit)
		}
	}
	if !o.verdict.Pass {
		o.verdict.Wait = Never
		if q.refill > 0 && q.cost <= capacity {
			o.verdict.Wait = duration(ms(deficit - (full - q.cost*length)))
		}
	}
	return o
}

// refilled is the deficit at a later time, when refill units have come each ms.
func (s bucketState) refilled(at, refill int64) int64 {
	if s.deficit == 0 || refill > 0 && at-s.at >= (s.deficit+refill-1)/refill {
		return 0
	}
	return s.deficit - (at-s.at)*refill
}

// refund gives back what has not been refilled since: the bucket may have been full in between, and then the charge is
// forgotten already.
func (s bucketState) refund(at int64, q question) bucketState {
	price := q.cost * q.limit.windowMS()
	since := max(q.nowMS, s.at) - at
	if since < 0 || q.refill > 0 && since >= (price+q.refill-1)/q.refill {
		return s
	}
	s.deficit = max(0, s.deficit-(price-since*q.refill))
	return s
}
