package cluster

import (
	"reflect"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// BusyOver is the CPU load over which a launch counts in Tally.Busy.
const BusyOver = 0.8

// Tally counts events, as reported in rounds.
type Tally struct {
	Rounds, Launches, Preemptions, Victims, Suspensions, Resumptions         int
	Admitted, RefusedJobs, Answers, Notes, Checkpoints, Races, StaleRefusals int
	Submitted, Ended, Failed, Lost, Finished                                 int // jobs; attempts that failed; bundles that had to run again; attempts that finished
	KindsChanged, StagesGrown                                                int // stages whose slot kind was changed; those that had more groups than before
	Local, Located                                                           int // groups launched node-local, of those with located input
	Loads, Busy                                                              int // reported loads; groups launched where the reported CPU load exceeded BusyOver
	Asked                                                                    int // admission requests to the policy
	Protected, NothingGained, PreemptionsRefused                             int // preemptions refused: for these reasons, and in all
	Reservations, Drawn, Lapsed                                              int // that kept anything; that a launch used; that ended unused
	Changes, Changed                                                         int // other settings that the policy might refuse; those that it accepted
	SpeculationOffered, Seconds                                              int // offers to launch a straggler, or a long suspended bundle, a second time; those that were taken
	Speculated                                                               int // accepted requests for second attempts (Speculate)
	Overdue, Raced                                                           int // of both, those of suspended bundles
	Planned, PlannedUsed                                                     int // accepted reservations without a preemption (Reserve); those whose bundle was launched
	SuspensionsFailed                                                        int // that their launchers could not do
	ForSuspended, Stuck                                                      int // preemptions for a suspended bundle; suspended attempts that could not be resumed
	KilledSuspended                                                          int // jobs that were killed while an attempt of theirs was suspended
}

// Add adds another's counts.
func (t *Tally) Add(o Tally) {
	sum, more := reflect.ValueOf(t).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// watch counts a round's events, before they are applied to the mirror.
func (c *Cluster) watch(events []scheduler.Event) {
	t := &c.Tally
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.Outcome:
			c.outcome(e)
			c.tallyOutcome(e)
		case scheduler.AdmissionAsked:
			c.admissionAsked(e)
		case scheduler.Requested:
			c.requestAsked(e)
		case scheduler.JobFinished:
			t.Ended++
			delete(c.exchange.asked, e.Job)
		case scheduler.BundleReopened:
			t.Lost++
		case scheduler.AttemptSuspended:
			t.Suspensions++
		case scheduler.AttemptResumed:
			t.Resumptions++
		case scheduler.AttemptProgress:
			c.progress[e.Attempt] = e
		case scheduler.AttemptEnded:
			delete(c.progress, e.Attempt)
			switch e.Outcome {
			case scheduler.Failed:
				t.Failed++
			case scheduler.Finished:
				t.Finished++
			}
		case scheduler.LauncherLoad:
			t.Loads++
		case scheduler.StageGrown:
			if j := c.mirror.Job(e.Job); j != nil && e.Groups > j.Info.Stages[e.Stage].Groups {
				t.StagesGrown++
			} else {
				t.KindsChanged++
			}
		case scheduler.SpeculationOffered:
			t.SpeculationOffered++
		case scheduler.ReservationEnded:
			if e.End == scheduler.ReservationUsed {
				t.PlannedUsed++
			}
		}
	}
}

func (c *Cluster) tallyOutcome(o scheduler.Outcome) {
	t := &c.Tally
	if !o.Accepted {
		c.tallyRefusal(o)
		return
	}
	switch o.Kind {
	case scheduler.DecisionAdmit:
		t.Admitted++
	case scheduler.DecisionRefuse:
		t.RefusedJobs++
	case scheduler.DecisionPreempt:
		c.tallyPreemption(o.Preempt)
	case scheduler.DecisionReserve:
		t.Planned++
	case scheduler.DecisionSpeculate:
		t.Speculated++
	case scheduler.DecisionLaunch:
		c.tallyLaunch(o.Launch)
	case scheduler.DecisionResume:
		for _, id := range o.Attempts {
			if a := c.mirror.Attempt(id); a != nil {
				c.drawn(a.Job().ID(), a.Bundle.ID, a.Launcher)
			}
		}
	}
}

