package state

import "slices"

func (l *Launcher) frozen() *Launcher {
	f := *l
	f.Launcher = l.Clone()
	f.names, f.Outstanding = slices.Clone(l.names), l.Outstanding.Clone()
	f.Outputs = l.Outputs.clone() // of which the ids are written
	f.attempts = nil              // written with their jobs
	return &f
}

func (j *Job) frozen() *Job {
	f := *j
	f.attempts, f.dirtyStages = nil, nil // written with their bundles, and not at all
	f.RanOn.ids = slices.Clone(j.RanOn.ids)
	f.Stats, f.Notes.list = j.Stats.Clone(), slices.Clone(j.Notes.list)
	f.Stages = slices.Clone(j.Stages)
	for i := range f.Stages {
		f.Stages[i].Stage = j.Stages[i].Clone()
	}
	f.Inputs = j.Inputs.Clone()
	f.Dependencies.unmet = slices.Clone(j.Dependencies.unmet)
	f.Bundles = slices.Clone(j.Bundles)
	f.Ready.bundles = f.Bundles
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
		f.commits = slices.Clone(r.commits)
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

// Freeze turns this cluster into a copy of another.
func (st *Cluster) Freeze(of *Cluster) {
	st.ReservedIDs.list, st.Ended.list = slices.Clone(of.ReservedIDs.list), slices.Clone(of.Ended.list)
	st.PastRuns = of.PastRuns.clone()
	st.idleSince = of.idleSince
	st.Suspended.freeze(&of.Suspended)
	st.Launchers = of.Launchers.Clone((*Launcher).frozen)
	st.Jobs = of.Jobs.Clone((*Job).frozen)
	for name, u := range of.users {
		f := *u
		st.users[name] = &f
	}
}
