package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/sorted"
)

// What a piece of long work counts for in Settings.StepWork: about as many
// microseconds.
const (
	workOpen   = 3 // to offer a bundle of a job that starts
	workClose  = 1 // to look at a bundle of a job that ends
	workStop   = 4 // to stop an attempt, or to tell a launcher that a job is over
	workDecide = 4 // to apply a decision
	workTimer  = 4
	workGather = 2 // to tell of a bundle, a job or a launcher in a snapshot
)

// noteWork keeps the list of the jobs that later steps have to go on with.
func (c *Core) noteWork(j *job) {
	if j.unfinishedWork() {
		c.busy = sorted.Add(c.busy, j.id)
	} else if i, found := slices.BinarySearch(c.busy, j.id); found {
		c.busy = slices.Delete(c.busy, i, i+1)
	}
}

// unfinishedWork says whether a later step has to go on with a job.
func (j *job) unfinishedWork() bool {
	switch j.phase {
	case jobRunning:
		return j.opened < len(j.plan.Bundles) || j.inputs.Telling()
	case jobEnding:
		return j.closed < len(j.bundles)
	}
	return j.phase == jobLeaving
}

// knows says whether a bundle is among those that are known, and not among those that
// are gone again.
func (j *job) knows(b *bundle) bool {
	switch {
	case j.phase == jobAsked, j.phase == jobLeaving && b.index < j.closed:
		return false
	}
	return b.last() || b.index < j.opened
}
