package hfsp

import (
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// learn records what events say about task lengths, and about refused preemptions.
func (p *Policy) learn(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.AttemptProgress:
			if a := p.view.Attempt(e.Attempt); a != nil {
				p.progressed(a, e)
			}
		case scheduler.AttemptEnded:
			if a := p.view.LiveOrEnded(e.Attempt); a != nil {
				p.ended(a, e.Outcome)
			}
		case scheduler.Outcome:
			p.outcome(e)
		}
	}
}

// progressed records the progress of an executing attempt.
func (p *Policy) progressed(a *view.Attempt, e scheduler.AttemptProgress) {
	w := p.index.Of(a)
	if w == nil || a.Phase != scheduler.PhaseExecute {
		return
	}
	if p.estimator.Progress(of(w).tasks, uint64(a.ID), measure(a, a.Ran(e.At)), e.Progress) {
		p.index.Touch(w)
	}
}

// ended records the end of an attempt.
func (p *Policy) ended(a *view.Attempt, outcome scheduler.AttemptOutcome) {
	w := p.index.Of(a)
	if w == nil {
		return
	}
	if outcome == scheduler.Finished {
		// Ran counts on from Since, which is already the end of an ended attempt.
		p.estimator.Finished(of(w).tasks, uint64(a.ID), measure(a, a.Ran(a.Since)))
	} else {
		p.estimator.Gone(of(w).tasks, uint64(a.ID))
	}
}

// measure splits the time that an attempt has run into shuffle and execution.
func measure(a *view.Attempt, ran time.Duration) estimation.Measure {
	ran = max(ran, 0)
	shuffled := time.Duration(0)
	if a.Job().Info.Stages[a.Need.Stage].Shuffles {
		if shuffled = ran; a.Phase == scheduler.PhaseExecute {
			shuffled = min(max(a.PhaseSince.Sub(a.AssignedAt), 0), ran)
		}
	}
	return estimation.Measure{Shuffle: shuffled.Seconds(), Execute: (ran - shuffled).Seconds(), Bytes: a.Need.InputBytes}
}

// outcome records whether the manager accepted or refused a preemption.
func (p *Policy) outcome(o scheduler.Outcome) {
	switch {
	case o.Kind == scheduler.DecisionPreempt && o.Accepted:
		p.memory.accepted(o.Preempt.For)
	case o.Kind == scheduler.DecisionPreempt && o.Reason != scheduler.Shadowed:
		p.memory.refused(o)
		if o.Reason == scheduler.Unsupported && o.Preempt.Mode == scheduler.PreemptSuspend {
			for _, id := range o.Preempt.Victims {
				if a := p.view.Attempt(id); a != nil {
					p.memory.cannotSuspend(a.Launcher)
				}
			}
		}
	}
}
