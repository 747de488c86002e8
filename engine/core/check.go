package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Check looks for what must never be: it recounts all that the core counts as it
// goes. It costs as much as there is state, and is for tests and simulations.
func (c *Core) Check() error {
	for _, id := range c.launchers.ids {
		if err := c.checkLauncher(c.launchers.get(id)); err != nil {
			return fmt.Errorf("launcher %d: %w", id, err)
		}
	}
	live := 0
	for _, id := range c.jobs.ids {
		j := c.jobs.get(id)
		live += len(j.attempts)
		if err := c.checkJob(j); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	if live != c.attempts.Len() {
		return fmt.Errorf("%d attempts live and the jobs have %d", c.attempts.Len(), live)
	}
	for _, id := range c.claims.ids {
		if err := c.checkClaim(c.claims.get(id)); err != nil {
			return fmt.Errorf("claim %d: %w", id, err)
		}
	}
	for r := range c.suspended.all() {
		if r.live == 0 || r.suspended == 0 {
			return fmt.Errorf("bundle attempt %d is listed as suspended and is not", r.id)
		}
	}
	return nil
}

// checkLauncher holds what is free, held and reserved against what there is.
func (c *Core) checkLauncher(l *launcher) error {
	if !l.up {
		if len(l.attempts) > 0 || len(l.holds) > 0 || len(l.outputs) > 0 {
			return fmt.Errorf("it is lost and has %d attempts, %d reservations, %d outputs", len(l.attempts), len(l.holds), len(l.outputs))
		}
		return nil
	}
	sum, memory := slices.Clone(l.free), l.memoryFree
	for _, f := range l.free {
		if f.Count < 0 {
			return fmt.Errorf("%d slots of kind %s are free", f.Count, f.Kind)
		}
	}
	if memory < 0 {
		return fmt.Errorf("%d bytes are free", memory)
	}
	suspended := 0
	for i, a := range l.attempts {
		if int(a.places[inLauncher]) != i || c.attempts.Get(a.id) != a {
			return fmt.Errorf("attempt %d is not where it should be", a.id)
		}
		if a.phase == attemptSuspended {
			suspended++
		}
		memory += a.memory
		if a.holds {
			sum.add(a.kind, a.slots)
		}
		if a.stop == nil && a.holds != (a.phase != attemptSuspended || a.resuming) {
			return fmt.Errorf("attempt %d holds its slots: %t, resumes: %t", a.id, a.holds, a.resuming)
		}
	}
	if suspended != l.suspended {
		return fmt.Errorf("%d attempts are suspended, counted as %d", suspended, l.suspended)
	}
	for _, h := range l.holds {
		memory += h.memory
		for _, s := range h.slots {
			if s.Count < 0 || h.memory < 0 {
				return fmt.Errorf("%d slots and %d bytes are reserved", s.Count, h.memory)
			}
			sum.add(s.Kind, s.Count)
		}
	}
	for _, s := range sum {
		if s.Count != l.slots.of(s.Kind) {
			return fmt.Errorf("%d slots of kind %s are free, held or reserved, and it has %d", s.Count, s.Kind, l.slots.of(s.Kind))
		}
	}
	if memory != l.memory {
		return fmt.Errorf("%d bytes are free, held or reserved, and it has %d", memory, l.memory)
	}
	return nil
}

func (c *Core) checkClaim(k *claim) error {
	if c.jobs.get(k.job) == nil {
		return fmt.Errorf("it is for %s, which is not there", k.job)
	}
	if c.now >= k.expires {
		return fmt.Errorf("it expired at %d, and it is %d", k.expires, c.now)
	}
	victims := 0
	for _, a := range c.attempts.All() {
		if a.claim == k.id {
			victims++
		}
	}
	if victims != k.victims {
		return fmt.Errorf("it waits for %d victims, and there are %d", k.victims, victims)
	}
	return nil
}

func (c *Core) checkJob(j *job) error {
	if j.phase == jobAsked {
		return nil
	}
	done := make([]int, len(j.stages))
	open := make([]int, len(j.stages))
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
		for g := range b.groups() {
			stage, _, _, _ := b.demand(g)
			if b.phase == bundleFinished {
				done[stage]++
			}
			for _, x := range b.nodes(g) {
				if b.phase != bundleFinished {
					open[j.plan.Node(x).Stage]++
				}
			}
		}
	}
	if unfinished != j.unfinished || ready != j.ready.count {
		return fmt.Errorf("%d unfinished and %d ready, counted as %d and %d", unfinished, ready, j.unfinished, j.ready.count)
	}
	for i := range j.plan.Graph.Stages {
		if s := &j.stages[i]; s.done != done[i] || s.open != open[i] {
			return fmt.Errorf("stage %q: %d groups done and %d nodes open, counted as %d and %d", s.name, done[i], open[i], s.done, s.open)
		}
	}
	if len(j.attempts) == 0 && ready == 0 && j.waitTill <= c.now && !c.overdue() && !j.unfinishedWork() && j.phase != jobEnding {
		return fmt.Errorf("nothing of it runs, nothing is ready, and it goes on (phase %d)", j.phase)
	}
	if err := j.checkCounts(); err != nil {
		return err
	}
	if j.unfinishedWork() != inSorted(c.busy, j.id) {
		return fmt.Errorf("a later step has to go on with it: %t, listed as that: %t", j.unfinishedWork(), !j.unfinishedWork())
	}
	if j.phase == jobLeaving {
		return nil
	}
	return c.checkConns(j)
}

