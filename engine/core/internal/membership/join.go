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

// Join handles a launcher's first or repeated join.
func (ms *Membership) Join(m *wire.Join) {
	l := ms.state.LauncherNamed(m.GetName())
	if why, afresh := ms.joinRefused(l, m); why != "" {
		ms.step.Emit(step.Welcome{Name: m.GetName(), Incarnation: m.GetIncarnation(), Term: ms.step.Term, Refused: why, Afresh: afresh})
		return
	}
	has := inventory{m.Attempts, m.Stored, m.Jobs, scheduler.AttemptID(m.Seen)}
	if l != nil && l.Up && l.Incarnation() == m.Incarnation {
		ms.lookForLoss(l, m)
		l.Reconnect(m)
		ms.step.Emit(step.Welcome{Name: l.Name, Incarnation: l.Incarnation(), Term: ms.step.Term, Launcher: l.ID, Assigned: assigned(l)})
		ms.takeInventory(l, has)
		return
	}
	var kept map[scheduler.AttemptID]*state.Output
	if l != nil && l.Up {
		// A new incarnation joined before the old one was missed: its stored outputs may still
		// exist.
		kept = l.Outputs.TakeAll()
		ms.loseLauncher(l, rejoinReason(m), false)
		l = ms.state.LauncherNamed(m.Name) // its name may have exceeded the bound of remembered names
	}
	if l == nil {
		l, kept = ms.state.AddLauncher(ms.ids.NextLauncher(), m.Name), nil
	}
	ms.lookForLoss(l, m)
	ms.comeUp(l, m)
	ms.adoptOutputs(l, kept, m.Stored)
	ms.takeInventory(l, has)
}

// assigned lists the live attempts on a launcher from the core's state: a launcher's own claims
// give it no right to a job.
func assigned(l *state.Launcher) []step.Assigned {
	list := make([]step.Assigned, 0, len(l.Attempts()))
	for _, a := range l.Attempts().Sorted() {
		j := a.BundleAttempt.Bundle.Job
		list = append(list, step.Assigned{Attempt: a.ID, Job: j.ID, Program: j.Spec.GetProgram(), Plan: j.Spec.GetPlan()})
	}
	return list
}

// joinRefused returns why a launcher may not join, and whether it may as a new incarnation. A name
// belongs to the data folder of the launcher that is up under it. When that launcher is lost
// another folder may take the name; incarnations are compared within one folder only, so none is
// used up for good.
func (ms *Membership) joinRefused(l *state.Launcher, m *wire.Join) (why string, afresh bool) {
	own := l != nil && (l.Identity() == "" || l.Identity() == m.GetIdentity())
	switch {
	case m.GetName() == "" || len(m.GetName()) > ms.step.Set.Graph.NameBytes:
		why = fmt.Sprintf("a launcher's name has 1 to %d bytes: name it", ms.step.Set.Graph.NameBytes)
	case m.GetMemory() < 0:
		why = "its memory is negative: give it in bytes, 0 or more"
	case m.GetSwap() < 0:
		why = "its swap is negative: give it in bytes, 0 or more"
	case slices.ContainsFunc(m.GetSlots(), func(s *wire.Slots) bool { return s.GetKind() == "" || s.GetCount() > resources.SlotsMax }):
		why = fmt.Sprintf("a kind of its slots has no name, or more than %d slots: name kinds and count slots", resources.SlotsMax)
	case wire.CheckResources(m.GetResources()) != nil:
		why = fmt.Sprintf("it declares %v", wire.CheckResources(m.GetResources()))
	case l != nil && l.Up && !own:
		why = fmt.Sprintf("a launcher of that name on host %s has not been lost yet: stop one of the two, or give them different names", l.Host)
	case l != nil && !l.Up && m.GetIncarnation() == l.Incarnation():
		why, afresh = "this launcher was given up: it must drop all it has and join as a new incarnation", true
	case own && m.GetIncarnation() < l.Incarnation():
		why = "a newer life of this launcher joined already: stop one of the two, or give them different names"
	case (l == nil || !l.Up) && ms.resources.Launchers.Up() >= ms.step.Set.LaunchersMax:
		why = fmt.Sprintf("%d launchers are up, which is the limit", ms.resources.Launchers.Up())
	}
	return why, afresh
}

func (ms *Membership) comeUp(l *state.Launcher, m *wire.Join) {
	ms.state.BringUp(l, m)
	ms.step.Emit(step.Welcome{Name: l.Name, Incarnation: l.Incarnation(), Term: ms.step.Term, Launcher: l.ID})
	ms.policy.NotifyLauncher(l.ID, l.JoinedEvent())
	if l.Draining {
		ms.policy.NotifyLauncher(l.ID, scheduler.LauncherDraining{At: ms.step.Now, Launcher: l.ID, Draining: true})
	}
}

// LauncherLost handles the shell's report that a launcher is lost.
func (ms *Membership) LauncherLost(m *wire.LauncherLost) {
	l := ms.state.Launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	if l == nil || !l.Up || l.Incarnation() != m.GetIncarnation() {
		return
	}
	ms.loseLauncher(l, m.GetReason(), m.GetLeft())
}

// afterBytesMax bounds a launcher's text on its earlier incarnation's end.
const afterBytesMax = 512

// rejoinReason is the reason why a launcher that is up joins as another incarnation.
func rejoinReason(m *wire.Join) string {
	if after := m.GetAfter(); after != "" {
		return strings.ToValidUTF8(after[:min(len(after), afterBytesMax)], "")
	}
	return "its process was started again"
}

