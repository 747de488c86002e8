package core

import (
	"runtime"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// prefetchReports touches what a batch of inputs is about, as far as they tell of
// attempts that start or end. See package prefetch.
func (c *Core) prefetchReports(inputs []*wire.Input) {
	var ending, starting [prefetch.Batch]*attempt
	ends, starts := 0, 0
	for _, in := range inputs {
		switch w := in.GetReport().GetReport().GetWhat().(type) {
		case *wire.Report_Started:
			if a := c.attempts.Get(scheduler.AttemptID(w.Started.GetAttempt())); a != nil {
				starting[starts] = a
				starts++
			}
		case *wire.Report_Ended:
			if a := c.attempts.Get(scheduler.AttemptID(w.Ended.GetAttempt())); a != nil {
				ending[ends] = a
				ends++
			}
		}
	}
	runtime.KeepAlive(prefetchStarts(starting[:starts]) + prefetchEnds(ending[:ends]))
}

func prefetchStarts(attempts []*attempt) (sum byte) {
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.run, 1) + prefetch.First(a.launcher, 1)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.run.bundle, 1)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.run.bundle.job, 1)
	}
	return sum
}

func prefetchEnds(attempts []*attempt) (sum byte) {
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.run) + prefetch.First(a.launcher, launcherHot)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.run.bundle) + prefetch.At(a.launcher.Free(), 0) + prefetch.At(a.launcher.attempts, int(a.places[inLauncher]))
	}
	for _, a := range attempts {
		sum += prefetch.First(a.run.bundle.job, jobHot)
	}
	for _, a := range attempts {
		j := a.run.bundle.job
		sum += prefetch.At(j.attempts, int(a.places[inJob])) + prefetch.At(j.attempts, len(j.attempts)-1)
		sum += prefetch.At(j.stages, int(a.stage))
		if p := j.tally.Oldest(); p != nil {
			sum += prefetch.All(p)
		}
	}
	return sum
}

// prefetchLaunches touches what a batch of launches is about.
func (c *Core) prefetchLaunches(launches []scheduler.Launch) {
	var bundles [prefetch.Batch]*bundle
	var launchers [prefetch.Batch]*launcher
	n := 0
	for _, d := range launches {
		b := c.bundles.Get(d.Bundle)
		if b == nil || len(d.Launchers) == 0 {
			continue
		}
		if l := c.launchers.Get(d.Launchers[0]); l != nil {
			bundles[n], launchers[n] = b, l
			n++
		}
	}
	var sum byte
	for i, b := range bundles[:n] {
		sum += prefetch.All(b) + prefetch.First(launchers[i], launcherHot)
	}
	for i, b := range bundles[:n] {
		l := launchers[i]
		sum += prefetch.First(b.job, jobHot) + prefetch.At(l.Free(), 0) + prefetch.At(l.attempts, len(l.attempts)-1)
	}
	for _, b := range bundles[:n] {
		j := b.job
		sum += prefetch.At(j.ranOn, len(j.ranOn)/2) + prefetch.At(j.attempts, len(j.attempts)-1)
		if int(b.stage) < len(j.stages) {
			sum += prefetch.All(&j.stages[b.stage])
		}
		if b.next > 0 {
			sum += prefetch.First(&j.bundles[b.next-1].next, 1)
		}
	}
	runtime.KeepAlive(sum)
}

// prefetchSpecs touches what start commands are made of.
func prefetchSpecs(list []step.Todo) {
	var sum byte
	for _, t := range list {
		if a, later := t.Later.(*attempt); later {
			sum += prefetch.All(a.run.bundle.job.spec)
		}
	}
	runtime.KeepAlive(sum)
}

// prefetchAttempts touches attempts.
func prefetchAttempts(attempts []*attempt) {
	var sum byte
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	runtime.KeepAlive(sum)
}

// prefetchRows touches what is shown of attempts.
func prefetchRows(attempts []*attempt) {
	var sum byte
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.run)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.run.bundle)
	}
	runtime.KeepAlive(sum)
}
