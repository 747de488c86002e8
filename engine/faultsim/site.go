package faultsim

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reserveMost is the longest reserveMax that the site sets.
const reserveMost = 35 * time.Second

// site is the site's settings as they change. It knows those that are right, also where a test has the core follow
// others.
type site struct {
	now     core.Settings // as last set
	spoil   func(*core.Settings)
	reserve []reserveMax // in order of time
}

// reserveMax is the setting of that name, from a time on.
type reserveMax struct {
	from scheduler.Time
	max  time.Duration
}

// newSite begins with settings. spoil makes those wrong that the core gets; nil: it gets the right ones.
func newSite(first core.Settings, spoil func(*core.Settings)) *site {
	if spoil == nil {
		spoil = func(*core.Settings) {}
	}
	return &site{now: first, spoil: spoil}
}

// given returns what the core gets.
func (s *site) given() core.Settings {
	c := s.now
	s.spoil(&c)
	return c
}

// input returns what the core gets as an input.
func (s *site) input() *wire.Input {
	return wire.NewInput(&wire.SiteSettings{Json: s.given().JSON()})
}

// inForce notes that the core followed the settings last set from a step on.
func (s *site) inForce(from scheduler.Time) {
	s.reserve = append(s.reserve, reserveMax{from, s.now.ReserveMax})
}

// reserveMaxAt returns how long a reservation lasts that was made in the step of a time. If the setting changed in that
// step, the reservation was made before or after the change, and the longer time counts.
func (s *site) reserveMaxAt(at scheduler.Time) (most time.Duration) {
	for _, r := range s.reserve {
		switch {
		case r.from < at:
			most = r.max
		case r.from == at:
			most = max(most, r.max)
		}
	}
	return most
}

// longest returns the longest time for which a reservation may last that was made up to now.
func (s *site) longest() (most time.Duration) {
	for _, r := range s.reserve {
		most = max(most, r.max)
	}
	return most
}
