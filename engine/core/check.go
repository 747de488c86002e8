package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Check checks the invariants: it recounts everything that the core counts incrementally. Its cost
// is proportional to the state; it is for tests and simulations.
func (c *Core) Check() error {
	if err := c.state.Cluster.Check(); err != nil {
		return err
	}
	if err := c.state.Schedules.Check(); err != nil {
		return err
	}
	return c.state.Resources.Check(c.state.Step.Now, c.state.Cluster.Holdings)
}

// World is the state that a policy should have after all events. A test compares it with the
// policy's view. Offers are the last sent ones.
func (c *Core) World() view.World {
	var w view.World
	for _, id := range c.state.Cluster.Launchers.IDs() {
		if l := c.state.Cluster.Launchers.Get(id); l.Up {
			load := c.outbound.Events.NotifiedLoad(l)
			w.Launchers = append(w.Launchers, view.WorldLauncher{
				ID: id, Draining: l.Draining, Excluded: l.Excluded, Slots: l.Slots(), Memory: l.Memory(), Swap: l.Swap(), Resources: l.Countable(), Offer: l.LastOffer(), CPULoad: load.CPU(), MemoryLoad: load.Memory(),
			})
		}
	}
	held := c.state.Cluster.UsersKnown()
	for _, id := range c.state.Cluster.Jobs.IDs() {
		if j := c.state.Cluster.Jobs.Get(id); j.KnownToPolicy() {
			wj := worldOf(j)
			wj.UserLimit, wj.UserHolds = j.User().Limit, held[j.User()]
			w.Jobs = append(w.Jobs, wj)
		}
	}
	return w
}

// worldOf is the state of a job that a policy should have.
func worldOf(j *state.Job) view.WorldJob {
	w := view.WorldJob{ID: j.ID, Pool: j.Submission.Pool(), Priority: j.Submission.Priority(), TimeLimit: j.TimeLimit(), Deadline: j.Deadline(), Stages: make([]view.Counts, len(j.Plan.Graph.Stages))}
	for i := range j.Plan.Bundles {
		b := &j.Bundles[i]
		for g := range b.Width() {
			stage := b.StageOf(g)
			switch b.Phase() {
			case state.BundleUnused:
			case state.BundleRunning:
				w.Stages[stage].Running++
			case state.BundleFinished, state.BundleGivenUp:
				w.Stages[stage].Finished++
			default:
				w.Stages[stage].Waiting++
			}
		}
		if b.Phase() == state.BundleReady {
			w.Ready = append(w.Ready, b.ID())
		}
		if b.SpeculationOffered() != 0 {
			w.SpeculationOffered = append(w.SpeculationOffered, b.ID())
		}
		if b.Phase() == state.BundleReady || b.SpeculationOffered() != 0 {
			if on := state.Avoided(b); len(on) > 0 {
				w.Avoid = append(w.Avoid, view.WorldAvoid{Bundle: b.ID(), Launchers: on})
			}
		}
	}
	for _, a := range j.Attempts().Sorted() {
		if a.BundleAttempt.Bundle.Last() {
			continue
		}
		where := view.Assigned
		switch a.Phase() {
		case phase.Running:
			where = view.Running
		case phase.Suspended:
			where = view.Suspended
		}
		w.Attempts = append(w.Attempts, view.WorldAttempt{
			ID: a.ID, Bundle: a.BundleAttempt.Bundle.ID(), Group: a.Group, Launcher: a.Launcher.ID, Speculative: a.BundleAttempt.Speculative(), State: where,
			Ahead:      a.HeldAhead(),
			Stopping:   a.Stop() != nil,
			Resuming:   a.Resuming(),
			Suspending: a.Suspending(),
			Protected:  a.BundleAttempt.Bundle.Protection.Until(),
		})
	}
	return w
}
