package cluster

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Snapshot tells the live world by the events that made it, in order. With a
// checkpoint, since is the Sequence at which it was taken.
func (c *Cluster) Snapshot(checkpoint *scheduler.Checkpoint, since uint64) scheduler.Snapshot {
	var all []emission
	for _, l := range c.there() {
		all = append(all, l.history...)
	}
	for _, j := range c.waiting() {
		all = append(all, j.history...)
	}
	for _, j := range c.live() {
		all = append(all, j.history...)
		for _, b := range j.bundles {
			all = append(all, b.history...)
		}
	}
	for _, j := range c.live() {
		for _, b := range j.bundles {
			for _, r := range b.runs {
				if r.leaves() {
					all = append(all, r.stillLeaving())
				}
			}
		}
	}
	all = append(all, c.open()...)
	slices.SortFunc(all, func(a, b emission) int { return cmp.Compare(a.seq, b.seq) })
	s := scheduler.Snapshot{Now: c.Now(), Checkpoint: checkpoint}
	for _, t := range all {
		s.Events = append(s.Events, t.event)
		if t.seq <= since {
			s.Since++
		}
	}
	if checkpoint == nil {
		s.Since = 0
	}
	return s
}

// World returns the state in the view's form, with the offers last told.
func (c *Cluster) World() view.World {
	var w view.World
	for _, l := range c.there() {
		w.Launchers = append(w.Launchers, view.WorldLauncher{
			ID: l.id, Draining: l.draining, Excluded: l.excluded, Slots: l.info.Slots, Memory: l.info.Memory, Offer: c.lastOffer(l), CPULoad: l.told.CPU, MemoryLoad: l.told.Memory,
		})
	}
	for _, j := range c.live() {
		wj := view.WorldJob{ID: j.id(), Pool: j.info.Pool, Priority: j.info.Priority, Stages: make([]view.Counts, len(j.info.Stages))}
		for _, b := range j.bundles {
			worldBundle(&wj, b)
		}
		slices.SortFunc(wj.Attempts, func(a, b view.WorldAttempt) int { return cmp.Compare(a.ID, b.ID) })
		w.Jobs = append(w.Jobs, wj)
	}
	return w
}

func worldBundle(j *view.WorldJob, b *bundle) {
	switch {
	case b.state == ready:
		j.Ready = append(j.Ready, b.id)
	case b.speculation:
		j.SpeculationOffered = append(j.SpeculationOffered, b.id)
	}
	for i := range b.groups {
		counts := &j.Stages[b.groups[i].Stage]
		switch {
		case b.state == launched:
			counts.Running++
		case b.state == finished:
			counts.Finished++
		case !b.late():
			counts.Waiting++
		}
	}
	for _, r := range b.runs {
		for _, a := range r.attempts {
			j.Attempts = append(j.Attempts, view.WorldAttempt{
				ID: a.id, Bundle: b.id, Group: a.group, Launcher: a.on.id, Speculative: r.second,
				Protected: b.protected,
				State:     [...]view.AttemptState{view.Assigned, view.Running, view.Suspended, view.Suspended}[a.state],
			})
		}
	}
}

// SnapshotAsOf gives a snapshot a checkpoint taken after all of it.
func (c *Cluster) SnapshotAsOf(s scheduler.Snapshot, checkpoint *scheduler.Checkpoint) scheduler.Snapshot {
	s.Checkpoint, s.Since = checkpoint, len(s.Events)
	return s
}
