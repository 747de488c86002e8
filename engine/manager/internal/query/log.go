package query

import (
	"context"
	"io"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempt finds a kept attempt; nil when it is not kept.
func (j *Job) Attempt(ctx context.Context, id scheduler.AttemptID) (found *changes.Attempt, err error) {
	_, _, err = j.EachAfter(ctx, max(id, 1)-1, func(a *changes.Attempt) bool {
		if a.ID == id {
			one := *a
			found = &one
		}
		return a.ID < id
	})
	return found, err
}

// EachAfter is Each for the attempts with ids larger than id.
func (j *Job) EachAfter(ctx context.Context, id scheduler.AttemptID, take func(*changes.Attempt) bool) (kept, of int, err error) {
	return j.Each(ctx, jobfile.Query{After: id}, take)
}

func (j *Job) key() logarchive.Key {
	return logarchive.Key{Job: j.ID, Submitted: scheduler.Time(j.Status.GetSummary().GetSubmitted())}
}

// Tail is the end of the log of an attempt that ran on a launcher; nil: there is none.
func (j *Job) Tail(attempt scheduler.AttemptID, on string) (*wire.LogTail, error) {
	t, err := j.of.history.Tails().ReadTail(j.key(), attempt, on)
	return t, StatusOf(err)
}

// EachTail calls take with all of the job's tails. One attempt's may come twice: the last counts.
func (j *Job) EachTail(take func(*wire.LogTail) error) error {
	return StatusOf(j.of.history.Tails().Each(j.key(), take))
}

// LogQuery requests an attempt's output.
type LogQuery struct {
	Job     scheduler.JobID
	Attempt scheduler.AttemptID
	// Part requests a part: from a position on, or, if it is negative, so many bytes before the
	// end, and before another; 0: to the end. Without Part the whole log is requested, with notes
	// about missing parts.
	Part     bool
	From, To int64
	Follow   bool // as it grows, until the attempt ends
}

// Log is an attempt's output, or a part of it. Positions count from the output's beginning.
type Log struct {
	From   int64  // where Text begins
	Until  int64  // where bytes after it were dropped; Length: none were
	Length int64  // by now
	Over   bool   // no more output comes
	Note   string // why only the end is there; "": the launcher's own log is read
	Text   io.ReadCloser
}
