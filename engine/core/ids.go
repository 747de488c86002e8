package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A log may come back without its last records: from a disk that did not keep what
// it said it had, or from an old copy. The counters in it then stand where they
// stood before, and would give ids a second time, to other jobs and attempts than
// the ones that launchers, clients and storage know under them. So each life begins
// where the age of the manager's data says, which is above all that the lives before
// it can have given. What lies between the last id in the log and that beginning is a
// gap. Somebody who comes with an id out of a gap had it from a record that the log lost.

// counters are the last ids given. Requests and claims are known to nobody
// who outlives the manager's process: theirs may come again.
type counters struct {
	job, bundle, attempt, launcher, request, claim uint64
}

const (
	// slowIDs and fastIDs are by how many ids a second the beginning moves, of jobs and
	// launchers, and of bundles and attempts. The latter are more than a process can
	// start.
	slowIDs = 1_000
	fastIDs = 1_000_000
	// jobsPerSecond and jobsAtOnce bound the jobs that a life announces, so that it
	// stays below where the next one begins.
	jobsPerSecond = slowIDs / 2
	jobsAtOnce    = 10_000
)

// perAge returns how many there are at an age.
func perAge(age time.Duration, perSecond int64) uint64 {
	return uint64(age / (time.Second / time.Duration(perSecond)))
}

// Term returns the term of a manager's life that begins when its data has an age, and
// the last life in its log had another: larger than that of any life before, also of
// one that the log lost.
func Term(last uint64, age time.Duration) uint64 {
	return max(last, uint64(max(age, 0)/time.Millisecond)) + 1
}

// gap is a range of ids that a life skipped at its start: those above, up to.
type gap struct {
	jobs, attempts [2]uint64
}

func within(ids [2]uint64, id uint64) bool { return id > ids[0] && id <= ids[1] }

// gapsMax bounds the lives whose gaps are remembered, the newest.
const gapsMax = 16

// beginIDs lets the ids of a life begin above all that lives before may have given.
func (c *Core) beginIDs(age time.Duration) {
	c.began, c.lossTold = c.now, false
	if age > 0 { // else the data is new
		c.skipIDs(age)
	}
	c.firstJob = c.ids.job
}

func (c *Core) skipIDs(age time.Duration) {
	known := c.ids
	for _, n := range []*uint64{&c.ids.job, &c.ids.launcher} {
		*n = max(*n, perAge(age, slowIDs))
	}
	for _, n := range []*uint64{&c.ids.bundle, &c.ids.attempt} {
		*n = max(*n, perAge(age, fastIDs))
	}
	if len(c.gaps) >= gapsMax {
		c.gaps = c.gaps[1:]
	}
	c.gaps = append(c.gaps, gap{jobs: [2]uint64{known.job, c.ids.job}, attempts: [2]uint64{known.attempt, c.ids.attempt}})
}

// tooManyJobs says whether this life has announced as many jobs as it may by now.
func (c *Core) tooManyJobs() bool {
	return c.ids.job-c.firstJob >= jobsAtOnce+perAge(c.now.Sub(c.began), jobsPerSecond)
}

func (c *Core) inGap(ids func(gap) [2]uint64, id uint64) bool {
	for _, g := range c.gaps {
		if within(ids(g), id) {
			return true
		}
	}
	return false
}

func (g gap) jobIDs() [2]uint64     { return g.jobs }
func (g gap) attemptIDs() [2]uint64 { return g.attempts }

// Lost says why a job that is not known may have been known to an earlier life of
// the manager; nil when none can have given its id. One that was announced in an earlier
// life, and that somebody takes for submitted, was.
func (c *Core) Lost(id scheduler.JobID) *wire.Failure {
	announced := slices.ContainsFunc(c.prepared, func(p prepared) bool { return p.id == id && p.at < c.began })
	if c.jobs.get(id) != nil || !announced && !c.inGap(gap.jobIDs, uint64(id)) {
		return nil
	}
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"the manager knows nothing of %v: its event log lost the records of it, which were on disk, or an old copy of it was put back. "+
			"What ran of it was ended: submit it again", id)}
}

// lookForLoss compares what a launcher saw with what the log holds. A clock that went
// back, together with a log that did, may have ids repeat all the same: then they go
// on above what the launcher saw.
func (c *Core) lookForLoss(l *launcher, m *wire.Join) {
	if m.GetTerm() > c.term {
		c.term = m.GetTerm() + 1
		c.noticeLoss(l, fmt.Sprintf("it obeyed a manager of term %d", m.GetTerm()))
	}
	if seen := m.GetSeen(); seen > c.ids.attempt || c.inGap(gap.attemptIDs, seen) {
		c.ids.attempt = max(c.ids.attempt, seen)
		c.noticeLoss(l, fmt.Sprintf("it was told to start attempt %d", seen))
	}
	for _, id := range m.GetJobs() {
		if id > c.ids.job || c.inGap(gap.jobIDs, id) {
			c.ids.job = max(c.ids.job, id)
			c.noticeLoss(l, fmt.Sprintf("it has work of %v", scheduler.JobID(id)))
		}
	}
}

// noticeLoss says, once in a life, that the log lost records.
func (c *Core) noticeLoss(l *launcher, how string) {
	if c.lossTold {
		return
	}
	c.lossTold = true
	c.stats.LogLosses++
	c.log(Error, "the event log lost records that were on disk: jobs go on from where it ends, work that it does not know is ended, "+
		"and jobs that it does not know have to be submitted again", "launcher", l.name, "sign", how)
	for j := range c.jobs.all() {
		c.noteJob(j, "the manager's event log lost its last records: what had happened since is done again")
	}
}
