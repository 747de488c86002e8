package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
)

// The stages of a MapReduce job.
const (
	mapStage    = "map"
	reduceStage = "reduce"
)

// since converts a time of the manager's clock to one since a job's submission.
func since(first *wire.JobStatus, at int64) time.Duration {
	return time.Duration(at - first.Summary.Submitted)
}

// took is the time from a job's submission to its end.
func took(j *wire.JobStatus) time.Duration {
	return time.Duration(j.Summary.Ended - j.Summary.Submitted)
}

// preempted counts a job's preempted attempts.
func preempted(j *wire.JobStatus) int {
	n := 0
	for _, a := range j.Attempts {
		if a.State == "preempted" {
			n++
		}
	}
	return n
}

// show prints a time line and draws it into a file of the lab's folder.
func (l *lab) show(line timeline.Line, name, title string, slots int, every time.Duration) error {
	if err := line.Table(l.log, every); err != nil {
		return err
	}
	if err := os.MkdirAll(l.out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(l.out, name+".svg")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(line.Chart(f, title, slots), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(l.log, "drawn as %s\n", path)
	return nil
}

// claims are an experiment's claims.
type claims struct {
	lab  *lab
	errs []error
}

// that records whether a claim holds, and prints it.
func (c *claims) that(holds bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if holds {
		fmt.Fprintln(c.lab.log, "holds:        ", text)
		return
	}
	fmt.Fprintln(c.lab.log, "DOES NOT HOLD:", text)
	c.errs = append(c.errs, errors.New("this claim does not hold: "+text))
}

// noteVerdict records the verdict on a published result that need not hold here.
func (c *claims) noteVerdict(holds bool, format string, args ...any) {
	verdict := "holds:        "
	if !holds {
		verdict = "differs:      "
	}
	fmt.Fprintln(c.lab.log, verdict, fmt.Sprintf(format, args...))
}

func (c *claims) err() error { return errors.Join(c.errs...) }

// scaled stretches a duration by the lab's pace.
func (l *lab) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * l.pace)
}
