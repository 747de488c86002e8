package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CheckPlaceable finds, after launchers joined or were lost, the jobs that can't be placed. Jobs
// share shapes, so each shape is checked against the cluster once.
func (ad *Admission) CheckPlaceable() {
	fits := map[string]bool{}
	for j := range ad.state.Jobs.All() {
		if j.KnownToPolicy() {
			ad.checkPlaceableOf(j, fits)
		}
	}
}

func (ad *Admission) checkPlaceableOf(j *state.Job, fits map[string]bool) {
	why := ""
	for _, s := range j.Shapes {
		if ad.resources.Launchers.Up() == 0 || fits[s.Key] { // an empty cluster does not count as too small
			continue
		}
		if why = ad.tooLarge(&j.Bundles[s.Bundle]); why != "" {
			break
		}
		fits[s.Key] = true
	}
	changed, begins := j.Waits.NotePlaceable(why, ad.step.Now)
	if changed {
		ad.state.Changes.MarkJob(j)
	}
	if begins {
		ad.step.SetTimer(ad.step.Set.UnplaceableAfter, step.TimerUnplaceable, uint64(j.ID))
	}
}

// UnplaceableTooLong ends a job for which the cluster has been too small for too long.
func (ad *Admission) UnplaceableTooLong(id scheduler.JobID) {
	j := ad.state.Jobs.Get(id)
	if j == nil || j.Waits.Unplaceable() == 0 || j.Phase() != state.JobRunning || ad.step.Now.Sub(j.Waits.Unplaceable()) < ad.step.Set.UnplaceableAfter {
		return
	}
	ad.jobs.EndJob(j, scheduler.JobFailed, step.Invalid(j.Waits.WhyNot()+state.UnplaceableRemedy+", then submit again"))
}

// tooLarge returns why the whole cluster, if it were empty, could not hold a bundle; "" when it
// could, or when that is not sure.
func (ad *Admission) tooLarge(b *state.Bundle) string {
	short, looks := ad.resources.Launchers.FitsCluster(b)
	ad.step.AddCost(looks / launcherLooksPerWork)
	if short == nil {
		return ""
	}
	return fmt.Sprintf("stage %q: %s", b.Job.Stages[b.StageOf(0)].Name(), short)
}

// launcherLooksPerWork is the number of examined launchers that count for one in Settings.StepWork.
const launcherLooksPerWork = 10
