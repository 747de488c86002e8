package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
)

// The published run: the research job takes about 225 s, and the production job
// comes 20 s after it. Ours runs at a tenth of that; what it takes to start processes
// is not scaled down.
const (
	discoScale   = 10
	discoMaps    = 25
	discoReduces = 5               // shuffle and reduce tasks, one for each launcher
	discoMap     = 8 * time.Second // a research map: 80 s
	discoLater   = 2 * time.Second // the production job comes: 20 s
	discoFaster  = 5.0             // times, at least; published 8.4
	discoSlower  = 1.10            // times, at most; published 1.04
	discoSlots   = 2
	discoNodes   = 5
)

// discoRun is what one policy made of the two jobs.
type discoRun struct {
	research, production *wire.JobStatus
}

func disco(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "%d launchers of %d slots; a research job of %d maps that take %v each, and a production job of as many maps\n"+
		"without pauses, which comes %v later; scale 1:%d of the published run, stretched %g times\n\n",
		discoNodes, discoSlots, discoMaps, l.scaled(discoMap), l.scaled(discoLater), discoScale, l.pace)
	plain, err := l.discoRun(ctx, "fair", discoFair)
	if err != nil {
		return fmt.Errorf("fair without preemption: %w", err)
	}
	if err := l.showDisco("disco-fair", "Disco: fair without preemption", plain); err != nil {
		return err
	}
	preemptive, err := l.discoRun(ctx, "preemptive-fair", discoPreemptive)
	if err != nil {
		return fmt.Errorf("preemptive fair: %w", err)
	}
	if err := l.showDisco("disco-preemptive", "Disco: preemptive fair", preemptive); err != nil {
		return err
	}
	c := claims{lab: l}
	faster := took(plain.production).Seconds() / took(preemptive.production).Seconds()
	c.that(faster >= l.faster, "the production job is %.1f times faster (%.2f s, without preemption %.2f s); at least %g, published 8.4",
		faster, took(preemptive.production).Seconds(), took(plain.production).Seconds(), l.faster)
	with, without := full(preemptive.research), full(plain.research)
	slower := with.Seconds() / without.Seconds()
	c.that(slower <= discoSlower, "the research job takes %.1f %% more time from when it has all slots (%.2f s, without preemption %.2f s); at most %.0f %%, published 4 %%",
		100*(slower-1), with.Seconds(), without.Seconds(), 100*(discoSlower-1))
	return c.err()
}

// full is how long a job took from when it had all slots: how long the first
// processes take to start is not what is compared.
func full(j *wire.JobStatus) time.Duration {
	var starts []int64
	for _, a := range j.Attempts {
		if a.Started != 0 {
			starts = append(starts, a.Started)
		}
	}
	slices.Sort(starts)
	return time.Duration(j.Summary.Ended - starts[min(len(starts), discoNodes*discoSlots)-1])
}

// discoRun runs the two jobs under a policy.
func (l *lab) discoRun(ctx context.Context, policy, settings string) (discoRun, error) {
	var run discoRun
	c, err := l.start(ctx, site{launchers: discoNodes, slots: discoSlots, policy: policy, settings: settings})
	if err != nil {
		return run, err
	}
	defer c.stop()
	research, err := c.submit(wordCount{pool: "research", maps: discoMaps, reduces: discoReduces, perMap: l.scaled(discoMap)})
	if err != nil {
		return run, err
	}
	if err := c.awaitRunning(ctx, "research", discoNodes*discoSlots); err != nil {
		return run, err
	}
	if err := sleep(ctx, l.scaled(discoLater)); err != nil {
		return run, err
	}
	production, err := c.submit(wordCount{pool: "production", maps: discoMaps, reduces: discoReduces})
	if err != nil {
		return run, err
	}
	jobs, err := awaitAll([]func() (*wire.JobStatus, error){research, production})
	if err != nil {
		return run, err
	}
	return discoRun{research: jobs[0], production: jobs[1]}, nil
}

func (l *lab) showDisco(name, title string, r discoRun) error {
	line := timeline.New([]string{"research", "production"}, spans(r.research, r.production))
	fmt.Fprintf(l.log, "%s: production %.2f s, research %.2f s, %d attempts preempted\n", title, took(r.production).Seconds(), took(r.research).Seconds(), preempted(r.research)+preempted(r.production))
	mark := drawing.Mark{At: since(r.research, r.production.Summary.Submitted), Text: "production job comes"}
	if err := l.show(line, name, title, discoNodes*discoSlots, l.scaled(discoMap/40), mark); err != nil {
		return err
	}
	fmt.Fprintln(l.log)
	return nil
}
