package rest

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// WholeQuery requests all displayed data of a job at once.
type WholeQuery struct {
	Job      string
	Timeline restapi.GetTimelineParams
	Stage    string // the stage of the distribution; "": the one with the most nodes
	Attempts restapi.ListAttemptsParams
}

// Whole is all displayed data of a job. If a part can't be read, Job.Damage says why, and the part
// is empty.
type Whole struct {
	Job          restapi.Job
	Graph        *restapi.Graph        // nil: it is not kept
	Distribution *restapi.Distribution // nil: the job has no stage
	Timeline     restapi.Timeline
	Attempts     restapi.AttemptList
	Reasons      *restapi.ReasonList // nil: they are not kept
	// Again is after what time distribution and timeline can be newer; 0: they are of now.
	Again time.Duration
}

// reasonsWait is how long the whole waits for the reasons: history can't deliver them while it
// writes.
const reasonsWait = 50 * time.Millisecond

// GetWhole answers as GetJob, GetGraph, GetDistribution, GetTimeline and ListAttempts and
// ListReasons do. It checks the caller and reads the job and each attempt only once.
func (s *Server) GetWhole(ctx context.Context, q WholeQuery) (w Whole, err error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return w, err
	}
	defer l.Close()
	if len(l.stages) == 0 && l.wrongFile() != nil { // their list can't be read: the rest is shown
		q.Stage, q.Attempts.Stage = "", nil
	}
	if w.Job, err = l.described(ctx); err != nil {
		return w, err
	}
	if w.Graph, err = l.graph(ctx); l.unreadable(err) != nil {
		return w, err
	}
	if err := l.walk(ctx, &q, &w); err != nil {
		return w, err
	}
	soon, cancel := context.WithTimeout(ctx, reasonsWait)
	defer cancel()
	w.Reasons, err = l.reasons(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		w.Reasons, err = &restapi.ReasonList{Lacks: []string{"history is busy: why the job waited is shown when the page is asked for again"}}, nil
	}
	err = l.unreadable(err)
	w.Job.Damage = l.damage()
	return w, err
}

// unreadable notes an error about a damaged file, or about a file that is not written yet, and
// returns every other.
func (l *jobHandle) unreadable(err error) error {
	if status.Code(err) != codes.DataLoss && !errors.Is(err, history.ErrNotYet) {
		return err
	}
	l.Damage = err
	return nil
}

// drawnOf are the parameters of a walk through all attempts.
type drawnOf struct {
	job       string
	by, stage string
	buckets   int
	file      uint64 // version of the job's
}

// drawn is the result of a walk through all attempts: it is made once for all readers.
type drawn struct {
	distribution *restapi.Distribution
	timeline     restapi.Timeline
}

// walk collects the displayed data of attempts.
func (l *jobHandle) walk(ctx context.Context, q *WholeQuery, w *Whole) error {
	list, err := l.list(&q.Attempts)
	if err != nil {
		return err
	}
	of := drawnOf{job: q.Job, stage: q.Stage, by: string(given(q.Timeline.By)), buckets: given(q.Timeline.Buckets), file: l.server.needs.Read.FileVersion(l.ID)}
	if n := len(w.Job.Stages); of.stage == "" && n > 0 {
		of.stage = slices.MaxFunc(w.Job.Stages, func(x, y restapi.Stage) int { return x.Nodes - y.Nodes }).Name
	}
	revision, _, err := l.server.needs.Read.JobRevision(ctx, l.ID)
	if err != nil {
		return err
	}
	if l.Lives() { // running attempts go on, without a change of the job
		revision += uint64(time.Now().Unix())
	}
	d, again, err := l.server.drawn.Get(ctx, of, revision, func() (drawn, error) { return l.draw(ctx, of.stage, &q.Timeline) })
	if err := l.unreadable(err); err != nil {
		return err
	}
	w.Distribution, w.Timeline, w.Again = d.distribution, d.timeline, again
	kept, came, err := l.Each(ctx, list.which(), list.addAttempt)
	w.Attempts = list.shown(kept, came)
	return l.unreadable(err)
}

// draw walks through all attempts. With an error it returns the data of the readable ones.
func (l *jobHandle) draw(ctx context.Context, stage string, p *restapi.GetTimelineParams) (made drawn, err error) {
	t := l.timeline(p)
	var d *distribution
	if stage != "" {
		if d, err = l.distribution(stage); err != nil {
			return made, err
		}
	}
	kept, of, err := l.Each(ctx, jobfile.Query{}, func(f *changes.Attempt) bool {
		if d != nil {
			d.addAttempt(f)
		}
		return t.addAttempt(f)
	})
	made.timeline = t.shown(kept, of)
	if d != nil {
		shown := d.shown(kept, of)
		made.distribution = &shown
	}
	return made, err
}

// given is a parameter's value, or the zero value without one.
func given[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
