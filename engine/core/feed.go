package core

import (
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// feed gives an attempt what is there of what it misses, as much as it takes at once.
func (c *Core) feed(a *attempt) {
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

// fileBytes is about what a file to publish takes in a message beside its texts.
const fileBytes = 32

// filesPlace is where in a job's bundles a file of it stands. It is found again from
// any number, and kept because the next that is wanted is mostly the one behind.
type filesPlace struct {
	number               uint64 // of the file, counted from 0
	bundle, group, index int
}

// filesFrom lists what the job's accepted attempts wrote into its outputs, when that is
// to be published or kept: from a number on, as much as one command holds.
func (c *Core) filesFrom(j *job, from uint64) []*wire.CommittedFile {
	if j.phase != jobPublishing && !j.keep {
		return nil
	}
	at := j.filesAt
	if from < at.number {
		at = filesPlace{}
	}
	var list []*wire.CommittedFile
	left := c.step.Set.CommandBytes
	for ; at.bundle < len(j.plan.Bundles); at.bundle, at.group = at.bundle+1, 0 {
		kept := j.bundles[at.bundle].kept
		for ; at.group < len(kept); at.group, at.index = at.group+1, 0 {
			files := kept[at.group].report.Files
			if skip := min(from-at.number, uint64(len(files)-at.index)); skip > 0 {
				at.number, at.index = at.number+skip, at.index+int(skip)
			}
			for ; at.index < len(files); at.index++ {
				if left <= 0 {
					j.filesAt = at
					return list
				}
				f := files[at.index]
				list = append(list, f)
				left -= fileBytes + len(f.Temporary) + len(f.Name)
				at.number, from = at.number+1, from+1
			}
		}
	}
	return list
}

// filesTotal is how many files filesFrom lists in all.
func (j *job) filesTotal() uint64 {
	if j.phase != jobPublishing && !j.keep {
		return 0
	}
	return uint64(j.tally.Files())
}

// sendFiles answers a worker that asks for further files. It keeps asking until an
// answer comes, so none is remembered.
func (c *Core) sendFiles(a *attempt, from uint64) {
	c.sureStarted(a)
	if !a.run.bundle.last() || a.stop != nil {
		return
	}
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Files{Files: &wire.FilesUpdate{
		Attempt: uint64(a.id), From: from, Files: c.filesFrom(a.run.bundle.job, from),
	}}})
}
