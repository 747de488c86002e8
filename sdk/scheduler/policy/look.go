package policy

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Look is the cluster, the options and the state, to be read.
type Look[O, S any] struct{ driver *driver[O, S] }

// Options are the settings in force.
func (l Look[O, S]) Options() O { return l.driver.options }

// State is the policy's own memory. Only a Pass may change it.
func (l Look[O, S]) State() *S { return &l.driver.state }

// Environment is what surrounds the policy, such as the period of heartbeats and a seed.
func (l Look[O, S]) Environment() scheduler.Environment { return l.driver.env }

// View is the mirror of the cluster. A Look must not change it; what a Pass takes in it is taken until the pass ends.
func (l Look[O, S]) View() *view.View { return &l.driver.view }

// Now is the manager's time at the last round.
func (l Look[O, S]) Now() scheduler.Time { return l.driver.view.Now() }

// Jobs returns the live jobs in order of submission. The slice is the caller's.
func (l Look[O, S]) Jobs() []*view.Job { return slices.Clone(l.driver.view.Jobs()) }

// Job returns a live job, or nil.
func (l Look[O, S]) Job(id scheduler.JobID) *view.Job { return l.driver.view.Job(id) }

// Leaving returns the attempts that are being stopped, each with the job that it is stopped for. Those that the running
// pass stops are not among them.
func (l Look[O, S]) Leaving() preemption.Leaving { return l.driver.leaving }

// Coming reports whether slots are coming for a job: some are reserved for it, or attempts are being stopped for it.
// A policy that preempts asks for no more meanwhile.
func (l Look[O, S]) Coming(j *view.Job) bool {
	if l.driver.view.Capacity.Reserved(j.ID()) {
		return true
	}
	forJob := func(x leaver) bool { return x.For == j.ID() }
	return slices.ContainsFunc(l.driver.leaving, forJob) || slices.ContainsFunc(l.driver.stopping, forJob)
}
