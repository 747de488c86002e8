package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

func (c *BundleGivenUp) add(e *scheduler.BundleGivenUp) {
	c.Job, c.Bundle = append(c.Job, uint64(e.Job)), append(c.Bundle, uint64(e.Bundle))
	c.Stage, c.GivenUp = append(c.Stage, uint32(e.Stage)), append(c.GivenUp, e.GivenUp)
}

func (c *BundleGivenUp) check(r *reader, n int) {
	r.same("bundle given up", n, len(c.GetJob()), len(c.GetBundle()), len(c.GetStage()), len(c.GetGivenUp()))
}

func (c *BundleGivenUp) row(i int, at scheduler.Time) scheduler.BundleGivenUp {
	return scheduler.BundleGivenUp{At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]), Stage: scheduler.StageID(c.Stage[i]), GivenUp: c.GivenUp[i]}
}
