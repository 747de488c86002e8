package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// eachInput calls f once for every writer's output that a group reads.
func (j *job) eachInput(nodes []int32, f func(k sourceKey)) {
	var seen map[sourceKey]bool
	if len(nodes) > 1 {
		seen = map[sourceKey]bool{} // nodes of one stage may share writers
	}
	for _, x := range nodes {
		n := j.plan.Node(x)
		for _, conn := range j.into[n.Stage] {
			r, list := j.plan.Writers(int(conn), n.Index)
			graph.Each(r, list, func(from int) {
				k := sourceKey{conn, int32(from)}
				if seen == nil || !seen[k] {
					f(k)
				}
				if seen != nil {
					seen[k] = true
				}
			})
		}
	}
}

func (j *job) reads(nodes []int32, k sourceKey) bool {
	for _, x := range nodes {
		n := j.plan.Node(x)
		if !slices.Contains(j.into[n.Stage], k.conn) {
			continue
		}
		r, list := j.plan.Writers(int(k.conn), n.Index)
		if int(k.from) >= r.Low && int(k.from) < r.High || sorted.Has(list, k.from) {
			return true
		}
	}
	return false
}

// miss notes that an attempt has to be given a source when it is there.
func (c *Core) miss(a *attempt, k sourceKey) {
	m := c.missingFor(a, k.conn)
	if m[k.from/64]>>(k.from%64)&1 == 0 {
		m[k.from/64] |= 1 << (k.from % 64)
		a.misses++
	}
	c.watchWaiting(a.run.bundle.job)
}

// missingFor returns what an attempt misses of a connection, to be added to.
func (c *Core) missingFor(a *attempt, conn int32) []uint64 {
	if m := a.missingOf(conn); m != nil {
		return m
	}
	j := a.run.bundle.job
	m := make([]uint64, (j.conns[conn].Writers()+63)/64)
	a.missing = append(a.missing, missing{int(conn), m})
	waiting := &j.waiting[conn]
	i, _ := slices.BinarySearchFunc(*waiting, a.id, func(x *attempt, id scheduler.AttemptID) int { return cmp.Compare(x.id, id) })
	*waiting = slices.Insert(*waiting, i, a)
	return m
}

func (a *attempt) missingOf(conn int32) []uint64 {
	for _, m := range a.missing {
		if m.conn == int(conn) {
			return m.bits
		}
	}
	return nil
}

func (a *attempt) isMissing(k sourceKey) bool {
	m := a.missingOf(k.conn)
	return m != nil && m[k.from/64]>>(k.from%64)&1 == 1
}

// supply gives a source that came back, or came at last, to who misses it.
func (c *Core) supply(j *job, k sourceKey) {
	if b, _ := j.groupOf(graph.Node{Stage: int(j.plan.Connection(int(k.conn)).FromStage), Index: int(k.from)}); b.losses > 0 {
		c.resupply(j, k)
	}
	for _, a := range j.waiting[k.conn] {
		c.supplyTo(a, k)
	}
}

// resupply tells readers of a source that was made again where it is now, before
// they find out that the old one is gone. Those that read it already don't look.
func (c *Core) resupply(j *job, k sourceKey) {
	for _, a := range j.attempts.sorted() {
		if !a.isMissing(k) && a.stop == nil && j.reads(a.run.bundle.nodes(a.group), k) {
			c.miss(a, k)
			c.supplyTo(a, k)
		}
	}
}

func (c *Core) supplyTo(a *attempt, k sourceKey) {
	if a.isMissing(k) && a.takes() {
		c.tellSource(a, k)
	}
}

// stopWaiting takes an attempt that ended off the lists of who misses sources.
func (c *Core) stopWaiting(a *attempt) {
	for _, m := range a.missing {
		waiting := &a.run.bundle.job.waiting[m.conn]
		*waiting = slices.DeleteFunc(*waiting, func(x *attempt) bool { return x == a })
	}
	a.missing, a.misses, a.given, a.givenBytes, a.awaits = nil, 0, nil, 0, 0
	delete(c.updates, a.id)
}

// source describes where a writer's output is; nil when there is none.
func (c *Core) source(j *job, k sourceKey) *wire.Source {
	if !j.conns[k.conn].There(int(k.from)) {
		return nil
	}
	m := j.commitOf(graph.Node{Stage: int(j.plan.Connection(int(k.conn)).FromStage), Index: int(k.from)})
	s := &wire.Source{
		Connection: uint32(k.conn), From: uint32(k.from), Attempt: uint64(m.attempt),
		Host: m.host, Rack: m.rack, Token: m.token, Launcher: uint64(m.launcher),
	}
	if l := c.launchers.Get(m.launcher); l != nil && l.Up {
		s.Address = l.dataAddress
	}
	return s
}

