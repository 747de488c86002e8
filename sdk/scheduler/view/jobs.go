package view

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobs holds the live jobs and those of their bundles that were ready at least once. A bundle is in
// bundles and in its job's list, or in neither.
type jobs struct {
	byID    idmap.Map[scheduler.JobID, Job]
	list    []*Job // those of byID, in order of id
	bundles idmap.Map[scheduler.BundleID, Bundle]
	users   users
	// turn counts Apply and Start, and jobs share it: a bundle given to Launch is marked with the
	// turn. The round's number would not do: a policy may start at any round, and marks from before
	// a restart must not match.
	turn *uint64
}

// Jobs returns the live jobs in order of id.
func (js *jobs) Jobs() []*Job { return js.list }

// Job returns a live job, or nil.
func (js *jobs) Job(id scheduler.JobID) *Job { return js.byID.Get(id) }

// Bundle returns a bundle that was ready at least once, of a live job, or nil.
func (js *jobs) Bundle(id scheduler.BundleID) *Bundle { return js.bundles.Get(id) }

// Ready walks the ready bundles in order of job, then id. Like all walks of a job's bundles it skips
// those that were given to Launch or Bundle.LeaveOut since the last Apply, and those that their user's
// limit keeps from a launch (Bundle.WithinUserLimit). Bundles that run and are offered for a second
// attempt are in Job.Seconds.
func (js *jobs) Ready() iter.Seq[*Bundle] { return js.each((*Job).Ready) }

// Launchable walks the ready bundles, and those that are offered for a second attempt, in order of
// job, then id. It has those beyond their user's limit, too: policies make their own lists of it.
func (js *jobs) Launchable() iter.Seq[*Bundle] {
	return js.each(func(j *Job) iter.Seq[*Bundle] { return j.launchable.all(*j.turn) })
}

