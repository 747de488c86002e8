package core

import (
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Schedules returns all schedules, in order of id. They must not be changed. Later changes come as
// SchedulesChanged.
func (c *Core) Schedules() []*wire.Schedule { return c.state.Schedules.All() }

// jobLives says whether a job has not ended.
func (c *Core) jobLives(id scheduler.JobID) bool { return c.state.Cluster.Jobs.Get(id) != nil }
