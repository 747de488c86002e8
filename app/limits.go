package app

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/timeparse"
)

// limitFlags are the flags for when a job has to be over.
type limitFlags struct {
	timeLimit time.Duration
	deadline  time.Time // zero: none
	fail      bool      // at the deadline
}

func (f *limitFlags) declare(fs *flag.FlagSet) {
	fs.Func("time-limit", "`DURATION` that the job may run, such as 2h, from its first task's start; then it fails. Time spent waiting before that does not count", f.setTimeLimit)
	fs.Func("deadline", "`TIME` when the job should be over, such as 2026-11-30T08:00Z, or a duration from now, such as 6h: people and scheduling policies see it", f.setDeadline)
	fs.BoolVar(&f.fail, "fail-at-deadline", false, "the job fails at its deadline; without this flag the deadline is only shown")
}

func (f *limitFlags) setTimeLimit(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("write a duration above 0, such as 90m or 2h")
	}
	f.timeLimit = d
	return nil
}

func (f *limitFlags) setDeadline(s string) (err error) {
	f.deadline, err = timeparse.Future(s, time.Now())
	return err
}

// check refuses flags that contradict each other. names returns a flag as a person writes it.
func (f *limitFlags) check(names func(string) string) error {
	if f.fail && f.deadline.IsZero() {
		return fmt.Errorf("%s needs %s", names("fail-at-deadline"), names("deadline"))
	}
	return nil
}

// message returns the limits of a submission; nil: none.
func (f *limitFlags) message() *wire.JobLimits {
	if f.timeLimit == 0 && f.deadline.IsZero() {
		return nil
	}
	m := &wire.JobLimits{TimeLimitNs: int64(f.timeLimit), FailAtDeadline: f.fail}
	if !f.deadline.IsZero() {
		m.Deadline = f.deadline.UnixNano()
	}
	return m
}
