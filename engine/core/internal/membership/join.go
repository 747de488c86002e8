package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Join takes a launcher in, anew or again.
func (ss *Membership) Join(m *wire.Join) {
	l := ss.state.ByName[m.GetName()]
	if why, afresh := ss.joinRefused(l, m); why != "" {
		ss.step.Emit(step.Welcome{Name: m.GetName(), Incarnation: m.GetIncarnation(), Term: ss.step.Term, Refused: why, Afresh: afresh})
		return
	}
	has := inventory{m.Attempts, m.Stored, m.Jobs, scheduler.AttemptID(m.Seen)}
	if l != nil && l.Up && l.Incarnation == m.Incarnation {
		ss.lookForLoss(l, m)
		l.Identity, l.DataAddress, l.HTTPAddress = m.Identity, m.DataAddress, m.HttpAddress
		ss.step.Emit(step.Welcome{Name: l.Name, Incarnation: l.Incarnation, Term: ss.step.Term, Launcher: l.ID, Assigned: assigned(l)})
		ss.takeInventory(l, has)
		return
	}
	var kept map[scheduler.AttemptID]*state.Output
	if l != nil && l.Up {
		// A new life before the old one was missed: what it stored may be there still.
		kept = l.Outputs
		l.Outputs = map[scheduler.AttemptID]*state.Output{}
		ss.loseLauncher(l, rejoinReason(m), false)
		l = ss.state.ByName[m.Name] // its name may have been one too many to remember
	}
	if l == nil {
		ss.ids.Launcher++
		l, kept = &state.Launcher{Launcher: resources.Launcher{ID: scheduler.LauncherID(ss.ids.Launcher), Name: m.Name}}, nil
		ss.state.Launchers.Add(l.ID, l)
		ss.resources.Add(&l.Launcher)
		ss.state.ByName[l.Name] = l
	}
	ss.lookForLoss(l, m)
	ss.comeUp(l, m)
	ss.adoptOutputs(l, kept, m.Stored)
	ss.takeInventory(l, has)
}

// assigned lists what a launcher was told to run and has not ended, by what the core knows: what
// the launcher says of itself gives it no right to a job.
func assigned(l *state.Launcher) []step.Assigned {
	list := make([]step.Assigned, 0, len(l.Attempts))
	for _, a := range l.Attempts.Sorted() {
		j := a.BundleAttempt.Bundle.Job
		list = append(list, step.Assigned{Attempt: a.ID, Job: j.ID, Program: j.Spec.GetProgram(), Plan: j.Spec.GetPlan()})
	}
	return list
}

// joinRefused says why a launcher may not join, and whether it may as a new
// incarnation. A name belongs to the data folder of the launcher that is up under it.
// When that is lost another may take it; incarnations are compared within one
// folder only, so none is used up for good.
func (ss *Membership) joinRefused(l *state.Launcher, m *wire.Join) (why string, afresh bool) {
	own := l != nil && (l.Identity == "" || l.Identity == m.GetIdentity())
	switch {
	case m.GetName() == "" || len(m.GetName()) > ss.step.Set.Graph.NameBytes:
		why = fmt.Sprintf("a launcher's name has 1 to %d bytes: name it", ss.step.Set.Graph.NameBytes)
	case m.GetMemory() < 0:
		why = "its memory is negative: give it in bytes, 0 or more"
	case m.GetSwap() < 0:
		why = "its swap is negative: give it in bytes, 0 or more"
	case slices.ContainsFunc(m.GetSlots(), func(s *wire.Slots) bool { return s.GetKind() == "" || s.GetCount() > resources.SlotsMax }):
		why = fmt.Sprintf("a kind of its slots has no name, or more than %d slots: name kinds and count slots", resources.SlotsMax)
	case l != nil && l.Up && !own:
		why = fmt.Sprintf("a launcher of that name on host %s has not been lost yet: stop one of the two, or give them different names", l.Host)
	case l != nil && !l.Up && m.GetIncarnation() == l.Incarnation:
		why, afresh = "this launcher was given up: it must drop all it has and join as a new incarnation", true
	case own && m.GetIncarnation() < l.Incarnation:
		why = "a newer life of this launcher joined already: stop one of the two, or give them different names"
	case (l == nil || !l.Up) && ss.resources.Up() >= ss.step.Set.LaunchersMax:
		why = fmt.Sprintf("%d launchers are up, which is the limit", ss.resources.Up())
	}
	return why, afresh
}

