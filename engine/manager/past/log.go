package past

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/core/facts"
	"github.com/hamadryad/hamadryad/engine/manager/history/file"
	"github.com/hamadryad/hamadryad/engine/manager/history/tails"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempt finds an attempt that is kept; nil when it is not.
func (j *Job) Attempt(ctx context.Context, id scheduler.AttemptID) (found *facts.Attempt, err error) {
	_, _, err = j.Each(ctx, file.Query{After: max(id, 1) - 1}, func(a *facts.Attempt) bool {
		if a.ID == id {
			one := *a
			found = &one
		}
		return a.ID < id
	})
	return found, err
}

func (j *Job) key() tails.Key {
	return tails.Key{Job: j.ID, Submitted: scheduler.Time(j.Status.GetSummary().GetSubmitted())}
}

// Tail is the end of the log of an attempt that ran on a launcher; nil: there is none.
func (j *Job) Tail(attempt scheduler.AttemptID, on string) (*wire.LogTail, error) {
	t, err := j.of.history.Tails().Read(j.key(), attempt, on)
	return t, statusOf(err)
}

// EachTail calls take with all of the job's. One attempt's may come twice: the last counts.
func (j *Job) EachTail(take func(*wire.LogTail) error) error {
	return j.of.history.Tails().Each(j.key(), take)
}
