package show

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Jobs lists jobs.
func (c *Printer) Jobs(jobs []*wire.JobSummary) error {
	if c.json() {
		return printMessages(c, jobs)
	}
	t := newTable(c.Out, "JOB", "NAME", "USER", "POOL", "PRIORITY", "STATE", "DONE", "RUNNING", "AGE", "TOOK")
	for _, j := range jobs {
		took := "-"
		if j.Ended != 0 {
			took = span(time.Duration(j.Ended - j.Submitted))
		}
		t.row(scheduler.JobID(j.Job).String(), j.Name, orDash(j.User), orDash(j.Pool), scheduler.Priority(j.Priority).String(), client.StateName(j.State),
			fmt.Sprintf("%d/%d", j.GroupsFinished, j.Groups), count(j.GroupsRunning), ago(j.Submitted), took)
	}
	return t.end()
}
