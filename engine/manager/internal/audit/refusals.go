package audit

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	// refusalsMax bounds the refusals of one caller that have lines of their own; each refusalAgain
	// allows one more. Further ones are counted, and written as one line after refusalsWithin,
	// which doubles up to refusalsWithinMax while they continue. So refused callers do not push out
	// the lines of others.
	refusalsMax       = 20
	refusalAgain      = time.Minute
	refusalsWithin    = 10 * time.Second
	refusalsWithinMax = 10 * time.Minute
	// askersMax bounds the callers that are counted apart; all others count as one.
	askersMax = 10_000
	// networkBits are the bits of an IPv6 address that distinguish hosts: one host owns all
	// addresses behind them.
	networkBits = 64
)

// refusals counts recent refusals by caller. It reads no clock.
type refusals struct {
	by  map[string]*refused
	due time.Time // when some caller's time is over, or earlier
}

// refused counts the refusals of one caller.
type refused struct {
	written int       // lines of its own, less one for each refusalAgain
	at      time.Time // up to when refusalAgain was counted

	began  time.Time     // of the time in which refusals are counted
	within time.Duration // its length, or that of the last
	more   int           // how many were counted; 0: there is no such time now
	last   Line          // of them
}

// asker is the caller to whom a line's refusal counts: a proved name, or a host.
func asker(l Line) string {
	if l.Who != "" {
		return "who " + cmp.Or(l.By, l.Who)
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		host = l.Address
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() && !ip.Is4In6() {
		if network, err := ip.WithZone("").Prefix(networkBits); err == nil {
			host = network.String()
		}
	}
	return "host " + host
}

// countRefusal counts a refusal, and reports whether it is to be written. The first refusal without
// a line returns the delay after which over is to be called.
func (r *refusals) countRefusal(l Line, now time.Time) (write bool, after time.Duration) {
	if r.by == nil {
		r.by = map[string]*refused{}
	}
	key := asker(l)
	if r.by[key] == nil && len(r.by) >= askersMax {
		key = ""
	}
	one := r.by[key]
	if one == nil {
		one = &refused{at: now}
		r.by[key] = one
	}
	one.forgive(now)
	if one.more == 0 && one.written < refusalsMax {
		one.written++
		r.expect(one.end())
		return true, 0
	}
	one.more++
	one.last = l
	if one.more > 1 {
		return false, 0
	}
	one.began, one.within = now, min(max(2*one.within, refusalsWithin), refusalsWithinMax)
	r.expect(one.end())
	return false, one.within
}

// forgive discounts the refusals that were written long enough ago. A clock that was set back
// discounts all.
func (one *refused) forgive(now time.Time) {
	if now.Before(one.at) {
		one.written, one.at = 0, now
	}
	n := now.Sub(one.at) / refusalAgain
	one.written = max(one.written-int(min(n, refusalsMax)), 0)
	one.at = one.at.Add(n * refusalAgain)
}

// end is when a summary of a caller is due, or the caller is forgotten.
func (one *refused) end() time.Time {
	if one.more > 0 {
		return one.began.Add(one.within)
	}
	return one.at.Add(time.Duration(one.written) * refusalAgain)
}

// expect plans a call of over for a time.
func (r *refusals) expect(end time.Time) {
	if r.due.IsZero() || end.Before(r.due) {
		r.due = end
	}
}

// over gives the summary line of each caller with too many refusals whose time has ended, in the
// order of their last refusal. It forgets callers that stopped.
func (r *refusals) over(now time.Time) (lines []Line) {
	if r.due.IsZero() || now.Before(r.due) && now.After(r.due.Add(-refusalsMax*refusalAgain)) {
		return nil
	}
	r.due = time.Time{}
	for key, one := range r.by {
		if one.more > 0 && (!now.Before(one.end()) || now.Before(one.began)) {
			lines = append(lines, one.summary())
			one.more = 0
		}
		if one.forgive(now); one.more == 0 && one.written == 0 {
			delete(r.by, key)
			continue
		}
		r.expect(one.end())
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Who, b.Who), cmp.Compare(a.Address, b.Address))
	})
	return lines
}

// summary is the line for the refusals without lines of their own.
func (one *refused) summary() Line {
	l := one.last
	l.More = one.more
	l.Why = fmt.Sprintf("%s; it is the last of %d refusals within %v that have no lines of their own, because there were more than %d", l.Why, one.more, one.within, refusalsMax)
	return l
}
