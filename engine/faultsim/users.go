package faultsim

import (
	"fmt"
	"math/rand/v2"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// userStream is the stream of random numbers for limits of users. Histories without limits do not
// depend on it.
const userStream = 0x75736572

// drawUserLimits draws what the attempts of the one user may hold: often less than a job needs that
// runs already, and now and then nothing is limited. Only one history of three has limits.
func (s *Sim) drawUserLimits() (l core.UserLimits) {
	if s.opt.Seed%3 != 1 {
		return l
	}
	if s.limits == nil {
		s.limits = rand.New(rand.NewPCG(s.opt.Seed, userStream)) //nolint:gosec // seeded on purpose
	}
	if s.limits.IntN(4) > 0 {
		l.Each.Slots = 1 + s.limits.IntN(8)
	}
	if s.limits.IntN(3) == 0 {
		l.Each.Resources = map[scheduler.ResourceKind]int{"gpu": 1 + s.limits.IntN(2), scheduler.CoresKind: 1 + s.limits.IntN(4)}
	}
	if s.limits.IntN(2) == 0 {
		l.Each.Jobs = jobsOfUser
	}
	return l
}

// jobsOfUser is a limit of jobs that no history reaches: it is shown.
const jobsOfUser = 1_000_000

// userLimits checks, after a round, that no launch or resumption of it exceeded its user's limit of
// slots. A limit that changed since may be below what is held.
func userLimits(v *view.View, r *scheduler.Round) error {
	var started []*view.Job
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.UserLimitSet:
			return nil
		case scheduler.Outcome:
			if b := v.Bundle(e.Launch.Bundle); e.Accepted && e.Kind == scheduler.DecisionLaunch && b != nil {
				started = append(started, b.Job)
			}
		}
	}
	for _, j := range started {
		holds := 0
		for _, x := range v.Jobs() {
			if x.Info.User != j.Info.User {
				continue
			}
			for _, a := range x.Attempts() {
				if a.State != view.Suspended || a.Resuming {
					holds += a.Need.Slots
				}
			}
		}
		if most := j.UserLimit().Slots; most > 0 && holds > most {
			return fmt.Errorf("user %s holds %d slots after a launch, and may hold %d", j.Info.User, holds, most)
		}
	}
	return nil
}
