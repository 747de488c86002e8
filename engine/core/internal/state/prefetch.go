package state

import (
	"runtime"

	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PrefetchReports touches the memory of attempts that a batch of inputs reports as started or
// ended. See package prefetch.
func (st *Cluster) PrefetchReports(inputs []*wire.Input) {
	var ending, starting [prefetch.Batch]*Attempt
	ends, starts := 0, 0
	for _, in := range inputs {
		switch w := in.GetReport().GetReport().GetWhat().(type) {
		case *wire.Report_Started:
			if a := st.Attempts.Get(scheduler.AttemptID(w.Started.GetAttempt())); a != nil {
				starting[starts] = a
				starts++
			}
		case *wire.Report_Ended:
			if a := st.Attempts.Get(scheduler.AttemptID(w.Ended.GetAttempt())); a != nil {
				ending[ends] = a
				ends++
			}
		}
	}
	runtime.KeepAlive(prefetchStarts(starting[:starts]) + prefetchEnds(ending[:ends]))
}

func prefetchStarts(attempts []*Attempt) (sum byte) {
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.BundleAttempt, 1) + prefetch.First(a.Launcher, 1)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.BundleAttempt.Bundle, 1)
	}
	for _, a := range attempts {
		sum += prefetch.First(a.BundleAttempt.Bundle.Job, 1)
	}
	return sum
}

func prefetchEnds(attempts []*Attempt) (sum byte) {
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.BundleAttempt) + prefetch.First(a.Launcher, launcherHot)
	}
	for _, a := range attempts {
		sum += prefetch.All(a.BundleAttempt.Bundle) + prefetch.At(a.Launcher.Free(), 0) + prefetch.At(a.Launcher.attempts, int(a.places[inLauncher]))
	}
	for _, a := range attempts {
		sum += prefetch.First(a.BundleAttempt.Bundle.Job, jobHot)
	}
	for _, a := range attempts {
		j := a.BundleAttempt.Bundle.Job
		sum += prefetch.At(j.attempts, int(a.places[inJob])) + prefetch.At(j.attempts, len(j.attempts)-1)
		sum += prefetch.At(j.Stages, int(a.Stage))
		if p := j.Stats.Oldest(); p != nil {
			sum += prefetch.All(p)
		}
	}
	return sum
}

// PrefetchLaunches touches the memory that a batch of launches uses.
func (st *Cluster) PrefetchLaunches(launches []scheduler.Launch) {
	var bundles [prefetch.Batch]*Bundle
	var launchers [prefetch.Batch]*Launcher
	n := 0
	for _, d := range launches {
		b := st.Bundles.Get(d.Bundle)
		if b == nil || len(d.Launchers) == 0 {
			continue
		}
		if l := st.Launchers.Get(d.Launchers[0]); l != nil {
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
		sum += prefetch.First(b.Job, jobHot) + prefetch.At(l.Free(), 0) + prefetch.At(l.attempts, len(l.attempts)-1)
	}
	for _, b := range bundles[:n] {
		j := b.Job
		sum += prefetch.At(j.RanOn.ids, len(j.RanOn.ids)/2) + prefetch.At(j.attempts, len(j.attempts)-1)
		if int(b.Stage) < len(j.Stages) {
			sum += prefetch.All(&j.Stages[b.Stage])
		}
		if b.next > 0 {
			sum += prefetch.First(&j.Bundles[b.next-1].next, 1)
		}
	}
	runtime.KeepAlive(sum)
}

// PrefetchSpecs touches the memory that start commands are built from.
func PrefetchSpecs(list []step.Effect) {
	var sum byte
	for _, t := range list {
		if a, later := t.Deferred.(*Attempt); later {
			sum += prefetch.All(a.BundleAttempt.Bundle.Job.Spec)
		}
	}
	runtime.KeepAlive(sum)
}

// PrefetchAttempts touches the memory of attempts.
func PrefetchAttempts(attempts []*Attempt) {
	var sum byte
	for _, a := range attempts {
		sum += prefetch.All(a)
	}
	runtime.KeepAlive(sum)
}
