package state

import (
	"maps"
	"slices"
)

func (l *Launcher) frozen() *Launcher {
	f := *l
	f.Launcher = l.Clone()
	f.Names, f.Outstanding = slices.Clone(l.Names), l.Outstanding.Clone()
	f.Outputs = maps.Clone(l.Outputs) // of which the ids are written
	f.Attempts = nil                  // written with their jobs
	return &f
}

func (j *Job) frozen() *Job {
	f := *j
	f.Attempts, f.dirtyStages = nil, nil // written with their bundles, and not at all
	f.RanOn = slices.Clone(j.RanOn)
	f.Stats, f.notes = j.Stats.Clone(), slices.Clone(j.notes)
	f.Stages = slices.Clone(j.Stages)
	for i := range f.Stages {
		f.Stages[i].Stage = j.Stages[i].Clone()
	}
	f.Inputs = j.Inputs.Clone()
	f.Bundles = slices.Clone(j.Bundles)
	for i := range f.Bundles {
		b := &f.Bundles[i]
		if len(b.Attempts()) > 0 {
			b.attempts = frozenRuns(b.attempts)
		}
	}
	return &f
}

func frozenRuns(runs []*BundleAttempt) []*BundleAttempt {
	list := make([]*BundleAttempt, len(runs))
	for i, r := range runs {
		f := *r
		f.Commits = slices.Clone(r.Commits)
		f.Attempts = make([]*Attempt, len(r.Attempts))
		for k, a := range r.Attempts {
			f.Attempts[k] = a.frozen()
		}
		list[i] = &f
	}
	return list
}

func (a *Attempt) frozen() *Attempt {
	f := *a
	f.Reads = a.Reads.Clone()
	return &f
}

// Freeze makes it the state that another is in, of which it stays the copy.
func (st *Cluster) Freeze(of *Cluster) {
	st.ReservedIDs, st.Ended = slices.Clone(of.ReservedIDs), slices.Clone(of.Ended)
	st.Suspended = of.Suspended.Clone(func(r *BundleAttempt) *BundleAttempt { return r }) // of which the ids are written
	st.Launchers = of.Launchers.Clone((*Launcher).frozen)
	st.Jobs = of.Jobs.Clone((*Job).frozen)
}
