package show

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Elements lists elements of a job array, each with its last attempt.
func (c *Printer) Elements(job uint64, r *wire.ElementsReply) error {
	if c.structured() {
		return c.value(eachOf(r.Elements, restapi.ElementOf))
	}
	t := c.table("ELEMENT", "STATE", "ATTEMPTS", "LAST", "LAUNCHER", "STARTED", "TOOK", "REASON")
	for _, e := range r.Elements {
		last, launcher, started, took, why := "-", "-", "-", "-", ""
		if a := e.Last; a != nil {
			last, launcher, started, why = scheduler.AttemptID(a.Attempt).String(), a.Launcher, ago(a.Started), a.Reason
			if a.Started != 0 && a.Ended != 0 {
				took = span(time.Duration(a.Ended - a.Started))
			}
		}
		t.row(fmt.Sprintf("%v[%d]", scheduler.JobID(job), e.Index), string(restapi.ElementStateOf(e.State)), count(e.Attempts), last, launcher, started, took, why)
	}
	if err := t.end(); err != nil || c.Format == Name || r.Incomplete == "" {
		return err
	}
	_, err := fmt.Fprintf(c.Out, "(%s)\n", r.Incomplete)
	return err
}

// printArray prints how many elements of a job array are in which state, and which.
func (c *Printer) printArray(a *wire.ArrayStatus) {
	for _, n := range a.GetCounts() {
		fmt.Fprintf(c.Out, "elements %s: %d, [%s]\n", restapi.ElementStateOf(n.State), n.Count, progress.OneLine(n.Indices))
	}
	if most := a.GetElements().GetAtOnce(); most > 0 {
		fmt.Fprintf(c.Out, "elements at once: %d\n", most)
	}
}
