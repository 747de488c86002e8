package plugintest

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Policy is the policy of Good: it tracks free slots by the offers and launches bundles as they
// become ready; those that do not fit wait for a later round.
type Policy struct {
	waiting []scheduler.BundleReady
	offers  []scheduler.Offer
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// Check implements scheduler.TaskScheduler.
func (p *Policy) Check(c scheduler.Config) error {
	if string(c.Text) == "invalid" {
		return scheduler.Problems{{File: c.File, Line: 3, Message: "invalid on purpose"}}
	}
	return nil
}

// Start implements scheduler.TaskScheduler.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	if err := p.Check(c); err != nil {
		return scheduler.Description{}, err
	}
	p.learn(s.Events)
	return scheduler.Description{Name: "good", Version: "1"}, nil
}

// learn takes ready bundles from events, and takes back those that did not fit.
func (p *Policy) learn(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.BundleReady:
			p.waiting = append(p.waiting, e)
		case scheduler.Outcome:
			if e.Kind == scheduler.DecisionLaunch && e.Reason == scheduler.NoCapacity {
				p.waiting = append(p.waiting, scheduler.BundleReady{Bundle: e.Launch.Bundle, Groups: make([]scheduler.Group, len(e.Launch.Launchers))})
			}
		}
	}
}

// AssignTasks implements scheduler.TaskScheduler.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	p.learn(r.Events)
	p.stand(r.Offers)
	var d scheduler.Decisions
	var free []scheduler.LauncherID
	for _, o := range p.offers {
		if len(o.Free) > 0 {
			free = append(free, o.Launcher)
		}
	}
	if len(free) == 0 {
		return d, nil // waiting bundles stay
	}
	next := 0
	for _, b := range p.waiting {
		l := scheduler.Launch{Bundle: b.Bundle}
		for range b.Groups {
			l.Launchers = append(l.Launchers, free[next%len(free)])
			next++
		}
		d.Launch = append(d.Launch, l)
	}
	p.waiting = nil
	return d, nil
}

// stand applies changed offers; unlisted offers are unchanged.
func (p *Policy) stand(changed []scheduler.Offer) {
	for _, o := range changed {
		i := slices.IndexFunc(p.offers, func(old scheduler.Offer) bool { return old.Launcher == o.Launcher })
		if i < 0 {
			p.offers = append(p.offers, o)
			continue
		}
		p.offers[i] = o
	}
}

// Explain implements scheduler.TaskScheduler.
func (p *Policy) Explain(job scheduler.JobID) (scheduler.Explanation, error) {
	if job == 404 {
		return scheduler.Explanation{}, fmt.Errorf("%v: %w", job, scheduler.ErrUnknownJob)
	}
	return scheduler.Explanation{Reason: scheduler.WaitTurn, Detail: "others come first", Place: int(job)}, nil
}

// Status implements scheduler.TaskScheduler.
func (p *Policy) Status() (scheduler.Status, error) {
	return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "all", Demand: len(p.waiting)}}}, nil
}

// Terminate implements scheduler.TaskScheduler.
func (p *Policy) Terminate() {}
