package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
)

// The published run, with times in its own seconds: C enters at 5, and until 55
// each pool has its share. Ours runs at a tenth of that: a map takes 2 s.
const (
	figure5Scale    = 10
	figure5Map      = 2 * time.Second
	figure5C        = 500 * time.Millisecond // after A and B have filled the slots
	figure5Timeout  = 300 * time.Millisecond // below two thirds of its share, before a pool may preempt
	figure5Grace    = 100 * time.Millisecond // of a soft kill
	figure5Reaction = 500 * time.Millisecond // allowed on top for the victims' end: the policy looks every 50 ms, and processes are killed
	figure5Starting = 2 * time.Second        // allowed for starting three processes in their place
)

// figure5Pools are the pools with weights 1, 2 and 3.
var figure5Pools = []string{"A", "B", "C"}

func figure5(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "one launcher of 6 slots; pools A, B, C of weights 1, 2, 3, each a word count of 6 maps and 1 reduce;\n"+
		"scale 1:%d of the published run, stretched %g times: a map takes %v\n\n", figure5Scale, l.pace, l.scaled(figure5Map))
	jobs, err := l.figure5Jobs(ctx)
	if err != nil {
		return err
	}
	line := timeline.New(figure5Pools, spans(jobs...))
	entered := since(jobs[0], jobs[2].Summary.Submitted)
	if err := l.show(line, "figure5", "Hammr, figure 5: slots of pools A, B and C (weights 1, 2, 3)", 6, l.scaled(figure5Map/20), drawing.Mark{At: entered, Text: "C enters"}); err != nil {
		return err
	}
	return l.figure5Claims(line, entered, jobs)
}

// figure5Jobs runs the three jobs.
func (l *lab) figure5Jobs(ctx context.Context) ([]*wire.JobStatus, error) {
	c, err := l.start(ctx, site{
		launchers: 1, slots: 6, policy: "fair", settings: figure5Settings(l),
	})
	if err != nil {
		return nil, err
	}
	defer c.stop()
	job := func(pool string) wordCount {
		return wordCount{pool: pool, maps: 6, reduces: 1, perMap: l.scaled(figure5Map)}
	}
	var waits []func() (*wire.JobStatus, error)
	for i, pool := range figure5Pools {
		if i == 2 { // A and B have filled the slots for a while
			for j, p := range figure5Pools[:2] {
				if err := c.awaitRunning(ctx, p, uint32(2*(j+1))); err != nil {
					return nil, err
				}
			}
			if err := sleep(ctx, l.scaled(figure5C)); err != nil {
				return nil, err
			}
		}
		wait, err := c.submit(job(pool))
		if err != nil {
			return nil, err
		}
		waits = append(waits, wait)
	}
	return awaitAll(waits)
}

// awaitAll waits for jobs; it waits for all of them also when one fails.
func awaitAll(waits []func() (*wire.JobStatus, error)) ([]*wire.JobStatus, error) {
	var jobs []*wire.JobStatus
	var first error
	for _, wait := range waits {
		j, err := wait()
		if err != nil && first == nil {
			first = err
		}
		jobs = append(jobs, j)
	}
	return jobs, first
}

// figure5Claims holds the time line against the published one.
func (l *lab) figure5Claims(line timeline.Line, entered time.Duration, jobs []*wire.JobStatus) error {
	c := claims{lab: l}
	before := line.At(entered)
	c.that(before[0] == 2 && before[1] == 4, "A and B share the slots 2 to 4 when C enters: %v", before)

	bound := l.scaled(figure5Timeout + figure5Grace + figure5Reaction)
	victims, gone := preemptedAfter(entered, jobs)
	c.that(slices.Equal(victims, []int{1, 2, 0}), "attempts are preempted for C: %d of A, %d of B", victims[0], victims[1])
	c.that(gone > entered && gone-entered <= bound, "they are gone %v after C entered: the preemption delay is %v, the grace %v; at most %v",
		(gone - entered).Round(time.Millisecond), l.scaled(figure5Timeout), l.scaled(figure5Grace), bound)
	shared, ok := line.First(entered, []int{1, 2, 3}, l.scaled(figure5Map/4))
	c.that(ok && shared-gone <= l.scaled(figure5Starting), "the shares are 1, 2 and 3 from %.2f s on, %v later", shared.Seconds(), (shared - gone).Round(time.Millisecond))

	full := min(lastMap(jobs[0], jobs[1]), lastMap(jobs[0], jobs[2])) // until B or C has no map left that waits
	mean := line.Mean(shared, full)
	near := full > shared
	for i, want := range []float64{1, 2, 3} {
		near = near && math.Abs(mean[i]-want) <= 0.2*want
	}
	c.that(near, "from %.1f s to %.1f s each pool has its share on average: %.2f, %.2f, %.2f", shared.Seconds(), full.Seconds(), mean[0], mean[1], mean[2])

	most := 0
	for _, s := range line.Steps {
		if s.At >= full {
			most = max(most, s.Counts[0])
		}
	}
	c.that(most > 1, "when B and C need less than their shares, A gets spare slots: it has up to %d", most)
	return c.err()
}

// preemptedAfter counts the attempts of each job that were preempted after a
// moment, and says when the last of them was gone.
func preemptedAfter(moment time.Duration, jobs []*wire.JobStatus) (counts []int, gone time.Duration) {
	counts = make([]int, len(jobs))
	for i, j := range jobs {
		for _, a := range j.Attempts {
			if end := since(jobs[0], a.Ended); a.State == "preempted" && end > moment {
				counts[i]++
				gone = max(gone, end)
			}
		}
	}
	return counts, gone
}

// lastMap is when the last map of a job started.
func lastMap(first, j *wire.JobStatus) time.Duration {
	var last int64
	for _, a := range j.Attempts {
		if a.Stage == mapStage {
			last = max(last, a.Started)
		}
	}
	return since(first, last)
}

// sleep waits, or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