func (ss *Membership) comeUp(l *state.Launcher, m *wire.Join) {
	l.Identity, l.Incarnation = m.Identity, m.Incarnation
	l.Host, l.Rack, l.DataAddress, l.HTTPAddress, l.CanSuspend = m.Host, m.Rack, m.DataAddress, m.HttpAddress, m.CanSuspend
	l.Names, ss.state.Aliases = slices.Clone(m.Names), nil
	l.Attempts, l.Suspended, l.Outputs = nil, 0, map[scheduler.AttemptID]*state.Output{}
	l.Outstanding.Close()
	var slots resources.Slots
	for _, s := range m.Slots {
		slots.Add(s.Kind, int(s.Count))
	}
	ss.resources.Join(&l.Launcher, ss.step.Now, slots, m.Memory, m.Swap)
	ss.step.Emit(step.Welcome{Name: l.Name, Incarnation: l.Incarnation, Term: ss.step.Term, Launcher: l.ID})
	ss.policy.NotifyLauncher(l.ID, l.JoinedEvent())
	if l.Draining {
		ss.policy.NotifyLauncher(l.ID, scheduler.LauncherDraining{At: ss.step.Now, Launcher: l.ID, Draining: true})
	}
}

// LauncherLost takes the shell's word that a launcher is gone.
func (ss *Membership) LauncherLost(m *wire.LauncherLost) {
	l := ss.state.Launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	if l == nil || !l.Up || l.Incarnation != m.GetIncarnation() {
		return
	}
	ss.loseLauncher(l, m.GetReason(), m.GetLeft())
}

// afterBytesMax bounds what a launcher says of its earlier incarnation's end.
const afterBytesMax = 512

// whyAnew says why a launcher that is up joins as another incarnation.
func rejoinReason(m *wire.Join) string {
	if after := m.GetAfter(); after != "" {
		return strings.ToValidUTF8(after[:min(len(after), afterBytesMax)], "")
	}
	return "its process was started again"
}

// loseLauncher gives a launcher up: its attempts are lost, and what it stored. One that left was
// stopped by a person, and counts for no alert.
func (ss *Membership) loseLauncher(l *state.Launcher, reason string, left bool) {
	ss.policy.NotifyLauncher(l.ID, scheduler.LauncherLost{At: ss.step.Now, Launcher: l.ID, Reason: reason})
	ss.resources.Lose(&l.Launcher)
	if left {
		ss.step.Log(step.Info, "a launcher left", "launcher", l.Name, "reason", reason)
		ss.step.Stats.LaunchersLeft++
	} else {
		ss.step.Log(step.Warn, "a launcher was lost", "launcher", l.Name, "reason", reason)
		ss.step.Stats.LaunchersLost++
	}
	for _, a := range l.Attempts.Sorted() {
		if a.Phase() != phase.Ended { // it may have gone with one before it
			ss.attempts.Lose(a, fmt.Sprintf("launcher %s was lost: %s", l.Name, reason))
		}
	}
	outputs := l.Outputs
	l.Outputs, l.Attempts = nil, nil
	l.Outstanding.Close()
	ss.loseOutputs(l, outputs)
	ss.forgetLaunchers()
}

