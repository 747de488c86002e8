package show

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Jobs lists jobs. If there are none it prints empty, which describes the filter.
func (c *Printer) Jobs(jobs []*wire.JobSummary, empty string) error {
	if c.structured() {
		return c.value(eachOf(jobs, restapi.JobSummaryOf))
	}
	if len(jobs) == 0 {
		return c.none(empty)
	}
	t := c.table("JOB", "NAME", "USER", "POOL", "PRIORITY", "STATE", "DONE", "RUNNING", "AGE", "TOOK", wide+"SUBMITTED", wide+"ENDED")
	for _, j := range jobs {
		took := "-"
		if j.Ended != 0 {
			took = span(time.Duration(j.Ended - j.Submitted))
		}
		name := j.Name
		if j.Elements > 0 {
			name += fmt.Sprintf(" [%d elements]", j.Elements)
		}
		t.row(scheduler.JobID(j.Job).String(), name, orDash(j.User), orDash(j.Pool), scheduler.Priority(j.Priority).String(), client.StateName(j.State),
			fmt.Sprintf("%d/%d", j.GroupsFinished, j.Groups), count(j.GroupsRunning), ago(j.Submitted), took, instant(j.Submitted), instant(j.Ended))
	}
	return t.end()
}
