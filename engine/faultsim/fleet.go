package faultsim

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// fleet is the launchers with their connections, and the verdicts of the manager's liveness check.
type fleet struct {
	*play
	clients *clients
	cluster simcluster.Cluster
	list    []*fake
	byID    map[scheduler.LauncherID]*fake // launchers that were welcomed once

	countable bool // launchers have countable resources
}

func newFleet(p *play, c *clients) *fleet {
	m := &fleet{play: p, clients: c, byID: map[scheduler.LauncherID]*fake{}}
	m.cluster = simcluster.Cluster{
		Loop: &p.Loop, Job: c.runs, Seen: p.Seen, Wrong: func(err error) { p.fail("%v", err) },
		Ended: func(_ *simcluster.Attempt, e *wire.AttemptEnded) { p.Seen["end "+e.End.String()]++ },
	}
	return m
}

// all returns the launchers.
func (m *fleet) all() []*fake { return m.list }

// any returns one of them.
func (m *fleet) any() *fake { return m.list[m.rand.IntN(len(m.list))] }

// first returns the slots of each kind of jobKinds on the first launchers, where every gang has
// room.
func (m *fleet) first() [2]int {
	return [2]int{int(m.list[0].Slots[0].Count), int(m.list[0].Slots[1].Count)}
}

// named returns a launcher, or nil.
func (m *fleet) named(name string) *fake {
	if i := slices.IndexFunc(m.list, func(f *fake) bool { return f.Name == name }); i >= 0 {
		return m.list[i]
	}
	return nil
}

// disconnect breaks all streams.
func (m *fleet) disconnect() {
	for _, f := range m.list {
		f.disconnect()
	}
}

// damage makes a stored output unreadable, or has the launcher notice its loss.
func (m *fleet) damage(f *fake) {
	ids := simcluster.Sorted(f.Stored)
	if len(ids) == 0 {
		return
	}
	m.Seen["damaged outputs"]++
	id := ids[m.rand.IntN(len(ids))]
	if m.chance(700) {
		f.Stored[id].Damaged = true
		return
	}
	job := f.Stored[id].Job
	f.Discard(id)
	f.Report(&wire.Report{What: &wire.Report_OutputLost{OutputLost: &wire.Stored{Job: job, Attempt: id}}})
}

// expectAll gives up launchers that the core counts as up and that do not join it.
func (m *fleet) expectAll() {
	term := m.Core.Term() // of the life that began, which is larger than any that welcomed a launcher
	for _, l := range m.Core.Launchers() {
		info, _ := m.Core.Launcher(l.Name)
		if !info.Up {
			continue
		}
		m.After(lostAfter, func() {
			if m.named(info.Name).Term < term {
				m.Push(wire.NewInput(&wire.LauncherLost{
					Launcher: uint64(info.Launcher), Incarnation: info.Incarnation, Reason: "it did not come back",
				}))
			}
		})
	}
}

// checkNothingLeft looks for work or outputs on launchers, by themselves and by the core.
func (m *fleet) checkNothingLeft() {
	for _, f := range m.list {
		if len(f.Attempts) > 0 || len(f.Stored) > 0 || len(f.Jobs) > 0 {
			m.fail("%s (connected %t, life %d) still has %d attempts, %d outputs and workers of %d jobs", f.Name, f.connected, f.Incarnation, len(f.Attempts), len(f.Stored), len(f.Jobs))
			for _, id := range simcluster.Sorted(f.Attempts) {
				m.trace("left: attempt %d of job %d, ended %v", id, f.Attempts[id].Start.Job, f.Attempts[id].Ended())
			}
		}
		for _, l := range m.Core.Launchers() {
			if l.Name == f.Name && !f.left && (l.State == "lost" || l.Running+l.Suspended > 0 || l.MemoryFree != l.Memory || wire.ResourcesOf(l.ResourcesFree) != wire.ResourcesOf(l.Resources)) {
				m.fail("%v", l)
			}
		}
	}
}
