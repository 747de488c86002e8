package schedules

import (
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// count adds to the counters what a change of a schedule tells. before is nil for a new one.
func count(c *metrics.Schedules, before, now *wire.Schedule) {
	skipped, missed := now.Skipped-before.GetSkipped(), now.Missed-before.GetMissed()
	c.Skipped += skipped
	c.Missed += missed
	c.Due += skipped + missed
	was := map[uint64]*wire.Run{}
	for _, r := range before.GetRuns() {
		was[r.Number] = r
	}
	for _, r := range now.Runs {
		old := was[r.Number]
		if old == nil && !r.ByHand {
			c.Due++
		}
		c.Starts += uint64(r.Try - old.GetTry())
		if wire.RunOver(old.GetState()) || !wire.RunOver(r.State) {
			continue
		}
		switch r.State {
		case wire.RunState_RUN_STATE_SUCCEEDED:
			c.Succeeded++
		case wire.RunState_RUN_STATE_MISSED:
			c.Untaken++
		case wire.RunState_RUN_STATE_LOST:
			c.Lost++
		default:
			c.Failed++
		}
	}
}

// Counts are the metrics of schedules.
func (k *Keeper) Counts() metrics.Schedules {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, now := k.counts, k.Now()
	for _, x := range k.all {
		if x.schedule.Paused {
			c.Paused++
		} else {
			c.InForce++
		}
		for _, r := range x.schedule.Runs {
			switch r.State {
			case wire.RunState_RUN_STATE_WAITING:
				c.Waiting++
				c.Late = max(c.Late, now.Sub(scheduler.Time(r.Due)))
			case wire.RunState_RUN_STATE_RUNNING:
				c.Running++
			}
		}
	}
	return c
}