// inputLost takes a reader's word that it can't read a source.
func (c *Core) inputLost(a *attempt, m *wire.InputLost) {
	j := a.run.bundle.job
	k := sourceKey{int32(m.Connection), int32(m.From)}
	if a.stop != nil || j.phase != jobRunning || !j.reads(a.run.bundle.nodes(a.group), k) {
		return
	}
	c.miss(a, k)
	b, i := j.groupOf(graph.Node{Stage: int(j.plan.Connection(int(k.conn)).FromStage), Index: int(k.from)})
	there := j.conns[k.conn].There(int(k.from))
	if there && uint64(b.kept[i].attempt) != m.Producer && m.Producer != 0 {
		c.supplyTo(a, k) // made again in the meantime
		return
	}
	if there {
		p := b.kept[i]
		c.noteJob(j, fmt.Sprintf("output of %s (attempt %d) can't be read: %s; it is made again", j.describe(b, i), p.attempt, m.Reason))
		c.log(Warn, "a stored output can't be read and is made again", "job", j.id.String(), "attempt", fmt.Sprint(p.attempt),
			"damaged", fmt.Sprint(m.Damaged), "reason", m.Reason)
		c.stats.OutputsLost++
		c.dropOutput(p, j)
		c.outputsLost(b, i, true)
	}
	c.wantAgain(b)
}

// describe names a group for people: its first node.
func (j *job) describe(b *bundle, i int) string {
	if b.last() {
		return "the group that publishes"
	}
	n := j.plan.Node(b.nodes(i)[0])
	return fmt.Sprintf("stage %q node %d", j.stages[n.Stage].name, n.Index)
}

// dropOutput tells a launcher to delete what an attempt stored.
func (c *Core) dropOutput(k *commit, j *job) {
	l := c.launchers.Get(k.launcher)
	if !k.stored || k.lost || l == nil || !l.Up || l.outputs[k.attempt] == nil {
		return
	}
	delete(l.outputs, k.attempt)
	c.command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: uint64(j.id), Attempt: uint64(k.attempt)}}})
}

// outputsLost notes that what a group stored is gone; with all also what it
// keeps on the job's own storage.
func (c *Core) outputsLost(b *bundle, i int, all bool) {
	j := b.job
	k := *b.kept[i]
	k.lost = true
	b.kept = slices.Clone(b.kept) // a frozen state has the old ones
	b.kept[i] = &k
	for _, x := range b.nodes(i) {
		n := j.plan.Node(x)
		for _, conn := range j.outOf[n.Stage] {
			if j.conns[conn].There(n.Index) && (all || j.plan.Connection(int(conn)).Store == "") {
				c.lostOutput(j, int(conn), n.Index, k.launcher)
			}
		}
	}
}

// needed says whether some unfinished bundle reads what is gone of a group.
func (j *job) needed(b *bundle, i int) bool {
	for _, x := range b.nodes(i) {
		n := j.plan.Node(x)
		for _, conn := range j.outOf[n.Stage] {
			if !j.conns[conn].There(n.Index) && j.readersOpen(int(conn), n.Index) {
				return true
			}
		}
	}
	return false
}

// readersOpen says whether a reader of a writer is unfinished.
func (j *job) readersOpen(conn, from int) bool {
	to := int(j.plan.Connection(conn).ToStage)
	if j.stages[to].open == 0 {
		return false
	}
	if j.conns[conn].All() {
		return true
	}
	open := false
	r, list := j.plan.Readers(conn, from)
	graph.Each(r, list, func(reader int) {
		b := &j.bundles[j.plan.BundleOf(j.plan.Number(graph.Node{Stage: to, Index: reader}))]
		open = open || b.phase != bundleFinished
	})
	return open
}

// wantAgain turns a finished bundle whose output is needed to unfinished, and
// with it those whose lost output it needs in turn.
func (c *Core) wantAgain(b *bundle) {
	for work := []*bundle{b}; len(work) > 0; {
		b, work = work[len(work)-1], work[:len(work)-1]
		if b.phase != bundleFinished || b.job.phase != jobRunning {
			continue
		}
		c.reopen(b)
		j := b.job
		for i := range b.groups() {
			j.eachInput(b.nodes(i), func(k sourceKey) {
				if !j.conns[k.conn].There(int(k.from)) {
					p, _ := j.groupOf(graph.Node{Stage: int(j.plan.Connection(int(k.conn)).FromStage), Index: int(k.from)})
					work = append(work, p)
				}
			})
		}
	}
}

// reopen counts a finished bundle as unfinished.
func (c *Core) reopen(b *bundle) {
	j := b.job
	b.enter(bundleWaiting)
	b.since = c.now
	b.losses++
	j.unfinished++
	j.countDone(b, -1)
	c.stats.Rerun++
	c.emit(b, scheduler.BundleWantedAgain{At: c.now, Job: j.id, Bundle: b.id})
	if b.losses > c.set.LostMax {
		c.failLost(b, "its output was lost")
		return
	}
	c.recheck(b)
}

// countDone counts a bundle's groups and nodes as finished, or not any more.
func (j *job) countDone(b *bundle, by int) {
	if b.single { // without a look at the plan: it is far away, and this is each end
		s := &j.stages[b.stage]
		s.done += by
		s.open -= by
		j.finished += by
		return
	}
	for i := range b.groups() {
		stage := b.stageOf(i)
		j.stages[stage].done += by
		j.finished += by
		for _, x := range b.nodes(i) {
			j.stages[j.plan.Node(x).Stage].open -= by
		}
	}
}
