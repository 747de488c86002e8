package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// join takes a launcher in, anew or again.
func (c *Core) join(m *wire.Join) {
	l := c.byName[m.GetName()]
	if why, afresh := c.joinRefused(l, m); why != "" {
		c.step.Act(Welcome{Name: m.GetName(), Incarnation: m.GetIncarnation(), Term: c.step.Term, Refused: why, Afresh: afresh})
		return
	}
	has := inventory{m.Attempts, m.Stored, m.Jobs, scheduler.AttemptID(m.Seen)}
	if l != nil && l.Up && l.incarnation == m.Incarnation {
		c.lookForLoss(l, m)
		l.identity, l.dataAddress, l.httpAddress = m.Identity, m.DataAddress, m.HttpAddress
		c.step.Act(Welcome{Name: l.Name, Incarnation: l.incarnation, Term: c.step.Term, Launcher: l.ID})
		c.takeInventory(l, has)
		return
	}
	var kept map[scheduler.AttemptID]*output
	if l != nil && l.Up {
		// A new life before the old one was missed: what it stored may be there still.
		kept = l.outputs
		l.outputs = map[scheduler.AttemptID]*output{}
		c.loseLauncher(l, "it started anew")
		l = c.byName[m.Name] // its name may have been one too many to remember
	}
	if l == nil {
		c.ids.Launcher++
		l, kept = &launcher{Launcher: capacity.Launcher{ID: scheduler.LauncherID(c.ids.Launcher), Name: m.Name}}, nil
		c.launchers.Add(l.ID, l)
		c.capacity.Add(&l.Launcher)
		c.byName[l.Name] = l
	}
	c.lookForLoss(l, m)
	c.comeUp(l, m)
	c.adoptOutputs(l, kept, m.Stored)
	c.takeInventory(l, has)
}

// joinRefused says why a launcher may not join, and whether it may as a new
// incarnation. A name belongs to the data folder of the launcher that is up under it.
// When that is lost another may take it; incarnations are compared within one
// folder only, so none is used up for good.
func (c *Core) joinRefused(l *launcher, m *wire.Join) (why string, afresh bool) {
	own := l != nil && (l.identity == "" || l.identity == m.GetIdentity())
	switch {
	case m.GetName() == "" || len(m.GetName()) > c.step.Set.Graph.NameBytes:
		why = fmt.Sprintf("a launcher's name has 1 to %d bytes: name it", c.step.Set.Graph.NameBytes)
	case m.GetMemory() < 0:
		why = "its memory is negative: give it in bytes, 0 or more"
	case slices.ContainsFunc(m.GetSlots(), func(s *wire.Slots) bool { return s.GetKind() == "" || s.GetCount() > capacity.SlotsMax }):
		why = fmt.Sprintf("a kind of its slots has no name, or more than %d slots: name kinds and count slots", capacity.SlotsMax)
	case l != nil && l.Up && !own:
		why = fmt.Sprintf("a launcher of that name on host %s has not been lost yet: stop one of the two, or give them different names", l.Host)
	case l != nil && !l.Up && m.GetIncarnation() == l.incarnation:
		why, afresh = "this launcher was given up: it must drop all it has and join as a new incarnation", true
	case own && m.GetIncarnation() < l.incarnation:
		why = "a newer life of this launcher joined already: stop one of the two, or give them different names"
	case (l == nil || !l.Up) && c.capacity.Up() >= c.step.Set.LaunchersMax:
		why = fmt.Sprintf("%d launchers are up, which is the limit", c.capacity.Up())
	}
	return why, afresh
}

func (c *Core) comeUp(l *launcher, m *wire.Join) {
	l.identity, l.incarnation = m.Identity, m.Incarnation
	l.Host, l.Rack, l.dataAddress, l.httpAddress, l.CanSuspend = m.Host, m.Rack, m.DataAddress, m.HttpAddress, m.CanSuspend
	l.names, c.aliases = slices.Clone(m.Names), nil
	l.attempts, l.suspended, l.outputs = nil, 0, map[scheduler.AttemptID]*output{}
	l.line.Close()
	var slots capacity.Slots
	for _, s := range m.Slots {
		slots.Add(s.Kind, int(s.Count))
	}
	c.capacity.Join(&l.Launcher, c.step.Now, slots, m.Memory)
	c.step.Act(Welcome{Name: l.Name, Incarnation: l.incarnation, Term: c.step.Term, Launcher: l.ID})
	c.policy.TellLauncher(l.ID, l.JoinedEvent())
	if l.Draining {
		c.policy.TellLauncher(l.ID, scheduler.LauncherDraining{At: c.step.Now, Launcher: l.ID, Draining: true})
	}
}

