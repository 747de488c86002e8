package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// miss notes that an attempt has to be given a source when it is there.
func (c *Core) miss(a *attempt, k inputs.Key) {
	a.run.bundle.job.inputs.Miss(&a.reads, a.id, k)
	c.watchWaiting(a.run.bundle.job)
}

// supply gives a source that came back, or came at last, to who misses it.
func (c *Core) supply(j *job, k inputs.Key) {
	source := c.source(j)
	if b, _ := j.groupOf(j.inputs.Writer(k)); b.losses > 0 {
		c.resupply(j, k)
	}
	c.feeds.Supply(&j.inputs, k, source)
}

// resupply tells readers of a source that was made again where it is now, before
// they find out that the old one is gone. Those that read it already don't look.
func (c *Core) resupply(j *job, k inputs.Key) {
	for _, a := range j.attempts.sorted() {
		if !a.reads.IsMissing(k) && a.stop == nil && j.inputs.Reads(a.run.bundle.nodes(a.group), k) {
			c.miss(a, k)
			c.feeds.SupplyTo(&j.inputs, &a.reads, k, c.source(j))
		}
	}
}

// stopWaiting ends the reading of an attempt that ended.
func (c *Core) stopWaiting(a *attempt) {
	a.run.bundle.job.inputs.End(&a.reads)
	c.feeds.Drop(a.id)
}

// inputLost takes a reader's word that it can't read a source.
func (c *Core) inputLost(a *attempt, m *wire.InputLost) {
	j := a.run.bundle.job
	k := inputs.Key{Conn: int32(m.Connection), From: int32(m.From)}
	if a.stop != nil || j.phase != jobRunning || !j.inputs.Reads(a.run.bundle.nodes(a.group), k) {
		return
	}
	c.miss(a, k)
	b, i := j.groupOf(j.inputs.Writer(k))
	there := j.inputs.There(k)
	if there && uint64(b.kept[i].attempt) != m.Producer && m.Producer != 0 {
		c.feeds.SupplyTo(&j.inputs, &a.reads, k, c.source(j)) // made again in the meantime
		return
	}
	if there {
		p := b.kept[i]
		c.noteJob(j, fmt.Sprintf("output of %s (attempt %d) can't be read: %s; it is made again", j.describe(b, i), p.attempt, m.Reason))
		c.step.Log(Warn, "a stored output can't be read and is made again", "job", j.id.String(), "attempt", fmt.Sprint(p.attempt),
			"damaged", fmt.Sprint(m.Damaged), "reason", m.Reason)
		c.step.Stats.OutputsLost++
		c.dropOutput(p, j)
		c.outputsLost(b, i, true)
	}
	c.wantAgain(b)
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
		for _, conn := range j.inputs.OutOf(n.Stage) {
			out := inputs.Key{Conn: conn, From: int32(n.Index)}
			if j.inputs.There(out) && (all || j.plan.Connection(int(conn)).Store == "") {
				c.cross(j, conn, j.inputs.Lose(out, k.launcher))
			}
		}
	}
}

// needed says whether some unfinished bundle reads what is gone of a group.
func (j *job) needed(b *bundle, i int) bool {
	for _, x := range b.nodes(i) {
		n := j.plan.Node(x)
		for _, conn := range j.inputs.OutOf(n.Stage) {
			if out := (inputs.Key{Conn: conn, From: int32(n.Index)}); !j.inputs.There(out) && j.readersOpen(out) {
				return true
			}
		}
	}
	return false
}

// readersOpen says whether a reader of a writer is unfinished.
func (j *job) readersOpen(k inputs.Key) bool {
	if !j.stages[j.plan.Connection(int(k.Conn)).ToStage].Open() {
		return false
	}
	open := j.inputs.All(k.Conn)
	if !open {
		j.inputs.EachReader(k, func(reader graph.Node) {
			open = open || j.bundles[j.plan.BundleOf(j.plan.Number(reader))].phase != bundleFinished
		})
	}
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
			j.inputs.Each(b.nodes(i), func(k inputs.Key) {
				if !j.inputs.There(k) {
					p, _ := j.groupOf(j.inputs.Writer(k))
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
	b.since = c.step.Now
	b.losses++
	j.unfinished++
	j.countDone(b, -1)
	c.step.Stats.Rerun++
	c.emit(b, scheduler.BundleWantedAgain{At: c.step.Now, Job: j.id, Bundle: b.id})
	if b.losses > c.step.Set.LostMax {
		c.failLost(b, "its output was lost")
		return
	}
	c.recheck(b)
}

// watchWaiting sets the timer that looks for work that readers of a job wait for.
func (c *Core) watchWaiting(j *job) {
	if !j.watched {
		j.watched = true
		// A launch since then puts it off.
		c.step.After(max(c.step.Set.TakeBackAfter-c.step.Now.Sub(j.lastLaunch), c.step.Set.TakeBackAfter/takeBackLooks), step.TimerTakeBack, uint64(j.id))
	}
}

// takeBackLooks bounds how often a job's waiting readers are looked at: so many
// times in takeBackAfter.
const takeBackLooks = 4
