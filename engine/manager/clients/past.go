package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/facts"
	"github.com/hamadryad/hamadryad/engine/manager/history"
	"github.com/hamadryad/hamadryad/engine/manager/history/index"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// pastAttemptsMax is how many attempts the status of a job shows that is in history alone, and
	// pastJobsMax how many such jobs a list has: the newest.
	pastAttemptsMax = 1000
	pastJobsMax     = 10_000
)

// pastStatus reads a job from history; false when that has none of it.
func (s *Server) pastStatus(ctx context.Context, id scheduler.JobID, attempts bool) (*wire.JobStatus, bool, error) {
	r, err := s.needs.History.Open(ctx, id)
	if errors.Is(err, history.ErrUnknown) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	st, err := r.Status()
	if err != nil {
		return nil, false, err
	}
	course, err := r.Course()
	if err != nil {
		return nil, false, err
	}
	if course.Missed > 0 {
		st.Notes = append(st.Notes, fmt.Sprintf("(history could not be written: it lacks %d attempts)", course.Missed))
	}
	for _, lack := range course.Lacks {
		st.Notes = append(st.Notes, fmt.Sprintf("(history is not whole: %s)", lack))
	}
	if !attempts {
		return st, true, nil
	}
	rows, err := r.Newest(pastAttemptsMax)
	if err != nil {
		return nil, false, err
	}
	for i := range rows {
		st.Attempts = append(st.Attempts, pastAttempt(st.Stages, &rows[i]))
	}
	if _, of := r.Kept(); of > uint64(len(rows)) {
		st.Notes = append(st.Notes, fmt.Sprintf("(%d of %d attempts are shown)", len(rows), of))
	}
	return st, true, nil
}

func pastAttempt(stages []*wire.StageStatus, a *facts.Attempt) *wire.AttemptStatus {
	st := &wire.AttemptStatus{
		Attempt: uint64(a.ID), Index: uint32(a.Index), Launcher: a.On, State: a.Outcome.String(), Started: int64(a.Started), Ended: int64(a.Since),
		Speculative: a.Speculative, Reason: a.Reason, SuspendedNs: int64(a.Suspended),
	}
	if i := int(a.Stage); i >= 0 && i < len(stages) {
		st.Stage = stages[i].GetName()
	}
	return st
}

// withPast puts jobs that history alone has before those that are known, the oldest first.
func (s *Server) withPast(known []*wire.JobSummary) ([]*wire.JobSummary, error) {
	there := make(map[uint64]bool, len(known))
	for _, j := range known {
		there[j.Job] = true
	}
	var past []*wire.JobSummary
	for _, j := range slices.Backward(s.needs.History.Ending()) { // before those that are in the list, and maybe there meanwhile
		if !there[j.Job] {
			there[j.Job] = true
			past = append(past, j)
		}
	}
	for q := (index.Query{Limit: 1000}); len(past) < pastJobsMax; {
		p, err := s.needs.History.List(q)
		if err != nil {
			return nil, err
		}
		for _, e := range p.Entries {
			if !there[e.Summary.Job] {
				past = append(past, e.Summary)
			}
		}
		if q.After = p.Next; q.After == "" {
			break
		}
	}
	past = past[:min(len(past), pastJobsMax)]
	slices.Reverse(past)
	return append(past, known...), nil
}
