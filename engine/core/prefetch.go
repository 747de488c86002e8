package core

import (
	"runtime"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/prefetch"
)

// prefetchReports touches what a batch of inputs is about, as far as they are
// launchers' reports of attempts. See package prefetch.
func (c *Core) prefetchReports(inputs []*wire.Input) {
	if len(inputs) < prefetch.BatchMin {
		return
	}
	var attempts [prefetch.Batch]*attempt
	n := 0
	for _, in := range inputs {
		if r := in.GetReport().GetReport(); r != nil {
			if a := c.attempts.Get(reported(r)); a != nil {
				attempts[n] = a
				n++
			}
		}
	}
	var sum byte
	for _, a := range attempts[:n] {
		sum += prefetch.All(a)
	}
	for _, a := range attempts[:n] {
		sum += prefetch.All(a.run) + prefetch.All(a.launcher)
	}
	for _, a := range attempts[:n] {
		sum += prefetch.All(a.run.bundle) + prefetch.At(a.launcher.free, 0) + prefetch.At(a.launcher.attempts, int(a.places[inLauncher]))
	}
	for _, a := range attempts[:n] {
		sum += prefetch.All(a.run.bundle.job)
	}
	for _, a := range attempts[:n] {
		j := a.run.bundle.job
		sum += prefetch.At(j.attempts, int(a.places[inJob])) + prefetch.At(j.attempts, len(j.attempts)-1)
		if int(a.stage) < len(j.stages) {
			sum += prefetch.All(&j.stages[a.stage])
		}
		if len(j.history) > 0 {
			sum += prefetch.All(&j.history[j.historyNext%len(j.history)])
		}
	}
	runtime.KeepAlive(sum)
}

// reported is the attempt a report is about; 0 for those that come seldom.
func reported(r *wire.Report) scheduler.AttemptID {
	switch w := r.GetWhat().(type) {
	case *wire.Report_Started:
		return scheduler.AttemptID(w.Started.GetAttempt())
	case *wire.Report_Progress:
		return scheduler.AttemptID(w.Progress.GetAttempt())
	case *wire.Report_Ended:
		return scheduler.AttemptID(w.Ended.GetAttempt())
	}
	return 0
}

// prefetchLaunches touches what a batch of launches is about.
func (c *Core) prefetchLaunches(launches []scheduler.Launch) {
	if len(launches) < prefetch.BatchMin {
		return
	}
	var bundles [prefetch.Batch]*bundle
	var launchers [prefetch.Batch]*launcher
	n := 0
	for _, d := range launches {
		b := c.bundles.Get(d.Bundle)
		if b == nil || len(d.Launchers) == 0 {
			continue
		}
		if l := c.launchers.get(d.Launchers[0]); l != nil {
			bundles[n], launchers[n] = b, l
			n++
		}
	}
	var sum byte
	for i, b := range bundles[:n] {
		sum += prefetch.All(b) + prefetch.All(launchers[i])
	}
	for i, b := range bundles[:n] {
		l := launchers[i]
		sum += prefetch.All(b.job) + prefetch.At(l.free, 0) + prefetch.At(l.attempts, len(l.attempts)-1)
	}
	for _, b := range bundles[:n] {
		j := b.job
		sum += prefetch.All(j.spec) + prefetch.At(j.ranOn, len(j.ranOn)/2) + prefetch.At(j.attempts, len(j.attempts)-1)
		if int(b.stage) < len(j.stages) {
			sum += prefetch.All(&j.stages[b.stage])
		}
		if b.next > 0 {
			sum += prefetch.All(&j.bundles[b.next-1])
		}
	}
	runtime.KeepAlive(sum)
}