// loseLauncher gives a launcher up: its attempts and stored outputs are lost. A launcher that left
// was stopped by a person, and counts for no alert.
func (ms *Membership) loseLauncher(l *state.Launcher, reason string, left bool) {
	ms.policy.NotifyLauncher(l.ID, scheduler.LauncherLost{At: ms.step.Now, Launcher: l.ID, Reason: reason})
	ms.resources.Lose(&l.Launcher)
	if left {
		ms.step.Log(step.Info, "a launcher left", "launcher", l.Name, "reason", reason)
		ms.step.Stats.LaunchersLeft++
	} else {
		ms.step.Log(step.Warn, "a launcher was lost", "launcher", l.Name, "reason", reason)
		ms.step.Stats.LaunchersLost++
	}
	for _, a := range l.Attempts().Sorted() {
		if a.Phase() != phase.Ended { // it may have ended with an earlier one
			ms.attempts.Lose(a, fmt.Sprintf("launcher %s was lost: %s", l.Name, reason))
		}
	}
	ms.loseOutputs(l, l.TakeDown())
	ms.forgetLaunchers()
}

// loseOutputs makes the outputs stored on a launcher again where they are needed.
func (ms *Membership) loseOutputs(l *state.Launcher, outputs map[scheduler.AttemptID]*state.Output) {
	ids := slices.Sorted(maps.Keys(outputs))
	var again []*state.Output
	for _, id := range ids {
		o := outputs[id]
		if o.Bundle.LastCommits() != nil && o.Bundle.LastCommits()[o.Group].Attempt == id {
			if !o.Bundle.LastCommits()[o.Group].Lost {
				ms.step.Stats.OutputsLost++
				ms.jobs.OutputsLost(o.Bundle, o.Group, false)
				again = append(again, o)
			}
			continue
		}
		for _, r := range slices.Clone(o.Bundle.Attempts()) {
			if r.ID == o.BundleAttempt && r.Commits()[o.Group] != nil { // a gang that has not committed yet
				r.Lose("launcher " + l.Name + " was lost with what a finished group had stored")
				ms.dispatch.StopBundleAttempt(r, scheduler.Lost, r.Lost(), 0)
			}
		}
	}
	for _, o := range again {
		if o.Bundle.Phase() == state.BundleFinished && o.Job.Phase() == state.JobRunning && o.Job.Needed(o.Bundle, o.Group) {
			ms.jobs.Reopen(o.Bundle)
		}
	}
}

// storeLost handles a launcher's report that it lost a stored output.
func (ms *Membership) storeLost(l *state.Launcher, id scheduler.AttemptID) {
	if o := l.Outputs.Get(id); o != nil {
		l.Outputs.Drop(id)
		ms.loseOutputs(l, map[scheduler.AttemptID]*state.Output{id: o})
	}
}

// adoptOutputs keeps the old incarnation's outputs that a launcher's new incarnation still has.
func (ms *Membership) adoptOutputs(l *state.Launcher, old map[scheduler.AttemptID]*state.Output, stored []*wire.Stored) {
	for _, s := range stored {
		id := scheduler.AttemptID(s.GetAttempt())
		if o := old[id]; o != nil && ms.stillKept(o, id) {
			l.Outputs.Store(id, o)
			delete(old, id)
		}
	}
	ms.loseOutputs(l, old)
}

// stillKept reports whether a stored output is still needed: the loss of its launcher's attempts
// may have ended its job, whose bundles are removed in slices, or its gang.
func (ms *Membership) stillKept(o *state.Output, id scheduler.AttemptID) bool {
	b := o.Bundle
	if ms.state.Bundles.Get(b.ID()) != b {
		return false
	}
	return b.LastCommits() != nil && b.LastCommits()[o.Group].Attempt == id && !b.LastCommits()[o.Group].Lost ||
		slices.ContainsFunc(b.Attempts(), func(r *state.BundleAttempt) bool { return r.ID == o.BundleAttempt && r.Commits()[o.Group] != nil })
}

// forgetLaunchers drops the names of the launchers that were lost longest ago.
func (ms *Membership) forgetLaunchers() {
	for lost := ms.state.Launchers.Len() - ms.resources.Launchers.Up(); lost > ms.step.Set.LaunchersKept; lost-- {
		for l := range ms.state.Launchers.All() {
			if !l.Up {
				ms.state.ForgetLauncher(l)
				break
			}
		}
	}
}

// Drain starts or ends a drain: running work continues, nothing new starts.
func (ms *Membership) Drain(m *wire.DrainLauncher) {
	l := ms.state.LauncherNamed(m.GetName())
	if l == nil {
		ms.step.Reply(m.GetClient(), 0, step.Invalid(wire.NoLauncher(m.GetName())))
		return
	}
	before := l.State()
	if !m.GetDrain() && l.Up && ms.resources.Exclusions.Readmit(&l.Launcher) {
		ms.events.NotifyExclusion(l)
		ms.step.Log(step.Info, "a launcher is excluded no more: somebody said so", "launcher", l.Name)
	}
	if l.Draining != m.GetDrain() {
		ms.resources.Drain(&l.Launcher, m.GetDrain())
		ms.dispatch.WithdrawAhead(l, "its launcher is draining")
		if l.Up {
			ms.policy.NotifyLauncher(l.ID, scheduler.LauncherDraining{At: ms.step.Now, Launcher: l.ID, Draining: l.Draining})
		}
	}
	ms.step.ReplyChanged(m.GetClient(), 0, before, l.State())
}
