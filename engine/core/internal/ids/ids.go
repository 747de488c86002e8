// Package ids gives jobs, bundles, attempts and launchers their ids.
//
// A log may come back without its last records: from a disk that did not keep what it confirmed, or
// from an old copy. Its counters would then give ids a second time, to other jobs and attempts than
// those that launchers, clients and storage know. So each life of the manager derives its first ids
// from the age of the manager's data. They are above all ids that earlier lives can have given.
// Between the last id in the log and that beginning is a gap. An id in a gap comes from a record
// that the log lost.
//
// People read the numbers of jobs. The shell keeps the last number beside the log, and jobs
// continue there. There is no gap after a clean stop, and a small one after a crash.
//
// New data may follow data of a lost machine, of which somebody still knows jobs. Then its jobs are
// numbered from above those on, and all that is said here of jobs counts from there.
//
// # Numbers
//
// A life's term, and its ids of bundles, attempts and launchers, begin at a million a second of the
// data's age. That is more than all earlier lives can have given.
//
// Numbers of jobs continue from the file that the shell keeps (recovery.Numbers). They have no gap
// after a clean stop and skip at most 100 after a crash. The file names its own inode and time of
// birth, so a copy of it does not count. Then jobs begin at a thousand a second of the data's age.
// When history has jobs of another machine, or its store can't say, jobs are numbered from the time
// in milliseconds.
package ids

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// IDs are the last ids given. Only the manager's process knows requests and reservations, so their
// ids may repeat after a restart.
type IDs struct {
	job, bundle, attempt, launcher, request, reservation uint64

	base     uint64         // this data's jobs are above it
	began    scheduler.Time // when this life of the manager began
	firstJob uint64         // the last job id before this life
	gaps     []gap          // of the newest lives, the oldest first
	lost     bool           // this life found that the log lost records
}

// NextJob gives a job its id.
func (x *IDs) NextJob() scheduler.JobID {
	x.job++
	return scheduler.JobID(x.job)
}

// NextBundles gives so many bundles their ids, one after the other, and returns the first.
func (x *IDs) NextBundles(n int) scheduler.BundleID {
	first := x.bundle + 1
	x.bundle += uint64(n)
	return scheduler.BundleID(first)
}

// NextAttempt gives an attempt its id.
func (x *IDs) NextAttempt() scheduler.AttemptID {
	x.attempt++
	return scheduler.AttemptID(x.attempt)
}

// NextLauncher gives a launcher its id.
func (x *IDs) NextLauncher() scheduler.LauncherID {
	x.launcher++
	return scheduler.LauncherID(x.launcher)
}

// NextRequest gives a request for a page of the policy its id.
func (x *IDs) NextRequest() uint64 {
	x.request++
	return x.request
}

// NextReservation gives a reservation its id.
func (x *IDs) NextReservation() uint64 {
	x.reservation++
	return x.reservation
}

// LastJob returns the job id that was given last.
func (x *IDs) LastJob() scheduler.JobID { return scheduler.JobID(x.job) }

// LastBundle returns the bundle id that was given last.
func (x *IDs) LastBundle() scheduler.BundleID { return scheduler.BundleID(x.bundle) }

// LastAttempt returns the attempt id that was given last.
func (x *IDs) LastAttempt() scheduler.AttemptID { return scheduler.AttemptID(x.attempt) }

const (
	// slowIDs and fastIDs are how many ids per second of age the first id of a life advances:
	// slowIDs for jobs and launchers, fastIDs for bundles and attempts. The latter is more than a
	// process can start.
	slowIDs = 1_000
	fastIDs = 1_000_000
	// JobsPerSecond and jobsAtOnce bound the jobs that a life announces, so that its ids stay below
	// the beginning of the next life.
	JobsPerSecond = slowIDs / 2
	jobsAtOnce    = 10_000
	// gapsMax bounds the lives whose gaps are remembered: the newest ones.
	gapsMax = 16
)

// perAge returns how many ids belong to an age.
func perAge(age time.Duration, perSecond int64) uint64 {
	return uint64(age / (time.Second / time.Duration(perSecond)))
}

// Term returns the term of a manager's life that begins when its data has an age, where last is the
// term of the last life in its log. It is larger than that of any earlier life, including lives
// that the log lost.
func Term(last uint64, age time.Duration) uint64 {
	return max(last, uint64(max(age, 0)/time.Millisecond)) + 1
}

// clockError is how far ahead a clock may be before an id that follows from it is rejected.
const clockError = 366 * 24 * time.Hour

// SeenMax bounds the term, job and attempt that a launcher or client can know by a time: those of
// data that began in 1970, with a clock that is ahead by clockError. A larger number would leave
// too few ids.
func SeenMax(now time.Time) (term, job, attempt uint64) {
	age := time.Duration(max(now.UnixNano(), 0)) + clockError
	return Term(0, age), perAge(age, slowIDs) + jobsAtOnce, perAge(age, fastIDs)
}

