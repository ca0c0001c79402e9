package policy

import (
	"routelimit/limit"
	"routelimit/limit/lease"
	"routelimit/policy/strictjson"
)

const (
	mostLease  = 1_000_000_000
	leaseShare = 10 // a lease is at most such a fraction of the limit
)

func (d *limitDraft) readLease(n *strictjson.Node) {
	d.lease = n
	if n.Kind() != strictjson.String {
		d.limit.Lease, _ = n.Whole(2, mostLease)
	}
	if n.Either(strictjson.String) {
		n.StatePattern(prose("^auto$"))
		if text, ok := n.Text(); ok && text != "auto" {
			n.Fail(`%s is no lease; write "auto", or for how many requests Redis is asked at once, such as 20`, n.Show())
		}
		d.limit.Lease = lease.Auto
	}
}

// checkLease refuses a lease where what is charged in advance would not be what the
// requests that spend it are charged, or too much of the limit.
func (d *limitDraft) checkLease() {
	l, n := d.limit, d.lease
	switch {
	case l.Algorithm == limit.SlidingLog:
		n.FailName(`a sliding log counts each request at its own time, and a lease is charged before; remove it, or use sliding_window or fixed_window`)
	case l.Algorithm == limit.TokenBucket:
		n.FailName(`a token bucket refills all the time, so there is no window at whose end a lease is gone; remove it, or use sliding_window or fixed_window`)
	case l.Shadow:
		n.FailName(`a shadow limit shows who would be refused, and with a lease some requests would not be asked about; remove one of the two`)
	case l.EnforcePercent < everybody:
		n.FailName(`"enforce_percent" spares some callers, who would be counted by leases and not by requests; remove one of the two`)
	case len(l.Count) > 0:
		n.FailName(`"count" gives requests back by their status, and a request that spends a lease has no charge of its own to give back; remove one of the two`)
	case l.CostFrom.Kind() != "":
		n.FailName(`a lease is taken for requests of one cost, and here a header says what each costs; remove it, or write a number as "cost"`)
	default:
		d.checkLeaseSize()
	}
}

func (d *limitDraft) checkLeaseSize() {
	for _, quota := range d.quotas {
		requests := quota.value / d.limit.Cost
		switch most := requests / leaseShare; {
		case quota.value == 0: // refuses without asking
		case d.limit.Lease == lease.Auto && requests < lease.LeastAuto:
			quota.node.Fail("%d is too small for a lease: the largest automatic one is a sixteenth of it, and not for two requests; write at least %d, or remove the lease",
				quota.value, lease.LeastAuto*d.limit.Cost)
		case d.limit.Lease != lease.Auto && most < 2:
			quota.node.Fail("%d is too small for a lease: the largest is a tenth of it, and not for two requests; write at least %d, or remove the lease",
				quota.value, 2*leaseShare*d.limit.Cost)
		case d.limit.Lease > most:
			d.lease.Fail("%d requests at once are more than a tenth of the limit %d, and each worker may hold as many; write at most %d",
				d.limit.Lease, quota.value, most)
			return
		}
	}
}

// checkLeases refuses leases of a route that is not asked about by one question
// under one key.
func checkLeases(limits []limitDraft) {
	for i := range limits {
		d := &limits[i]
		if d.lease == nil {
			continue
		}
		for j := range limits {
			switch other := limits[j].limit; {
			case other.Lease != d.limit.Lease:
				d.lease.FailName(`one question decides all limits of a route, so all have the same lease or none, and %q has another or none; write the same in each, or remove it`, other.Name)
				return
			case other.Identity.String() != d.limit.Identity.String() || other.Bucket != d.limit.Bucket:
				d.lease.FailName(`%q counts by another identity or in another bucket, so each request is asked about under several keys; remove it, or give the limits of the route one identity`, other.Name)
				return
			}
		}
	}
}
