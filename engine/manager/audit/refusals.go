package audit

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// refusalsMax bounds the refusals of one asker that are written within refusalsWithin:
	// those beyond are counted, and told in one line at its end. So nobody who is refused
	// drives out what others did.
	refusalsMax    = 20
	refusalsWithin = 10 * time.Second
	// askersMax bounds the askers that are told apart within that time; all others are one.
	askersMax = 10_000
)

// refusals are those of a while, by who asked. It reads no clock.
type refusals struct {
	by     map[string]*refused
	oldest time.Time // when the first of by began, or before; nothing is over sooner
}

type refused struct {
	began   time.Time
	written int
	last    Line // of those that were not written
	more    int  // how many these are
}

// asker is whom a line's refusal is counted for: a name that was proved, or a host.
func asker(l Line) string {
	if l.Who != "" {
		return "who " + cmp.Or(l.By, l.Who)
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		host = l.Address
	}
	return "host " + host
}

// take counts a refusal, and says whether it is to be written. The first that is not says
// so, for somebody to call over when its time has ended.
func (r *refusals) take(l Line, now time.Time) (write, first bool) {
	if r.by == nil {
		r.by = map[string]*refused{}
	}
	key := asker(l)
	if r.by[key] == nil && len(r.by) >= askersMax {
		key = ""
	}
	one := r.by[key]
	if one == nil {
		one = &refused{began: now}
		if len(r.by) == 0 || now.Before(r.oldest) {
			r.oldest = now
		}
		r.by[key] = one
	}
	if one.written < refusalsMax {
		one.written++
		return true, false
	}
	one.more++
	one.last = l
	return false, one.more == 1
}

// over forgets those whose time has ended, and gives the line of each that had too many, in
// the order of their last.
func (r *refusals) over(now time.Time) (lines []Line) {
	if ended(r.oldest, now) {
		lines = r.forget(now)
	}
	return lines
}

// ended tells whether a time is over that began once; a clock that was set back ends it, too.
func ended(began, now time.Time) bool {
	return now.Sub(began) >= refusalsWithin || now.Before(began)
}

func (r *refusals) forget(now time.Time) (lines []Line) {
	r.oldest = now
	for key, one := range r.by {
		if !ended(one.began, now) {
			if one.began.Before(r.oldest) {
				r.oldest = one.began
			}
			continue
		}
		delete(r.by, key)
		if one.more > 0 {
			l := one.last
			l.More = one.more
			l.Why = fmt.Sprintf("%s; it is the last of %d refusals that have no lines of their own, because there were more than %d within %v", l.Why, one.more, refusalsMax, refusalsWithin)
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Who, b.Who), cmp.Compare(a.Address, b.Address))
	})
	return lines
}
