package view

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// event applies one event. Every handler checks first and changes then, so that
// an error leaves nothing half done.
func (v *View) event(e scheduler.Event) error {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		return v.joined(e)
	case scheduler.LauncherLost:
		return v.lost(e)
	case scheduler.LauncherDraining:
		return v.draining(e)
	case scheduler.LauncherLoad:
		return v.load(e)
	case scheduler.JobSubmitted:
		return v.submitted(e)
	case scheduler.JobUpdated:
		return v.updated(e)
	case scheduler.JobFinished:
		return v.finished(e)
	case scheduler.StageGrown:
		return v.grown(e)
	case scheduler.BundleReady:
		return v.ready(e)
	case scheduler.BundleWithdrawn:
		return v.withdrawn(e)
	case scheduler.BundleWantedAgain:
		return v.wantedAgain(e)
	case scheduler.SpeculationOffered:
		return v.speculationOffered(e)
	case scheduler.BundleProtected:
		return v.protected(e)
	case scheduler.Outcome:
		return v.outcome(e)
	case scheduler.AttemptStarted:
		return v.started(e)
	case scheduler.AttemptPhase:
		return v.phase(e)
	case scheduler.AttemptProgress:
		return v.progress(e)
	case scheduler.AttemptSuspended:
		return v.suspended(e)
	case scheduler.AttemptResumed:
		return v.resumed(e)
	case scheduler.AttemptEnded:
		return v.attemptEnded(e)
	}
	return nil // settings, requests, notes, admission, time: the policy's own matter
}

func (v *View) submitted(e scheduler.JobSubmitted) error {
	if v.jobs.Get(e.Job.ID) != nil {
		return fmt.Errorf("%s was submitted already", e.Job.ID)
	}
	j := &Job{Info: e.Job, Counts: make([]Counts, len(e.Job.Stages)), byHost: map[string]*list{}, byRack: map[string]*list{}}
	j.Info.Stages = slices.Clone(e.Job.Stages) // grows; the event must not
	for i, s := range e.Job.Stages {
		j.Counts[i].Waiting = s.Groups
	}
	v.jobs.Set(e.Job.ID, j)
	v.jobList = insert(v.jobList, j, (*Job).ID)
	return nil
}

func (v *View) updated(e scheduler.JobUpdated) error {
	j, err := v.job(e.Job)
	if err != nil {
		return err
	}
	j.Info.Pool, j.Info.Priority, j.Info.Properties = e.Pool, e.Priority, e.Properties
	return nil
}

func (v *View) finished(e scheduler.JobFinished) error {
	j, err := v.job(e.Job)
	if err != nil {
		return err
	}
	if j.live.len() > 0 {
		return fmt.Errorf("%s finished while attempt %d is live", e.Job, j.live.first().ID)
	}
	for _, b := range j.bundles {
		v.bundles.Delete(b.ID)
	}
	v.jobs.Delete(e.Job)
	v.jobList = remove(v.jobList, e.Job, (*Job).ID)
	return nil
}

func (v *View) grown(e scheduler.StageGrown) error {
	j, err := v.job(e.Job)
	if err != nil {
		return err
	}
	if int(e.Stage) >= len(j.Counts) || e.Groups < j.Info.Stages[e.Stage].Groups {
		return fmt.Errorf("%s: stage %d cannot grow to %d groups", e.Job, e.Stage, e.Groups)
	}
	j.Counts[e.Stage].Waiting += e.Groups - j.Info.Stages[e.Stage].Groups
	j.Info.Stages[e.Stage].Groups = e.Groups
	return nil
}

func (v *View) job(id scheduler.JobID) (*Job, error) {
	if j := v.jobs.Get(id); j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("%s is not known", id)
}

func (v *View) bundle(job scheduler.JobID, id scheduler.BundleID) (*Bundle, error) {
	b := v.bundles.Get(id)
	if b == nil {
		return nil, fmt.Errorf("bundle %d of %s is not known", id, job)
	}
	if b.Job.ID() != job {
		return nil, fmt.Errorf("bundle %d is of %s and not of %s", id, b.Job.ID(), job)
	}
	return b, nil
}
