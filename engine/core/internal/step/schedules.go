package step

import (
	"fmt"
	"time"
)

// ScheduleLimits bound schedules and their runs.
type ScheduleLimits struct {
	// Max is how many schedules there may be, default 1000; UserMax how many of one user, default 100.
	Max     int `json:"max"`
	UserMax int `json:"userMax"`
	// Bytes bounds what a schedule says of itself, its command above all; default 64 KiB.
	Bytes int `json:"bytes"`
	// RunsKept is how many ended runs of a schedule are kept; default 20. RunsMax is how many of its
	// runs may wait or run at one time; default 16.
	RunsKept int `json:"runsKept"`
	RunsMax  int `json:"runsMax"`
	// JobsMax is how many jobs one run may submit; default 100.
	JobsMax int `json:"jobsMax"`
	// TriesMax is how often a run's command is started when runners are lost; default 5.
	TriesMax int `json:"triesMax"`
	// Lease is after what time without a word from its runner a run counts as lost; default 2 minutes.
	Lease time.Duration `json:"lease"`
}

// DefaultScheduleLimits returns the limits of a site that sets none.
func DefaultScheduleLimits() ScheduleLimits {
	return ScheduleLimits{Max: 1000, UserMax: 100, Bytes: 64 << 10, RunsKept: 20, RunsMax: 16, JobsMax: 100, TriesMax: 5, Lease: 2 * time.Minute}
}

func (l *ScheduleLimits) check() (errs []error) {
	for _, n := range []namedInt{
		{"max", l.Max},
		{"userMax", l.UserMax},
		{"bytes", l.Bytes},
		{"runsKept", l.RunsKept},
		{"runsMax", l.RunsMax},
		{"jobsMax", l.JobsMax},
		{"triesMax", l.TriesMax},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("schedules.%s is %d: use 1 or more", n.name, n.value))
		}
	}
	if l.Lease < time.Second || l.Lease > DurationMax {
		errs = append(errs, fmt.Errorf("schedules.lease is %v: use 1s to %v", l.Lease, DurationMax))
	}
	return errs
}
