package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Time is an instant of the manager's clock in nanoseconds since the Unix
// epoch. It never goes back, also across restarts of the manager. In a
// simulation it starts wherever the simulation says.
type Time int64

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// JobID names a job. The manager counts them up in order of submission, from 1. It never uses one
// twice, and skips some after a crash. Zero is no job.
type JobID uint64

// String returns the form people see and type, such as "job-12".
func (j JobID) String() string { return jobPrefix + strconv.FormatUint(uint64(j), 10) }

// ParseJobID reads what String wrote. A bare number is refused: it could be an attempt's.
func ParseJobID(s string) (JobID, error) {
	n, bare := parseID(s, jobPrefix)
	switch {
	case bare:
		return 0, fmt.Errorf("%q could be a job or an attempt: write %s%[1]s for the job", s, jobPrefix)
	case n == 0:
		return 0, fmt.Errorf("%q is no job: write it like job-12", s)
	}
	return JobID(n), nil
}

// The words before the numbers of ids.
const (
	jobPrefix     = "job-"
	bundlePrefix  = "bundle-"
	attemptPrefix = "attempt-"
)

// parseID reads a number behind a prefix; 0: there is none. Bare says that the number alone is there.
func parseID(s, prefix string) (n uint64, bare bool) {
	digits, named := strings.CutPrefix(s, prefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return 0, false
	}
	return n, !named
}

// StageID is the index of a stage in its job's list of stages.
type StageID uint32

// BundleID names a bundle; unique over the life of a manager. Zero is none.
type BundleID uint64

// String returns the form people see, such as "bundle-7".
func (b BundleID) String() string { return bundlePrefix + strconv.FormatUint(uint64(b), 10) }

// AttemptID names one try at running a group; unique over the life of a
// manager. Zero is none.
type AttemptID uint64

// String returns the form people see and type, such as "attempt-345".
func (a AttemptID) String() string { return attemptPrefix + strconv.FormatUint(uint64(a), 10) }

// ParseAttemptID reads what String wrote. A bare number is refused: it could be a job's.
func ParseAttemptID(s string) (AttemptID, error) {
	n, bare := parseID(s, attemptPrefix)
	switch {
	case bare:
		return 0, fmt.Errorf("%q could be a job or an attempt: write %s%[1]s for the attempt", s, attemptPrefix)
	case n == 0:
		return 0, fmt.Errorf("%q is no attempt: write it like attempt-345", s)
	}
	return AttemptID(n), nil
}

// LauncherID names a launcher. A launcher that comes back under the same name
// keeps its id; a LauncherLost and a LauncherJoined event stand between. Zero is
// none.
type LauncherID uint64

// SlotKind is the name of a kind of slot, such as "default", "map" or "reduce".
type SlotKind = string

// DefaultKind is the kind of slot that a group needs when its author says nothing.
const DefaultKind SlotKind = "default"

// SlotCount is a number of slots of one kind.
type SlotCount struct {
	Kind  SlotKind
	Count int
}

// Priority orders jobs: larger is more urgent. Five named levels are Hadoop's.
type Priority int32

// The named priorities.
const (
	VeryLow  Priority = -2
	Low      Priority = -1
	Normal   Priority = 0
	High     Priority = 1
	VeryHigh Priority = 2
)

var priorityNames = map[Priority]string{
	VeryLow: "VERY_LOW", Low: "LOW", Normal: "NORMAL", High: "HIGH", VeryHigh: "VERY_HIGH",
}

// String returns the level's name.
func (p Priority) String() string {
	if s, ok := priorityNames[p]; ok {
		return s
	}
	return strconv.Itoa(int(p))
}

// ParsePriority reads what String wrote: a level's name, in any case and with - or _, or a number.
func ParsePriority(s string) (Priority, error) {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return Priority(n), nil
	}
	want := strings.ReplaceAll(strings.ToUpper(s), "-", "_")
	for p := VeryLow; p <= VeryHigh; p++ {
		if priorityNames[p] == want {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown priority %q: use VERY_LOW, LOW, NORMAL, HIGH or VERY_HIGH, or a number of 32 bits", s)
}

// Locality says how near an attempt runs to a piece of its input.
type Locality uint8

// The levels of locality, nearest first.
const (
	NodeLocal Locality = iota
	RackLocal
	Remote
	localityCount
)

// LocalityLevels is the number of levels: the length of per-level arrays.
const LocalityLevels = int(localityCount)

// String returns the level's name.
func (l Locality) String() string {
	switch l {
	case NodeLocal:
		return "node-local"
	case RackLocal:
		return "rack-local"
	case Remote:
		return "remote"
	}
	return fmt.Sprintf("locality %d", uint8(l))
}
