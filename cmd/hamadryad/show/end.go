package show

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Result shows a succeeded job's counters and outputs.
func (c *Printer) Result(s *wire.JobStatus) { progress.Succeeded(c.Out, s, took(s.Summary)) }

// Success says in a line that a job succeeded.
func (c *Printer) Success(s *wire.JobStatus) {
	fmt.Fprintf(c.Out, "%v %s succeeded in %s\n", scheduler.JobID(s.Summary.Job), s.Summary.Name, span(took(s.Summary)))
}

// End reports a job that did not succeed.
func (c *Printer) End(s *wire.JobStatus) {
	text := fmt.Sprintf("%v %s %s after %s", scheduler.JobID(s.Summary.Job), s.Summary.Name, client.StateName(s.Summary.State), span(took(s.Summary)))
	if why := s.Failure.Text(); why != "" {
		text += ": " + why
	}
	fmt.Fprintln(c.Errors, scheduler.PrintableText(text))
}

// took is an ended job's time.
func took(j *wire.JobSummary) time.Duration { return time.Duration(j.Ended - j.Submitted) }