func (js *jobs) each(of func(*Job) iter.Seq[*Bundle]) iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for _, j := range js.list {
			for b := range of(j) {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// Launch returns the decision to launch a bundle. Walks skip the bundle from then on until the next
// Apply.
func (js *jobs) Launch(b *Bundle, where []scheduler.LauncherID) scheduler.Launch {
	b.LeaveOut()
	return scheduler.Launch{Bundle: b.ID, Launchers: where}
}

// forgetJobs removes all jobs and bundles.
func (js *jobs) forgetJobs() {
	if js.turn == nil {
		js.turn = new(uint64)
	}
	js.forgetGiven()
	*js = jobs{turn: js.turn}
}

// forgetGiven makes walks yield the bundles given to Launch again.
func (js *jobs) forgetGiven() { *js.turn++ }

func (js *jobs) submitted(e scheduler.JobSubmitted) error {
	if js.byID.Get(e.Job.ID) != nil {
		return fmt.Errorf("%s was submitted already", e.Job.ID)
	}
	j := &Job{Info: e.Job, turn: js.turn, Counts: make([]Counts, len(e.Job.Stages))}
	j.Info.Stages = slices.Clone(e.Job.Stages) // a copy, since the job's list grows
	for i, s := range e.Job.Stages {
		j.Counts[i].Waiting = s.Groups
	}
	js.byID.Set(e.Job.ID, j)
	js.list = insert(js.list, j, (*Job).ID)
	js.users.submitted(j)
	return nil
}

func (js *jobs) updated(e scheduler.JobUpdated) error {
	j, err := js.job(e.Job)
	if err != nil {
		return err
	}
	j.Info.Pool, j.Info.Priority, j.Info.Properties = e.Pool, e.Priority, e.Properties
	j.Info.TimeLimit, j.Info.Deadline = e.TimeLimit, e.Deadline
	return nil
}

func (js *jobs) jobFinished(e scheduler.JobFinished) error {
	j, err := js.job(e.Job)
	if err != nil {
		return err
	}
	if j.live.len() > 0 {
		return fmt.Errorf("%s finished while attempt %d is live", e.Job, j.live.first().ID)
	}
	if len(j.ahead) > 0 {
		return fmt.Errorf("%s finished while attempt %d is held ahead", e.Job, j.ahead[0].ID)
	}
	for _, b := range j.bundles {
		js.bundles.Delete(b.ID)
	}
	js.byID.Delete(e.Job)
	js.list = remove(js.list, e.Job, (*Job).ID)
	js.users.finished(j)
	return nil
}

func (js *jobs) grown(e scheduler.StageGrown) error {
	j, err := js.job(e.Job)
	if err != nil {
		return err
	}
	if int(e.Stage) >= len(j.Counts) || e.Groups < j.Info.Stages[e.Stage].Groups {
		return fmt.Errorf("%s: stage %d cannot grow to %d groups", e.Job, e.Stage, e.Groups)
	}
	j.Counts[e.Stage].Waiting += e.Groups - j.Info.Stages[e.Stage].Groups
	j.Info.Stages[e.Stage].Groups = e.Groups
	if e.Kind != "" {
		j.Info.Stages[e.Stage].Kind = e.Kind
	}
	return nil
}

func (js *jobs) job(id scheduler.JobID) (*Job, error) {
	if j := js.byID.Get(id); j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("%s is not known", id)
}

func (js *jobs) bundle(job scheduler.JobID, id scheduler.BundleID) (*Bundle, error) {
	b := js.bundles.Get(id)
	if b == nil {
		return nil, fmt.Errorf("%v of %s is not known", id, job)
	}
	if b.Job.ID() != job {
		return nil, fmt.Errorf("%v is of %s and not of %s", id, b.Job.ID(), job)
	}
	return b, nil
}

func (js *jobs) ready(e scheduler.BundleReady) error {
	j, err := js.job(e.Job)
	if err != nil {
		return err
	}
	if len(e.Groups) == 0 {
		return fmt.Errorf("%v of %s has no groups", e.Bundle, e.Job)
	}
	for _, g := range e.Groups {
		if int(g.Stage) >= len(j.Counts) {
			return fmt.Errorf("%v of %s names stage %d of %d", e.Bundle, e.Job, g.Stage, len(j.Counts))
		}
	}
	b := js.bundles.Get(e.Bundle)
	switch {
	case b == nil:
		b = &Bundle{ID: e.Bundle, Job: j}
		js.bundles.Set(e.Bundle, b)
		j.bundles = append(j.bundles, b)
	case b.Job != j:
		return fmt.Errorf("%v is of %s and not of %s", e.Bundle, b.Job.ID(), e.Job)
	case b.State != Waiting:
		return fmt.Errorf("%v of %s is ready again while it is %s", e.Bundle, e.Job, b.State)
	}
	b.becomeReady(&e)
	return nil
}

func (js *jobs) withdrawn(e scheduler.BundleWithdrawn) error {
	b, err := js.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Ready {
		return fmt.Errorf("%v of %s is withdrawn while it is %s", e.Bundle, e.Job, b.State)
	}
	b.withdraw()
	return nil
}

func (js *jobs) reopened(e scheduler.BundleReopened) error {
	b, err := js.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Finished {
		return fmt.Errorf("%v of %s is reopened while it is %s", e.Bundle, e.Job, b.State)
	}
	b.move(Waiting)
	return nil
}

// givenUp counts a waiting bundle as finished, or a bundle that was given up as waiting.
func (js *jobs) givenUp(e scheduler.BundleGivenUp) error {
	j, err := js.job(e.Job)
	if err != nil {
		return err
	}
	if int(e.Stage) >= len(j.Counts) {
		return fmt.Errorf("%v of %s names stage %d of %d", e.Bundle, e.Job, e.Stage, len(j.Counts))
	}
	from, to := Waiting, Finished
	if !e.GivenUp {
		from, to = Finished, Waiting
	}
	b := js.bundles.Get(e.Bundle)
	switch {
	case b == nil && e.GivenUp: // it was never ready
		b = &Bundle{ID: e.Bundle, Job: j, stage: e.Stage, staged: true}
		js.bundles.Set(e.Bundle, b)
		j.bundles = append(j.bundles, b)
	case b == nil:
		return fmt.Errorf("%v of %s is not known", e.Bundle, e.Job)
	case b.Job != j:
		return fmt.Errorf("%v is of %s and not of %s", e.Bundle, b.Job.ID(), e.Job)
	case b.State != from || len(b.attempts) > 0:
		return fmt.Errorf("%v of %s is given up (%t) while it is %s with %d attempts", e.Bundle, e.Job, e.GivenUp, b.State, len(b.attempts))
	}
	b.move(to)
	b.Groups, b.Avoid = nil, nil
	return nil
}

func (js *jobs) speculationOffered(e scheduler.SpeculationOffered) error {
	b, err := js.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Launched || b.SpeculationOffered || len(e.Groups) != len(b.Groups) {
		return fmt.Errorf("%v of %s (%s, %d groups) cannot have a second attempt of %d groups",
			e.Bundle, e.Job, b.State, len(b.Groups), len(e.Groups))
	}
	b.offerSpeculation(&e)
	return nil
}

// speculationWithdrawn ends an offer. It may have ended already: an end of an attempt ends it too, as an earlier manager
// tells nothing else.
func (js *jobs) speculationWithdrawn(e scheduler.SpeculationWithdrawn) error {
	b, err := js.bundle(e.Job, e.Bundle)
	if err == nil {
		b.onceOnly()
	}
	return err
}

// setReservation sets a bundle's reservation, or ends it when until is 0.
func (js *jobs) setReservation(j scheduler.JobID, id scheduler.BundleID, on []scheduler.LauncherID, until scheduler.Time) error {
	b, err := js.bundle(j, id)
	if err == nil {
		b.ReservedOn, b.ReservedUntil = on, until
	}
	return err
}

func (js *jobs) protected(e scheduler.BundleProtected) error {
	b, err := js.bundle(e.Job, e.Bundle)
	if err == nil {
		b.ProtectedUntil = e.Until
	}
	return err
}
