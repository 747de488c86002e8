package api

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// pastAttemptsMax is how many ended attempts a job's status shows: the newest. pastJobsMax is
	// how many ended jobs an answer lists.
	pastAttemptsMax = 1000
	pastJobsMax     = 10_000
)

// Opened records, when a life has begun, what the log lost before it.
func (s *Server) Opened(l *core.Losses) { s.losses.Store(l) }

// find finds a job.
func (s *Server) find(ctx context.Context, id scheduler.JobID) (*query.Job, error) {
	j, err := s.needs.Read.Find(ctx, id)
	if j != nil || err != nil {
		return j, err
	}
	lost, err := s.lost(ctx, id)
	if err != nil {
		return nil, statusOf(err)
	}
	j, err = s.needs.Read.Find(ctx, id)
	switch {
	case j != nil || err != nil:
		return j, err
	case lost != nil:
		return nil, lostError{lost}
	}
	return nil, status.Errorf(codes.NotFound, "there is no %v: see \"hamadryad jobs --all\"; jobs that ended long ago are removed from history (manager.history)", id)
}

// lost returns why an unknown job should be known; nil: it should not. The core is asked about a
// job that may be submitted at this moment, and before this life has begun: its state by then is
// durable when it answers, and the model has it. Of all other jobs the core knows no more than the
// model, so that readers do not delay it.
func (s *Server) lost(ctx context.Context, id scheduler.JobID) (lost *wire.Failure, err error) {
	may, err := s.needs.Read.MayCome(ctx, id)
	if err != nil {
		return nil, err
	}
	if l := s.losses.Load(); l != nil && !may {
		return l.Of(id), nil
	}
	err = s.needs.Inbox.ReadDurable(ctx, func(c *core.Core) { lost = c.Lost(id) })
	return lost, err
}

// summary finds a job without a check of rights.
func (s *Server) summary(ctx context.Context, job uint64) (*wire.JobSummary, error) {
	j, err := s.find(ctx, scheduler.JobID(job))
	if err != nil {
		return nil, err
	}
	j.Close()
	return j.Status.GetSummary(), nil
}

// jobStatus describes a job. With attempts: the newest ended ones, and all live ones.
func (s *Server) jobStatus(ctx context.Context, j *query.Job, attempts bool) (*wire.JobStatus, error) {
	st := j.Status
	if attempts {
		var err error
		if st, err = j.StatusWithAttempts(ctx, pastAttemptsMax); err != nil {
			return nil, err
		}
	}
	if j.Lives() {
		if err := s.addIdle(ctx, j.ID, st); err != nil {
			return nil, err
		}
	}
	s.needs.Launchers.Progress(st.Attempts)
	if note := s.needs.Tickets.Note(j.ID); note != "" {
		st.Notes = append(slices.Clip(st.Notes), note)
	}
	return st, nil
}

// withEnded puts ended jobs that the caller may look at before the live ones, in the order of their
// ends, or in their place.
func (s *Server) withEnded(ctx context.Context, q *wire.JobsRequest, r *wire.JobsReply) error {
	limit := pastJobsMax
	if q.Limit > 0 {
		limit = min(limit, int(q.Limit))
	}
	p, err := s.needs.Read.List(ctx, query.Query{Filter: query.Filter{States: query.Over}, May: s.MayLook(ctx), Before: scheduler.JobID(q.Before), Limit: limit})
	if err != nil {
		return err
	}
	if p.More {
		r.Before = p.Jobs[len(p.Jobs)-1].Job
	}
	lives := make(map[uint64]bool, len(r.Jobs))
	for _, j := range r.Jobs {
		lives[j.Job] = true
	}
	list := slices.DeleteFunc(p.Jobs, func(j *wire.JobSummary) bool { return lives[j.Job] }) // it ended meanwhile
	slices.SortFunc(list, wire.ByEnd)
	if q.Before > 0 {
		r.Jobs = nil
	}
	r.Jobs = append(list, r.Jobs...)
	return nil
}
