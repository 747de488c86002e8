package core

import (
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// feed gives an attempt what is there of what it misses, as much as it takes at once.
func (c *Core) feed(a *attempt) {
	if a.reads.Misses() == 0 {
		return
	}
	if j := a.run.bundle.job; !c.feeds.Fill(&j.inputs, &a.reads, c.source(j)) {
		c.step.After(1, step.TimerFeed, uint64(a.id))
	}
}

// sourcesTaken takes a worker's word that it has what an update told.
func (c *Core) sourcesTaken(a *attempt, update uint64) {
	if a.reads.Taken(update) {
		c.feed(a)
	}
}

// giveAgain begins anew with what was on its way to a launcher whose stream broke.
func (c *Core) giveAgain(a *attempt) {
	if a.run.bundle.job.inputs.Again(&a.reads) {
		c.watchWaiting(a.run.bundle.job)
	}
	c.feed(a)
}

// flushSources sends each reader what a step gave it, in one message.
func (c *Core) flushSources() {
	for id, m := range c.feeds.End() {
		if a := c.attempts.Get(id); a != nil && a.launcher.Up {
			c.command(a.launcher, &wire.Command{Do: &wire.Command_Sources{Sources: m}})
		}
	}
}

// sourcesOf lists the sources that an attempt starts with.
func (c *Core) sourcesOf(a *attempt) []*wire.Source {
	j := a.run.bundle.job
	if !j.inputs.Some() {
		return nil
	}
	l := j.inputs.List(&a.reads, a.id, a.run.bundle.filed(a.group), c.step.Set.CommandBytes, c.source(j))
	if l.Missed {
		c.watchWaiting(j)
	}
	c.step.Charge(l.Looked/looksAtOnce + len(l.Sources))
	return l.Sources
}

// looksAtOnce is how many looks whether an output is there count for one in
// Settings.StepWork.
const looksAtOnce = 256