func (c *Cluster) tallyRefusal(o scheduler.Outcome) {
	if o.Kind != scheduler.DecisionPreempt {
		return
	}
	c.Tally.PreemptionsRefused++
	switch o.Reason {
	case scheduler.Protected:
		c.Tally.Protected++
	case scheduler.NothingGained:
		c.Tally.NothingGained++
	}
}

func (c *Cluster) tallyPreemption(p scheduler.Preempt) {
	c.Tally.Preemptions++
	if b := c.mirror.Bundle(p.Bundle); b != nil && b.State == view.Launched {
		c.Tally.ForSuspended++
	}
	var bundles []*view.Bundle // bundles that are launched together end their wait together
	for _, id := range p.Victims {
		a := c.mirror.Attempt(id)
		if a == nil || slices.Contains(bundles, a.Bundle) {
			continue
		}
		bundles = append(bundles, a.Bundle)
		c.Tally.Victims += len(a.Bundle.Attempts())
		if c.exchange.preempted[a.Bundle.ID]++; c.exchange.preempted[a.Bundle.ID] == preemptedMax {
			c.fault("%v was preempted %d times", a.Bundle.ID, preemptedMax)
		}
	}
}

func (c *Cluster) tallyLaunch(x scheduler.Launch) {
	t := &c.Tally
	t.Launches++
	b := c.mirror.Bundle(x.Bundle)
	if b.State == view.Launched {
		t.Seconds++
		if slices.ContainsFunc(b.Attempts(), func(a *view.Attempt) bool { return a.State == view.Suspended }) {
			t.Raced++
		}
	}
	for i, id := range x.Launchers {
		c.drawn(b.Job.ID(), b.ID, id)
		if l := c.mirror.Launcher(id); l != nil && l.CPULoad > BusyOver {
			t.Busy++
		}
		if places := b.Groups[i].Places; len(places) > 0 {
			t.Located++
			if places[0].Host == Host(id) {
				t.Local++
			}
		}
	}
}

// keptFor is the owner of reserved slots: a bundle or, with bundle 0, any of a job's.
type keptFor struct {
	job    scheduler.JobID
	bundle scheduler.BundleID
}

// kept is a reservation, on one launcher or several.
type kept struct {
	on    []scheduler.LauncherID
	drawn bool
}

// drawn records that a bundle starts or resumes on a launcher with a possible reservation for it.
func (c *Cluster) drawn(job scheduler.JobID, bundle scheduler.BundleID, at scheduler.LauncherID) {
	for _, who := range []keptFor{{job, bundle}, {job, 0}} {
		if k := c.kept[who]; k != nil && !k.drawn && slices.Contains(k.on, at) {
			k.drawn = true
			c.Tally.Drawn++
		}
	}
}

// watchReserved counts new and ended reservations, after the mirror has a round.
func (c *Cluster) watchReserved() {
	for _, k := range c.kept {
		k.on = k.on[:0]
	}
	for _, l := range c.mirror.Launchers() {
		for _, r := range l.Offer.Reserved {
			if b := c.mirror.Bundle(r.Bundle); b != nil && b.ReservedUntil != 0 {
				continue // the policy asked for it by Reserve
			}
			who := keptFor{r.Job, r.Bundle}
			k := c.kept[who]
			if k == nil {
				k = &kept{}
				c.kept[who] = k
				c.Tally.Reservations++
			}
			k.on = append(k.on, l.ID)
		}
	}
	for who, k := range c.kept {
		if len(k.on) > 0 {
			continue
		}
		delete(c.kept, who)
		if !k.drawn && c.mirror.Job(who.job) != nil {
			c.Tally.Lapsed++
		}
	}
}
