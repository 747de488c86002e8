package core

import (
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// storedOutput notes that a writer's output is there, in the place of an earlier
// one if old is not nil, and opens what opens by it.
func (c *Core) storedOutput(j *job, k inputs.Key, size int64, perReader []int64, where scheduler.LauncherID, old *commit) {
	before := scheduler.LauncherID(0)
	if old != nil {
		before = old.launcher
	}
	c.cross(j, k.Conn, j.inputs.Put(k, size, perReader, where, before))
}

// cross opens and closes inputs. Readers of an all-to-all connection are told in slices.
func (c *Core) cross(j *job, conn int32, list iter.Seq[inputs.Crossing]) {
	for x := range list {
		c.crossOne(j, x)
	}
	if j.inputs.Begun(conn) {
		c.tellReaders(j, conn)
	}
}

func (c *Core) crossOne(j *job, x inputs.Crossing) {
	if b := &j.bundles[j.inputs.Bundle(x)]; j.inputs.Cross(&b.gate, x) {
		c.recheck(b)
	}
}

// tellReaders opens or closes the inputs of an all-to-all connection's readers, as many
// as the step may do.
func (c *Core) tellReaders(j *job, conn int32) {
	for j.inputs.AllTold(conn) || c.step.Spend(workOpen) {
		x, yes := j.inputs.Tell(conn)
		if !yes {
			break
		}
		c.crossOne(j, x)
	}
	if j.phase == jobRunning {
		c.noteWork(j)
	}
}

// tellAllReaders goes on with all connections of which readers are being told.
func (c *Core) tellAllReaders(j *job) {
	for conn := 0; j.inputs.Telling() && conn < j.inputs.Connections() && !c.step.Rested(); conn++ {
		if j.inputs.TellingOf(int32(conn)) {
			c.tellReaders(j, int32(conn))
		}
	}
}

// recheck moves a bundle between waiting and ready.
func (c *Core) recheck(b *bundle) {
	switch {
	case b.job.phase != jobRunning || b.index >= b.job.opened: // open comes to it
	case b.phase == bundleWaiting && b.gate.Open() && len(b.runs) == 0: // an attempt of an earlier life is waited for
		c.makeReady(b)
	case b.phase == bundleReady && !b.gate.Open():
		c.withdraw(b)
	}
}

// makeReady offers a bundle to the policy.
func (c *Core) makeReady(b *bundle) {
	if b.last() {
		b.job.lastMore = b.job.memoryForFiles()
	}
	b.enter(bundleReady)
	b.since = c.step.Now
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
	c.emit(b, scheduler.BundleWithdrawn{At: c.step.Now, Job: b.job.id, Bundle: b.id})
	c.capacity.ReleaseFor(b, b.job.ready.count)
	c.touch(b.job)
}
