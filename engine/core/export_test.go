package core

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// RunsOn returns the name of a live attempt's launcher; "" if the attempt is not live.
func (c *Core) RunsOn(id scheduler.AttemptID) string {
	if a := c.state.Cluster.Attempts.Get(id); a != nil {
		return a.Launcher.Name
	}
	return ""
}
