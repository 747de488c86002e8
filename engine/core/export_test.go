package core

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// RunsOn is the name of the launcher of an attempt that lives; "" when it does not.
func (c *Core) RunsOn(id scheduler.AttemptID) string {
	if a := c.state.Cluster.Attempts.Get(id); a != nil {
		return a.Launcher.Name
	}
	return ""
}