// gap is a range of ids that a life skipped at its start; the lower bound is excluded.
type gap struct {
	jobs, attempts [2]uint64
}

func within(ids [2]uint64, id uint64) bool { return id > ids[0] && id <= ids[1] }

// Began returns when this life of the manager began.
func (x *IDs) Began() scheduler.Time { return x.began }

// Start is the knowledge of a manager's life at its beginning.
type Start struct {
	Now scheduler.Time
	Age time.Duration // of the data; 0: the data is new
	// Above is the largest job number known from earlier data; 0: none is known.
	Above uint64
	// Known says that no earlier life gave a job above Given. Otherwise the bound follows from the
	// age.
	Known bool
	Given uint64
}

// BeginLife opens a life of the manager: its ids are above all that earlier lives may have given.
func (x *IDs) BeginLife(s Start) {
	x.began, x.base, x.lost = s.Now, max(x.base, s.Above), false
	if s.Age > 0 || s.Above > 0 {
		x.skip(s)
	}
	x.firstJob = x.job
}

// AboveUnknown returns a number above every job that unknown data can have given by a time, if its
// clock was right. It assumes that the data's first life began in 1970.
func AboveUnknown(now scheduler.Time) uint64 {
	return perAge(time.Duration(max(now, 0)), slowIDs)
}

// LastJobByAge returns the last job that earlier lives may have given, by the age of their data.
// Jobs up to above are known from earlier data.
func LastJobByAge(above uint64, age time.Duration) uint64 { return above + perAge(age, slowIDs) }

func (x *IDs) skip(s Start) {
	known, age := *x, s.Age
	x.job = max(x.job, x.base)
	if s.Known {
		x.job = max(x.job, s.Given)
	} else {
		x.job = max(x.job, LastJobByAge(x.base, age))
	}
	x.launcher = max(x.launcher, perAge(age, slowIDs))
	for _, n := range []*uint64{&x.bundle, &x.attempt} {
		*n = max(*n, perAge(age, fastIDs))
	}
	if len(x.gaps) >= gapsMax {
		x.gaps = x.gaps[1:]
	}
	x.gaps = append(x.gaps, gap{jobs: [2]uint64{known.job, x.job}, attempts: [2]uint64{known.attempt, x.attempt}})
}

// TooManyJobs reports whether this life has announced as many jobs as it may by a time.
func (x *IDs) TooManyJobs(now scheduler.Time) bool {
	return x.job-x.firstJob >= jobsAtOnce+perAge(now.Sub(x.began), JobsPerSecond)
}

// LostJob reports whether a life may have given a job's id in a record that the log lost.
func (x *IDs) LostJob(id uint64) bool {
	return slices.ContainsFunc(x.gaps, func(g gap) bool { return within(g.jobs, id) })
}

// LostAttempt reports the same for an attempt.
func (x *IDs) LostAttempt(id uint64) bool {
	return slices.ContainsFunc(x.gaps, func(g gap) bool { return within(g.attempts, id) })
}

// SeenJob continues above a job's id that a launcher or client has. It returns true for an id that
// this log never gave: if the clock and the log both went back, ids may repeat.
func (x *IDs) SeenJob(id uint64) (lost bool) {
	lost = id > x.job || x.LostJob(id)
	if lost {
		x.job = max(x.job, id)
	}
	return lost
}

// SeenAttempt does the same for an attempt's id.
func (x *IDs) SeenAttempt(id uint64) (lost bool) {
	lost = id > x.attempt || x.LostAttempt(id)
	if lost {
		x.attempt = max(x.attempt, id)
	}
	return lost
}

// NoticeLoss records that the log lost records, and reports whether this is the first time in this
// life.
func (x *IDs) NoticeLoss() (first bool) {
	first = !x.lost
	x.lost = true
	return first
}

// CodeLast codes the last ids given.
func (x *IDs) CodeLast(w *checkpoint.Codec) {
	for _, n := range []*uint64{&x.job, &x.bundle, &x.attempt, &x.launcher, &x.request, &x.reservation} {
		checkpoint.Num(w, n)
	}
}

// CodeLife codes fields that older checkpoints lack.
func (x *IDs) CodeLife(w *checkpoint.Codec) {
	checkpoint.Num(w, &x.began)
	checkpoint.Num(w, &x.firstJob)
	checkpoint.List(w, &x.gaps, func(w *checkpoint.Codec, g *gap) {
		for _, n := range []*uint64{&g.jobs[0], &g.jobs[1], &g.attempts[0], &g.attempts[1]} {
			checkpoint.Num(w, n)
		}
	})
	checkpoint.Flag(w, &x.lost)
}

// CodeBase codes the base, which older checkpoints lack.
func (x *IDs) CodeBase(w *checkpoint.Codec) { checkpoint.Num(w, &x.base) }

// Clone returns an independent copy.
func (x *IDs) Clone() IDs {
	y := *x
	y.gaps = slices.Clone(x.gaps)
	return y
}
