package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
)

// j1 has taken all slots when j2 to j5 arrive, which need five of them.
// laboratory/experiments/hfsp-preemption.yaml plays the same in virtual time.
const (
	figure7Launchers = 4
	figure7Slots     = 2                 // of each launcher
	figure7Large     = 500 * time.Second // a reduce of j1, which has 11
	figure7Small     = 400 * time.Second // a reduce of the others: j2 has two, and j3 to j5 have one

	figure7Scale = 100                    // of the published run
	figure7Later = 100 * time.Millisecond // the others arrive: 10 s
	figure7Near  = 0.10                   // allowed deviation of the mean sojourn time from the computed one
	figure7Look  = 20 * time.Millisecond  // sampling period of the slots' holders, for the drawing
)

// figure7Mode is a way in which j1 yields: settings are those of hfsp. mean is the mean sojourn
// time computed by hand, and killed is the expected number of killed attempts.
type figure7Mode struct {
	name, settings string
	mean           time.Duration
	killed         int
	waits          bool // the others' reduces wait until j1's first ones end
}

var figure7Modes = []figure7Mode{
	// Five of j1's tasks stop from 150 s to 550 s; three end at 640 s, and then the last three begin.
	{"eager", "preempt-reduces: suspend\n", 520 * time.Second, 0, false},
	// The others begin at 640 s, when j1's first tasks end.
	{"wait", "preempt-reduces: wait\n", 912 * time.Second, 0, true},
	// Five restart at 550 s, and the last three at 640 s. Samples would not be killed: three, so
	// that none of the five is one.
	{"kill", "preempt-reduces: kill\nsamples: 3\n", 520 * time.Second, 5, false},
}

// figure7Jobs are the parties, and the jobs in the order of their coming.
var figure7Jobs = [...]string{"j1", "j2", "j3", "j4", "j5"}