// launcherLost takes the shell's word that a launcher is gone.
func (c *Core) launcherLost(m *wire.LauncherLost) {
	l := c.launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	if l == nil || !l.Up || l.incarnation != m.GetIncarnation() {
		return
	}
	c.loseLauncher(l, m.GetReason())
}

// loseLauncher gives a launcher up: its attempts are lost, and what it stored.
func (c *Core) loseLauncher(l *launcher, reason string) {
	c.policy.TellLauncher(l.ID, scheduler.LauncherLost{At: c.step.Now, Launcher: l.ID, Reason: reason})
	c.step.Log(Warn, "a launcher was lost", "launcher", l.Name, "reason", reason)
	c.capacity.Lose(&l.Launcher)
	c.step.Stats.LaunchersLost++
	for _, a := range l.attempts.sorted() {
		if a.phase != attemptEnded { // it may have gone with one before it
			c.lose(a, fmt.Sprintf("launcher %s was lost: %s", l.Name, reason))
		}
	}
	outputs := l.outputs
	l.outputs, l.attempts = nil, nil
	l.line.Close()
	c.loseOutputs(l, outputs)
	c.forgetLaunchers()
}

// loseOutputs has what was stored on a launcher made again where it is needed.
func (c *Core) loseOutputs(l *launcher, outputs map[scheduler.AttemptID]*output) {
	ids := slices.Sorted(maps.Keys(outputs))
	var again []*output
	for _, id := range ids {
		o := outputs[id]
		if o.bundle.kept != nil && o.bundle.kept[o.group].attempt == id {
			if !o.bundle.kept[o.group].lost {
				c.step.Stats.OutputsLost++
				c.outputsLost(o.bundle, o.group, false)
				again = append(again, o)
			}
			continue
		}
		for _, r := range slices.Clone(o.bundle.runs) {
			if r.id == o.run && r.commits[o.group] != nil { // of a gang that has not committed yet
				r.lost = "launcher " + l.Name + " was lost with what a finished group had stored"
				c.stopRun(r, scheduler.Lost, r.lost, 0, 0)
			}
		}
	}
	for _, o := range again {
		if o.bundle.phase == bundleFinished && o.job.phase == jobRunning && o.job.needed(o.bundle, o.group) {
			c.wantAgain(o.bundle)
		}
	}
}

// storeLost takes a launcher's word that it lost a stored output.
func (c *Core) storeLost(l *launcher, id scheduler.AttemptID) {
	if o := l.outputs[id]; o != nil {
		delete(l.outputs, id)
		c.loseOutputs(l, map[scheduler.AttemptID]*output{id: o})
	}
}

// adoptOutputs keeps what a launcher's new life still has of the old one.
func (c *Core) adoptOutputs(l *launcher, old map[scheduler.AttemptID]*output, stored []*wire.Stored) {
	for _, s := range stored {
		id := scheduler.AttemptID(s.GetAttempt())
		if o := old[id]; o != nil && c.stillKept(o, id) {
			l.outputs[id] = o
			delete(old, id)
		}
	}
	c.loseOutputs(l, old)
}

// stillKept says whether anybody counts on a stored output: losing the attempts
// of its launcher may have ended its job, or its gang.
func (c *Core) stillKept(o *output, id scheduler.AttemptID) bool {
	if c.jobs.Get(o.job.id) != o.job {
		return false
	}
	b := o.bundle
	return b.kept != nil && b.kept[o.group].attempt == id && !b.kept[o.group].lost ||
		slices.ContainsFunc(b.runs, func(r *run) bool { return r.id == o.run && r.commits[o.group] != nil })
}

// forgetLaunchers drops the names of launchers that were lost longest ago.
func (c *Core) forgetLaunchers() {
	for lost := c.launchers.Len() - c.capacity.Up(); lost > c.step.Set.LaunchersKept; lost-- {
		for l := range c.launchers.All() {
			if !l.Up {
				c.launchers.Remove(l.ID)
				c.capacity.Forget(&l.Launcher)
				delete(c.byName, l.Name)
				break
			}
		}
	}
}

// drain starts or ends a drain: what runs there goes on, nothing new starts.
func (c *Core) drain(m *wire.DrainLauncher) {
	l := c.byName[m.GetName()]
	if l == nil {
		c.step.Reply(m.GetClient(), 0, step.Invalid(fmt.Sprintf("there is no launcher %q", m.GetName())))
		return
	}
	if l.Draining != m.GetDrain() {
		c.capacity.Drain(&l.Launcher, m.GetDrain())
		if l.Up {
			c.policy.TellLauncher(l.ID, scheduler.LauncherDraining{At: c.step.Now, Launcher: l.ID, Draining: l.Draining})
		}
	}
	c.step.Reply(m.GetClient(), 0, nil)
}
