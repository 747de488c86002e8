package outbound

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StatusReader returns the rows that changed in a step, and keeps the summaries of ended jobs. The
// manager answers requests outside the core, from these rows. The answers from the state itself are
// for simulations and tests, which compare the two.
type StatusReader struct {
	step      *step.Step
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
}

// Jobs lists the live jobs in order of id. With all, the ended ones that are still remembered
// precede them, the oldest first.
func (rd *StatusReader) Jobs(all bool) []*wire.JobSummary {
	var list []*wire.JobSummary
	if all {
		for _, e := range rd.state.Ended.All() {
			list = append(list, e.Status.Summary)
		}
	}
	for _, id := range rd.state.Jobs.IDs() {
		list = append(list, rd.state.Jobs.Get(id).Summary())
	}
	return list
}

// JobLives reports whether a job is live: it is pending admission, or was admitted and has not ended.
func (rd *StatusReader) JobLives(id scheduler.JobID) bool { return rd.state.Jobs.Get(id) != nil }

// JobStatus returns a job's status, with its attempts when requested: at most Settings.AttemptsKept
// ended ones, and all live ones. It returns false for an unknown job. The caller must not change
// the result.
func (rd *StatusReader) JobStatus(id scheduler.JobID, attempts bool) (*wire.JobStatus, bool) {
	if j := rd.state.Jobs.Get(id); j != nil {
		s := rd.statusOf(j)
		if attempts {
			s.Attempts = attemptStatus(j)
		}
		return s, true
	}
	for _, e := range rd.state.Ended.All() {
		if e.Status.Summary.Job == uint64(id) {
			return e.StatusWith(attempts), true
		}
	}
	return nil, false
}

// JobOfAttempt returns the job whose status shows an attempt; false when none does.
func (rd *StatusReader) JobOfAttempt(id scheduler.AttemptID) (scheduler.JobID, bool) {
	if a := rd.state.Attempts.Get(id); a != nil {
		return a.BundleAttempt.Bundle.Job.ID, true
	}
	for j := range rd.state.Jobs.All() {
		if j.Stats.Shows(id) {
			return j.ID, true
		}
	}
	for _, e := range rd.state.Ended.All() {
		if slices.ContainsFunc(e.Status.GetAttempts(), func(a *wire.AttemptStatus) bool { return a.GetAttempt() == uint64(id) }) {
			return scheduler.JobID(e.Status.Summary.Job), true
		}
	}
	return 0, false
}

// Launchers lists the launchers, including lost ones that are remembered, in order of id.
func (rd *StatusReader) Launchers() []*wire.LauncherStatus {
	var list []*wire.LauncherStatus
	for _, id := range rd.state.Launchers.IDs() {
		l := rd.state.Launchers.Get(id)
		excludedFor, until := l.Exclusion()
		list = append(list, &wire.LauncherStatus{
			ExcludedUntil: int64(until), ExcludedFor: jobNumbers(excludedFor),
			Launcher: uint64(l.ID), Name: l.Name, Host: l.Host, Rack: l.Rack, Slots: wireSlots(l.Slots()), Free: wireSlots(l.Startable()),
			Memory: l.Memory(), MemoryFree: l.FreeMemory(), Swap: l.Swap(), SwapFree: l.FreeSwap(), State: l.State(),
			Resources: wire.ResourceCounts(l.Countable()), ResourcesFree: wire.ResourceCounts(l.FreeCountable()),
			Suspended: uint32(l.Suspended()), Running: uint32(l.Running()),
		})
	}
	return list
}

func wireSlots(counts resources.Slots) []*wire.Slots {
	var list []*wire.Slots
	for _, s := range counts {
		list = append(list, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)})
	}
	return list
}

// LauncherInfo is the shell's data on a launcher.
type LauncherInfo struct {
	Launcher    scheduler.LauncherID
	Name        string
	Identity    string
	Incarnation uint64
	Up          bool
	DataAddress string
	HTTPAddress string
}

// Launcher returns a launcher by name; false when it is unknown.
func (rd *StatusReader) Launcher(name string) (LauncherInfo, bool) {
	l := rd.state.LauncherNamed(name)
	if l == nil {
		return LauncherInfo{}, false
	}
	return LauncherInfo{l.ID, l.Name, l.Identity(), l.Incarnation(), l.Up, l.DataAddress(), l.HTTPAddress()}, true
}

func jobNumbers(ids []scheduler.JobID) (list []uint64) {
	for _, id := range ids {
		list = append(list, uint64(id))
	}
	return list
}