// figure7OnProcesses plays figure 7 on processes: each job is a short map, and the reduces.
func figure7OnProcesses(ctx context.Context, l *lab) error {
	large, small := l.figure7Times()
	fmt.Fprintf(l.log, "%d launchers of %d slots: j1 of 11 reduces of %v, then j2 of two of %v and j3, j4, j5 of one; scale 1:%d of the published run, stretched %g times\n\n",
		figure7Launchers, figure7Slots, large, small, figure7Scale, l.pace)
	var errs error
	for _, m := range figure7Modes {
		if err := figure7OnProcessesIn(ctx, l, m); err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errs
}

// figure7OnProcessesIn plays it in one mode.
func figure7OnProcessesIn(ctx context.Context, l *lab, m figure7Mode) error {
	large, small := l.figure7Times()
	jobs, line, err := l.figure7Processes(ctx, m.settings, large, small)
	if err != nil {
		return err
	}
	if err := l.show(line, "figure7-processes-"+m.name, "HFSP, figure 7 on processes: slots of five jobs, "+m.name, figure7Launchers*figure7Slots, large/10); err != nil {
		return err
	}
	mean, killed := time.Duration(0), 0
	for _, j := range jobs {
		mean += took(j) / time.Duration(len(jobs))
		killed += preempted(j)
	}
	c := claims{lab: l}
	want := figure7ByHand(m, jobs)
	off := (mean - want).Seconds() / want.Seconds()
	fmt.Fprintf(l.log, "%s: on a machine where nothing but the tasks takes time the mean would be %.2f s\n", m.name, l.scaled(m.mean/figure7Scale).Seconds())
	c.that(off >= -figure7Near && off <= figure7Near, "%s: the mean sojourn time is %.2f s; %.2f follow by hand from what tasks took here, which is %+.1f %%; at most %.0f %%",
		m.name, mean.Seconds(), want.Seconds(), 100*off, 100*figure7Near)
	c.that(killed == m.killed, "%s: %d attempts are killed; %d follow by hand", m.name, killed, m.killed)
	return c.err()
}

// figure7ByHand is the mean sojourn time computed from the schedule of a mode, with the times of
// maps and reduces in this run. Processes start and sleepers wake later on a busy machine, so the
// requested times would not do.
func figure7ByHand(m figure7Mode, jobs []*wire.JobStatus) time.Duration {
	first, others := jobs[0], jobs[1:]
	large, small := reduceTook(first), reduceTook(others...)
	freed := first.Summary.Ended
	for _, a := range first.Attempts {
		if a.Stage == reduceStage {
			freed = min(freed, a.Started+int64(large))
		}
	}
	sum := since(first, freed) + large // its last three reduces begin when its first ones end
	for _, j := range others {
		if m.waits {
			sum += since(j, freed) + small
		} else {
			sum += mapTook(j) + small
		}
	}
	return sum / time.Duration(len(jobs))
}

// reduceTook is the median time of the finished reduces of some jobs, without suspensions.
func reduceTook(jobs ...*wire.JobStatus) time.Duration {
	var all []time.Duration
	for _, j := range jobs {
		for _, a := range j.Attempts {
			if a.Stage == reduceStage && a.State == "finished" {
				all = append(all, time.Duration(a.Ended-a.Started-a.SuspendedNs))
			}
		}
	}
	if len(all) == 0 {
		return 0 // no reduce ran, which is no figure 7 at all
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// mapTook is the time from a job's submission to the end of its map.
func mapTook(j *wire.JobStatus) time.Duration {
	for _, a := range j.Attempts {
		if a.Stage == mapStage && a.State == "finished" {
			return since(j, a.Ended)
		}
	}
	return 0
}

// figure7Times are the work of a task of the large job, and of one of the small ones.
func (l *lab) figure7Times() (large, small time.Duration) {
	return l.scaled(figure7Large / figure7Scale), l.scaled(figure7Small / figure7Scale)
}

// figure7Processes runs the five jobs under the policy's settings.
func (l *lab) figure7Processes(ctx context.Context, settings string, large, small time.Duration) (jobs []*wire.JobStatus, line timeline.Line, err error) {
	c, err := l.start(ctx, site{launchers: figure7Launchers, slots: figure7Slots, policy: "hfsp", settings: settings + "locality: {mode: nearest}\n"})
	if err != nil {
		return nil, line, err
	}
	defer c.stop()
	looking, stop := context.WithCancel(ctx)
	looked := make(chan []timeline.Span, 1)
	go func() { looked <- c.look(looking) }()
	defer stop()
	var waits []func() (*wire.JobStatus, error)
	for i, n := range []int{11, 2, 1, 1, 1} {
		each := small
		if i == 0 {
			each = large
		}
		wait, err := c.submitReduces(figure7Jobs[i], n, each)
		if err != nil {
			return nil, line, err
		}
		waits = append(waits, wait)
		if i == 0 {
			err = c.awaitRunning(ctx, figure7Jobs[0], figure7Launchers*figure7Slots)
			if err := errors.Join(err, sleep(ctx, l.scaled(figure7Later))); err != nil {
				return nil, line, err
			}
		}
	}
	jobs, err = awaitAll(waits)
	stop()
	return jobs, timeline.New(figure7Jobs[:], <-looked), err
}

// look records the holders of slots, until ctx ends. A suspended attempt holds none.
func (c *cluster) look(ctx context.Context) []timeline.Span {
	var h holdings
	var slots [len(figure7Jobs)]int
	tick := time.NewTicker(figure7Look)
	defer tick.Stop()
	for began := time.Now(); ; {
		all, err := c.client.Jobs(ctx, false)
		clear(slots[:])
		for _, j := range all {
			i := slices.Index(figure7Jobs[:], j.Pool)
			if i < 0 {
				continue
			}
			s, statusErr := c.client.Status(ctx, j.Job, false)
			for _, stage := range s.GetStages() {
				slots[i] += int(stage.Running)
			}
			err = errors.Join(err, statusErr)
		}
		if err == nil {
			h.take(time.Since(began), slots[:])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.take(time.Since(began), make([]int, len(slots)))
			return h.spans
		}
	}
}

// holdings are the slots that each of figure7Jobs holds over time.
type holdings struct {
	began [len(figure7Jobs)][]time.Duration // those still held, the newest last
	spans []timeline.Span
}

// take records the slots that each job holds from a time on.
func (h *holdings) take(at time.Duration, slots []int) {
	for i, n := range slots {
		for len(h.began[i]) < n {
			h.began[i] = append(h.began[i], at)
		}
		for k := len(h.began[i]); k > n; k-- {
			h.spans = append(h.spans, timeline.Span{Party: figure7Jobs[i], Slots: 1, Start: h.began[i][k-1], End: at})
			h.began[i] = h.began[i][:k-1]
		}
	}
}