func (c *Core) checkBundle(b *bundle) error {
	unmet := b.unmet
	recount := *b
	recount.countUnmet()
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
	case recount.unmet != unmet:
		return fmt.Errorf("%d inputs are unmet, counted as %d", recount.unmet, unmet)
	case grants > 1:
		return fmt.Errorf("%d attempts have the commit grant", grants)
	case b.phase == bundleReady && (unmet > 0 || len(b.runs) > 0):
		return fmt.Errorf("it is ready with %d inputs unmet and %d attempts", unmet, len(b.runs))
	case b.phase == bundleRunning && len(b.runs) == 0:
		return fmt.Errorf("it runs without an attempt")
	case b.phase == bundleWaiting && unmet == 0 && len(b.runs) == 0 && b.job.phase == jobRunning && b.index < b.job.opened:
		return fmt.Errorf("it waits for nothing")
	case b.twice != 0 && (b.phase != bundleRunning || len(b.runs) != 1):
		return fmt.Errorf("it is wanted twice while %s with %d attempts", b.phase, len(b.runs))
	}
	return nil
}

// checkConns recounts the writers that are there.
func (c *Core) checkConns(j *job) error {
	for i := range j.conns {
		n := &j.conns[i]
		for from := range n.Writers() {
			if !n.There(from) {
				continue
			}
			k := j.commitOf(graph.Node{Stage: int(j.plan.Connection(i).FromStage), Index: from})
			if k == nil {
				return fmt.Errorf("connection %d: the output of %d is there and nobody made it", i, from)
			}
			if l := c.launchers.get(k.launcher); j.plan.Connection(i).Store == "" && k.stored && (l == nil || !l.up || l.outputs[k.attempt] == nil) {
				return fmt.Errorf("connection %d: the output of %d counts as there, and launcher %d has none", i, from, k.launcher)
			}
		}
		if err := n.Check(func(from int, each func(reader int)) {
			r, list := j.plan.Readers(i, from)
			graph.Each(r, list, each)
		}); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return nil
}

// World is the state as a policy should see it after it was told all: what is
// held against a view. Offers are those that were told last.
func (c *Core) World() view.World {
	var w view.World
	for _, id := range c.launchers.ids {
		if l := c.launchers.get(id); l.up {
			load := c.toldLoad(l)
			w.Launchers = append(w.Launchers, view.WorldLauncher{
				ID: id, Draining: l.draining, Slots: l.slots, Memory: l.memory, Offer: l.told, CPULoad: load.cpu.part(), MemoryLoad: load.memory.part(),
			})
		}
	}
	for _, id := range c.jobs.ids {
		if j := c.jobs.get(id); j.phase != jobAsked {
			w.Jobs = append(w.Jobs, j.world())
		}
	}
	return w
}

func (j *job) world() view.WorldJob {
	w := view.WorldJob{ID: j.id, Pool: j.pool, Priority: j.priority, Stages: make([]view.Counts, len(j.stages))}
	for i := range j.bundles {
		b := &j.bundles[i]
		for g := range b.width() {
			stage, _, _, _ := b.demand(g)
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
			w.Twice = append(w.Twice, b.id)
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
			ID: a.id, Bundle: a.run.bundle.id, Group: a.group, Launcher: a.launcher.id, Speculative: a.run.speculative, State: state,
		})
	}
	return w
}
