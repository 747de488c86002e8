package core

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// dropping is a job whose workers and files a launcher is to get rid of, and has not
// said that it did.
type dropping struct {
	job    scheduler.JobID
	sentAt scheduler.Time
	tries  int // to send the command again
}

func (l *launcher) findDrop(id scheduler.JobID) (int, bool) {
	return slices.BinarySearchFunc(l.drops, id, func(d dropping, id scheduler.JobID) int { return cmp.Compare(d.job, id) })
}

// dropJob has a launcher get rid of what it has of a job that is over, or not known.
func (c *Core) dropJob(l *launcher, id scheduler.JobID) {
	i, found := l.findDrop(id)
	if found || !l.Up {
		return
	}
	l.drops = slices.Insert(l.drops, i, dropping{job: id})
	c.sendDrop(l, &l.drops[i])
	c.watchCommands(l)
	if len(l.drops) > dropsMax {
		c.step.Log(Warn, "a launcher does not delete the files of jobs that are over: the first is given up", "launcher", l.Name, "job", l.drops[0].job.String())
		l.drops = slices.Delete(l.drops, 0, 1)
	}
}

// dropsMax bounds the jobs that one launcher has not dropped yet.
const dropsMax = 10_000

func (c *Core) sendDrop(l *launcher, d *dropping) {
	d.sentAt = c.step.Now
	c.command(l, &wire.Command{Do: &wire.Command_DropJob{DropJob: uint64(d.job)}})
}

// dropped takes a launcher's word that nothing of a job is left there.
func (l *launcher) dropped(id scheduler.JobID) {
	if i, found := l.findDrop(id); found {
		l.drops = slices.Delete(l.drops, i, i+1)
	}
}

// reconcileJobs has a launcher drop the jobs that it has something of and that are
// not there, and those again that it was told to drop on a stream that broke. Of those
// that are there it is told when they end, though the log may have lost that they ran
// on it.
func (c *Core) reconcileJobs(l *launcher, has []uint64) {
	if !l.Up {
		return
	}
	for i := range l.drops {
		if d := &l.drops[i]; d.sentAt != c.step.Now {
			c.sendDrop(l, d)
		}
	}
	for _, id := range has {
		if j := c.jobs.Get(scheduler.JobID(id)); j != nil {
			j.ranOn = sorted.Add(j.ranOn, l.ID)
		} else {
			c.dropJob(l, scheduler.JobID(id))
		}
	}
}

// dropAgain sends again what was not confirmed for too long. A launcher that can't
// delete files is no lost one: it goes on trying, and is asked now and then.
func (c *Core) dropAgain(l *launcher) {
	for i := range l.drops {
		if d := &l.drops[i]; c.step.Now.Sub(d.sentAt) >= c.commandWait(d.tries) {
			d.tries++
			c.step.Stats.Resent++
			c.sendDrop(l, d)
		}
	}
}
