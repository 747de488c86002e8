package policy

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Speculate asks the manager to offer a second attempt of a running bundle, for a policy that knows better than the
// manager what is slow. The manager may refuse (scheduler.Speculate says why); otherwise the bundle is in Seconds of a
// later pass, and may be launched on another launcher.
//
// It returns false, and decides nothing, if the bundle has not one group with one attempt that runs or is suspended, if
// a second attempt is offered already, if its job has as many second attempts as scheduler.Limits allows, or if the
// manager is too old for Speculate or its site allows none.
func (p *Pass[O, S]) Speculate(b *view.Bundle) bool {
	limits := p.driver.env.Limits
	if limits.SpeculationPercent == 0 || b.State != view.Launched || b.SpeculationOffered || len(b.Groups) != 1 || len(b.Attempts()) != 1 {
		return false
	}
	a := b.Attempts()[0]
	if a.Speculative || a.State != view.Running && a.State != view.Suspended || a.Stopping || p.driver.leaves(a) || p.speculates(b) {
		return false
	}
	if p.seconds(b.Job) >= limits.SecondsMax(len(b.Job.Attempts())) {
		return false
	}
	p.decisions.Speculate = append(p.decisions.Speculate, scheduler.Speculate{Bundle: b.ID})
	return true
}

// speculates reports whether the pass asks for a second attempt of a bundle.
func (p *Pass[O, S]) speculates(b *view.Bundle) bool {
	return slices.Contains(p.decisions.Speculate, scheduler.Speculate{Bundle: b.ID})
}

// seconds counts a job's second attempts: those that run, are offered, or are asked for by this pass.
func (p *Pass[O, S]) seconds(j *view.Job) (n int) {
	for _, a := range j.Attempts() {
		if a.Speculative || a.Bundle.SpeculationOffered {
			n++
		}
	}
	for _, x := range p.decisions.Speculate {
		if b := p.driver.view.Bundle(x.Bundle); b != nil && b.Job == j {
			n++
		}
	}
	return n
}
