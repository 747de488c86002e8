package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/outputs"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// An input of a bundle is a pair of one of its nodes and a file connection into
// that node's stage. It is open when enough of its writers are there: all of
// them, or the share that the connection's slow-start says. All readers of an
// all-to-all connection have the same writers, so they share one count, and a
// writer's end costs each of them nothing until the count reaches the number
// that opens.

// newConnection is the state of a file connection of which nothing was written.
func newConnection(p *graph.Expanded, c int) outputs.Connection {
	writers, readers := p.Sizes(c)
	return outputs.New(writers, readers, p.Connection(c).Pattern == wire.Pattern_PATTERN_ALL_TO_ALL)
}

// opensAt returns how many of a reader's writers open its input.
func (j *job) opensAt(c, fanIn int, late bool) int {
	share := j.plan.Connection(c).SlowStart
	if share == 0 || late || fanIn == 0 {
		return fanIn
	}
	n := int(float64(share * float64(fanIn)))
	if float64(n) < float64(share*float64(fanIn)) {
		n++
	}
	return min(max(n, 1), fanIn)
}

// countUnmet counts a bundle's inputs that are not open.
func (b *bundle) countUnmet() {
	b.unmet = 0
	j := b.job
	for i := range b.groups() {
		for _, x := range b.nodes(i) {
			n := j.plan.Node(x)
			for _, c := range j.into[n.Stage] {
				fanIn := j.plan.FanIn(int(c), n.Index)
				if j.conns[c].Told(n.Index) < j.opensAt(int(c), fanIn, b.late) {
					b.unmet++
				}
			}
		}
	}
}

// storedOutput notes that a writer's output is there, in the place of an earlier
// one if old is not nil, and opens what opens by it.
func (c *Core) storedOutput(j *job, conn, from int, size int64, perReader []int64, where scheduler.LauncherID, old *commit) {
	before := scheduler.LauncherID(0)
	if old != nil {
		before = old.launcher
	}
	if j.conns[conn].Put(from, size, perReader, where, before) {
		c.count(j, conn, from, +1)
	}
}

// lostOutput notes that a writer's output is gone, and closes what closes by it.
func (c *Core) lostOutput(j *job, conn, from int, where scheduler.LauncherID) {
	j.conns[conn].Lose(from, where)
	c.count(j, conn, from, -1)
}

// count adds a writer, or takes one away, and opens or closes inputs.
func (c *Core) count(j *job, conn, from, delta int) {
	n := &j.conns[conn]
	base := j.plan.Connection(conn).ToStage
	if !n.All() {
		r, list := j.plan.Readers(conn, from)
		graph.Each(r, list, func(reader int) {
			old, now := n.Count(reader, delta)
			c.crossed(j, conn, int(base), reader, j.plan.FanIn(conn, reader), old, now)
		})
		return
	}
	early, full := j.opensAt(conn, n.Writers(), false), j.opensAt(conn, n.Writers(), true)
	if high := max(n.Done(), n.Done()+delta); high != early && high != full {
		n.CountAll(delta, false)
		return // no input opens or closes at this count
	}
	if n.Telling() { // of a crossing before this one
		c.tellReaders(j, conn, n.Readers())
	}
	n.CountAll(delta, true)
	j.telling++
	c.tellReaders(j, conn, 0)
}

// tellReaders opens or closes the inputs of an all-to-all connection's readers: so many
// at least, and as many as the step may do.
func (c *Core) tellReaders(j *job, conn, least int) {
	n := &j.conns[conn]
	base := int(j.plan.Connection(conn).ToStage)
	for n.ToldOf() < least || n.ToldOf() == n.Readers() || c.spend(workOpen) {
		reader, old, now, yes := n.Tell()
		if !yes {
			j.telling--
			break
		}
		c.crossed(j, conn, base, reader, n.Writers(), old, now)
	}
	if j.phase == jobRunning {
		c.noteWork(j)
	}
}

// tellAllReaders goes on with all connections of which readers are being told.
func (c *Core) tellAllReaders(j *job) {
	for conn := 0; j.telling > 0 && conn < len(j.conns) && c.work > 0; conn++ {
		if j.conns[conn].Telling() {
			c.tellReaders(j, conn, 0)
		}
	}
}

// crossed opens or closes one input if the count went over its mark.
func (c *Core) crossed(j *job, conn, stage, reader, fanIn, old, now int) {
	b := &j.bundles[j.plan.BundleOf(j.plan.Number(graph.Node{Stage: stage, Index: reader}))]
	mark := j.opensAt(conn, fanIn, b.late)
	switch {
	case old < mark && now >= mark:
		b.unmet--
		c.recheck(b)
	case old >= mark && now < mark:
		b.unmet++
		c.recheck(b)
	}
}

// recheck moves a bundle between waiting and ready.
func (c *Core) recheck(b *bundle) {
	switch {
	case b.job.phase != jobRunning || b.index >= b.job.opened: // open comes to it
	case b.phase == bundleWaiting && b.unmet == 0 && len(b.runs) == 0: // an attempt of an earlier life is waited for
		c.makeReady(b)
	case b.phase == bundleReady && b.unmet > 0:
		c.withdraw(b)
	}
}

// makeReady offers a bundle to the policy.
func (c *Core) makeReady(b *bundle) {
	if b.last() {
		b.job.lastMore = b.job.memoryForFiles()
	}
	b.enter(bundleReady)
	b.since = c.now
	b.job.linkReady(b)
	if len(b.avoid) > 0 || len(b.job.avoid) > 0 {
		c.dropAvoidIfAll(b)
	}
	c.emit(b, c.readyEvent(b))
	c.touch(b.job)
}

// withdraw takes a bundle back from the policy.
func (c *Core) withdraw(b *bundle) {
	b.enter(bundleWaiting)
	b.job.unlinkReady(b)
	c.emit(b, scheduler.BundleWithdrawn{At: c.now, Job: b.job.id, Bundle: b.id})
	c.capacity.ReleaseFor(b, b.job.ready.count)
	c.touch(b.job)
}

func (c *Core) readyEvent(b *bundle) scheduler.BundleReady {
	return scheduler.BundleReady{At: b.since, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, true), Avoid: c.avoidOf(b)}
}

// groupsFor is what the policy learns of a bundle's groups; the places of their
// input only where they still matter.
func (c *Core) groupsFor(b *bundle, places bool) []scheduler.Group {
	groups := make([]scheduler.Group, b.Width())
	for i := range groups {
		d := b.Demand(i)
		groups[i] = scheduler.Group{Stage: scheduler.StageID(b.stageOf(i)), Kind: d.Kind, Slots: d.Slots, Memory: d.Memory}
		if places {
			groups[i].InputBytes, groups[i].Places = c.inputOf(b, i)
		}
	}
	return groups
}

// avoidOf lists the launchers that are refused for a bundle, ascending.
func (c *Core) avoidOf(b *bundle) []scheduler.LauncherID {
	if len(b.avoid) == 0 && len(b.job.avoid) == 0 {
		return nil
	}
	list := slices.Clone(b.job.avoid)
	for _, id := range b.avoid {
		list = sorted.Add(list, id)
	}
	return list
}
