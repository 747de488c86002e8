package core

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Check looks for what must never be: it recounts all that the core counts as it
// goes. It costs as much as there is state, and is for tests and simulations.
func (c *Core) Check() error {
	for _, id := range c.launchers.IDs() {
		if err := c.checkLauncher(c.launchers.Get(id)); err != nil {
			return fmt.Errorf("launcher %d: %w", id, err)
		}
	}
	live := 0
	for _, id := range c.jobs.IDs() {
		j := c.jobs.Get(id)
		live += len(j.attempts)
		if err := c.checkJob(j); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	if live != c.attempts.Len() {
		return fmt.Errorf("%d attempts live and the jobs have %d", c.attempts.Len(), live)
	}
	if err := c.capacity.Check(c.step.Now, c.holdings); err != nil {
		return err
	}
	for id := range c.capacity.JobsReserved() {
		if c.jobs.Get(id) == nil {
			return fmt.Errorf("something is reserved for %s, which is not there", id)
		}
	}
	for r := range c.suspended.All() {
		if r.live == 0 || r.suspended == 0 {
			return fmt.Errorf("bundle attempt %d is listed as suspended and is not", r.id)
		}
	}
	return nil
}

// holdings are those of the attempts that live on a launcher.
func (c *Core) holdings(id scheduler.LauncherID) iter.Seq[*capacity.Holding] {
	return func(yield func(*capacity.Holding) bool) {
		for _, a := range c.launchers.Get(id).attempts {
			if !yield(&a.Holding) {
				return
			}
		}
	}
}

// checkLauncher holds what a launcher runs against what is known of it.
func (c *Core) checkLauncher(l *launcher) error {
	if !l.Up && len(l.attempts)+len(l.outputs) > 0 {
		return fmt.Errorf("it is lost and has %d attempts and %d outputs", len(l.attempts), len(l.outputs))
	}
	suspended, waits := 0, false
	for i, a := range l.attempts {
		waits = waits || a.pending.Waits()
		if int(a.places[inLauncher]) != i || c.attempts.Get(a.id) != a {
			return fmt.Errorf("attempt %d is not where it should be", a.id)
		}
		if a.phase == attemptSuspended {
			suspended++
		}
		if a.stop == nil && a.HasSlots != (a.phase != attemptSuspended || a.resuming) {
			return fmt.Errorf("attempt %d holds its slots: %t, resumes: %t", a.id, a.HasSlots, a.resuming)
		}
	}
	if err := l.line.Check(waits); l.Up && err != nil {
		return err
	}
	if suspended != l.suspended {
		return fmt.Errorf("%d attempts are suspended, counted as %d", suspended, l.suspended)
	}
	return nil
}

func (c *Core) checkJob(j *job) error {
	if j.phase == jobAsked {
		return nil
	}
	ready, unfinished := 0, 0
	for i := range j.bundles {
		b := &j.bundles[i]
		if err := c.checkBundle(b); err != nil {
			return fmt.Errorf("bundle %d: %w", b.id, err)
		}
		if b.phase == bundleReady {
			ready++
		}
		if b.last() {
			continue
		}
		if b.phase != bundleFinished {
			unfinished++
		}
	}
	if unfinished != j.unfinished || ready != j.ready.count {
		return fmt.Errorf("%d unfinished and %d ready, counted as %d and %d", unfinished, ready, j.unfinished, j.ready.count)
	}
	if len(j.attempts) == 0 && ready == 0 && j.waitTill <= c.step.Now && !c.overdue() && !j.unfinishedWork() && j.phase != jobEnding {
		return fmt.Errorf("nothing of it runs, nothing is ready, and it goes on (phase %d)", j.phase)
	}
	if err := j.checkCounts(); err != nil {
		return err
	}
	if j.unfinishedWork() != sorted.Has(c.busy, j.id) {
		return fmt.Errorf("a later step has to go on with it: %t, listed as that: %t", j.unfinishedWork(), !j.unfinishedWork())
	}
	if j.phase == jobLeaving {
		return nil
	}
	return c.checkInputs(j)
}

func (c *Core) checkBundle(b *bundle) error {
	if err := b.job.inputs.CheckGate(&b.gate, b.allNodes()); err != nil {
		return err
	}
	grants := 0
	for _, r := range b.runs {
		if r.granted {
			grants++
		}
		if r.live == 0 {
			return fmt.Errorf("bundle attempt %d has no live member and is there", r.id)
		}
		if r.rests() && r.suspended == 0 {
			return fmt.Errorf("bundle attempt %d waits to be resumed and is not listed as that", r.id)
		}
	}
	if x := b.oneRun[0]; x != nil && !slices.Contains(b.runs, x) {
		return fmt.Errorf("it holds bundle attempt %d, which ended", x.id)
	}
	switch {
	case grants > 1:
		return fmt.Errorf("%d attempts have the commit grant", grants)
	case b.phase == bundleReady && (!b.gate.Open() || len(b.runs) > 0):
		return fmt.Errorf("it is ready with %d inputs unmet and %d attempts", b.gate.Unmet(), len(b.runs))
	case b.phase == bundleRunning && len(b.runs) == 0:
		return fmt.Errorf("it runs without an attempt")
	case b.phase == bundleWaiting && b.gate.Open() && len(b.runs) == 0 && b.job.phase == jobRunning && b.index < b.job.opened:
		return fmt.Errorf("it waits for nothing")
	case b.twice != 0 && (b.phase != bundleRunning || len(b.runs) != 1):
		return fmt.Errorf("it is wanted twice while %s with %d attempts", b.phase, len(b.runs))
	}
	return nil
}

// checkInputs holds the outputs that are there against who made them.
func (c *Core) checkInputs(j *job) error {
	return j.inputs.Check(func(out inputs.Key) error {
		k := j.commitOf(j.inputs.Writer(out))
		if k == nil {
			return fmt.Errorf("connection %d: the output of %d is there and nobody made it", out.Conn, out.From)
		}
		if l := c.launchers.Get(k.launcher); j.plan.Connection(int(out.Conn)).Store == "" && k.stored && (l == nil || !l.Up || l.outputs[k.attempt] == nil) {
			return fmt.Errorf("connection %d: the output of %d counts as there, and launcher %d has none", out.Conn, out.From, k.launcher)
		}
		return nil
	})
}

// World is the state as a policy should see it after it was told all: what is
// held against a view. Offers are those that were told last.
func (c *Core) World() view.World {
	var w view.World
	for _, id := range c.launchers.IDs() {
		if l := c.launchers.Get(id); l.Up {
			load := c.toldLoad(l)
			w.Launchers = append(w.Launchers, view.WorldLauncher{
				ID: id, Draining: l.Draining, Slots: l.Slots(), Memory: l.Memory(), Offer: l.Told(), CPULoad: load.CPU(), MemoryLoad: load.Memory(),
			})
		}
	}
	for _, id := range c.jobs.IDs() {
		if j := c.jobs.Get(id); j.phase != jobAsked {
			w.Jobs = append(w.Jobs, j.world())
		}
	}
	return w
}

func (j *job) world() view.WorldJob {
	w := view.WorldJob{ID: j.id, Pool: j.pool, Priority: j.priority, Stages: make([]view.Counts, len(j.stages))}
	for i := range j.bundles {
		b := &j.bundles[i]
		for g := range b.Width() {
			stage := b.stageOf(g)
			switch b.phase {
			case bundleRunning:
				w.Stages[stage].Running++
			case bundleFinished:
				w.Stages[stage].Finished++
			default:
				w.Stages[stage].Waiting++
			}
		}
		if b.phase == bundleReady {
			w.Ready = append(w.Ready, b.id)
		}
		if b.twice != 0 {
			w.SpeculationOffered = append(w.SpeculationOffered, b.id)
		}
	}
	for _, a := range j.attempts.sorted() {
		state := view.Assigned
		switch a.phase {
		case attemptRunning:
			state = view.Running
		case attemptSuspended:
			state = view.Suspended
		}
		w.Attempts = append(w.Attempts, view.WorldAttempt{
			ID: a.id, Bundle: a.run.bundle.id, Group: a.group, Launcher: a.launcher.ID, Speculative: a.run.speculative, State: state,
			Protected: a.run.bundle.protected,
		})
	}
	return w
}
