package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
)

// Use is how long a launcher was there, and how much of it was used, from the beginning of the
// workload to the last end.
type Use struct {
	// Up is for how long it was there, and Busy for how long an attempt held slots of it.
	Up, Busy time.Duration
	// Held is the slot time of all attempts on it.
	Held time.Duration
}

// meter measures the use of a launcher.
type meter struct {
	Use
	up   bool
	held int // slots
	last time.Duration
}

// advance counts the time until now.
func (m *meter) advance(now time.Duration) {
	now = max(now, 0) // launchers join before the workload begins
	d := now - m.last
	m.last = now
	if m.up {
		m.Up += d
	}
	if m.held > 0 {
		m.Busy += d
		m.Held += d * time.Duration(m.held)
	}
}

// holds records that an attempt holds its slots from now on, or no longer.
func (m *meter) holds(now time.Duration, a *simcluster.Attempt, holds bool) {
	m.advance(now)
	slots := max(int(a.Start.Slots), 1)
	if !holds {
		slots = -slots
	}
	m.held += slots
}

// add adds a launcher that is there from the beginning, or joins later.
func (p *player) add(l *simcluster.Launcher, up bool) {
	p.launchers = append(p.launchers, l)
	p.meters[l] = &meter{up: up}
}

// present records that a launcher is there from now on, or no longer.
func (p *player) present(l *simcluster.Launcher, up bool) {
	m := p.meters[l]
	m.advance(p.since(p.Now()))
	m.up = up
}

// uses are the uses of all launchers at the end, in the order of the cluster's machines.
func (p *player) uses() []Use {
	list := make([]Use, len(p.launchers))
	for i, l := range p.launchers {
		m := p.meters[l]
		m.advance(p.result.Ended)
		list[i] = m.Use
	}
	return list
}