// loseOutputs has what was stored on a launcher made again where it is needed.
func (ss *Membership) loseOutputs(l *state.Launcher, outputs map[scheduler.AttemptID]*state.Output) {
	ids := slices.Sorted(maps.Keys(outputs))
	var again []*state.Output
	for _, id := range ids {
		o := outputs[id]
		if o.Bundle.LastCommits != nil && o.Bundle.LastCommits[o.Group].Attempt == id {
			if !o.Bundle.LastCommits[o.Group].Lost {
				ss.step.Stats.OutputsLost++
				ss.jobs.OutputsLost(o.Bundle, o.Group, false)
				again = append(again, o)
			}
			continue
		}
		for _, r := range slices.Clone(o.Bundle.Attempts()) {
			if r.ID == o.BundleAttempt && r.Commits[o.Group] != nil { // of a gang that has not committed yet
				r.Lose("launcher " + l.Name + " was lost with what a finished group had stored")
				ss.dispatch.StopBundleAttempt(r, scheduler.Lost, r.Lost(), 0, 0)
			}
		}
	}
	for _, o := range again {
		if o.Bundle.Phase() == state.BundleFinished && o.Job.Phase() == state.JobRunning && o.Job.Needed(o.Bundle, o.Group) {
			ss.jobs.Reopen(o.Bundle)
		}
	}
}

// storeLost takes a launcher's word that it lost a stored output.
func (ss *Membership) storeLost(l *state.Launcher, id scheduler.AttemptID) {
	if o := l.Outputs[id]; o != nil {
		delete(l.Outputs, id)
		ss.loseOutputs(l, map[scheduler.AttemptID]*state.Output{id: o})
	}
}

// adoptOutputs keeps what a launcher's new life still has of the old one.
func (ss *Membership) adoptOutputs(l *state.Launcher, old map[scheduler.AttemptID]*state.Output, stored []*wire.Stored) {
	for _, s := range stored {
		id := scheduler.AttemptID(s.GetAttempt())
		if o := old[id]; o != nil && ss.stillKept(o, id) {
			l.Outputs[id] = o
			delete(old, id)
		}
	}
	ss.loseOutputs(l, old)
}

// stillKept says whether anybody counts on a stored output: losing the attempts
// of its launcher may have ended its job, of which bundles leave in slices, or its gang.
func (ss *Membership) stillKept(o *state.Output, id scheduler.AttemptID) bool {
	b := o.Bundle
	if ss.state.Bundles.Get(b.ID()) != b {
		return false
	}
	return b.LastCommits != nil && b.LastCommits[o.Group].Attempt == id && !b.LastCommits[o.Group].Lost ||
		slices.ContainsFunc(b.Attempts(), func(r *state.BundleAttempt) bool { return r.ID == o.BundleAttempt && r.Commits[o.Group] != nil })
}

// forgetLaunchers drops the names of launchers that were lost longest ago.
func (ss *Membership) forgetLaunchers() {
	for lost := ss.state.Launchers.Len() - ss.resources.Up(); lost > ss.step.Set.LaunchersKept; lost-- {
		for l := range ss.state.Launchers.All() {
			if !l.Up {
				ss.state.Launchers.Remove(l.ID)
				ss.state.NoteGone(l.ID)
				ss.resources.Forget(&l.Launcher)
				delete(ss.state.ByName, l.Name)
				break
			}
		}
	}
}

// Drain starts or ends a drain: what runs there goes on, nothing new starts.
func (ss *Membership) Drain(m *wire.DrainLauncher) {
	l := ss.state.ByName[m.GetName()]
	if l == nil {
		ss.step.Reply(m.GetClient(), 0, step.Invalid(wire.NoLauncher(m.GetName())))
		return
	}
	before := l.State()
	if !m.GetDrain() && l.Up && ss.resources.Readmit(&l.Launcher) {
		ss.events.NotifyExclusion(l)
		ss.step.Log(step.Info, "a launcher is excluded no more: somebody said so", "launcher", l.Name)
	}
	if l.Draining != m.GetDrain() {
		ss.resources.Drain(&l.Launcher, m.GetDrain())
		if l.Up {
			ss.policy.NotifyLauncher(l.ID, scheduler.LauncherDraining{At: ss.step.Now, Launcher: l.ID, Draining: l.Draining})
		}
	}
	ss.step.ReplyChanged(m.GetClient(), 0, before, l.State())
}
