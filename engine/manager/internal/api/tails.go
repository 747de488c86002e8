package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dustin/go-humanize"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attemptOf finds an attempt of a job that the caller may look at. The caller of attemptOf closes the job.
func (s *Server) attemptOf(ctx context.Context, job scheduler.JobID, id scheduler.AttemptID) (*query.Job, *wire.AttemptStatus, error) {
	j, err := s.FindJob(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	f, err := j.Attempt(ctx, id)
	if err == nil && f == nil {
		err = status.Errorf(codes.NotFound, "%v has no attempt-%d, or it is not kept any more: see \"hamadryad status --attempts %v\"", job, id, job)
	}
	if err != nil {
		j.Close()
		return nil, nil, err
	}
	return j, query.AttemptStatus(j.Status.Stages, f), nil
}

// tail is the end of a log that its launcher sent before, because the launcher's own log could not
// be read. The error says why there is none.
func (s *Server) tail(ctx context.Context, j *query.Job, a *wire.AttemptStatus, why error) (*tail, error) {
	t, err := j.Tail(scheduler.AttemptID(a.Attempt), a.Launcher)
	if err != nil {
		return nil, err
	}
	gone := !errors.Is(why, errNoLog)
	if t != nil {
		return &tail{t, gone}, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, statusOf(ctx.Err())
	case !gone:
		return nil, status.Errorf(codes.NotFound, "attempt-%d wrote no log, or launcher %s does not keep it any more", a.Attempt, a.Launcher)
	case a.State == scheduler.Lost.String():
		return nil, away(fmt.Sprintf("launcher %s was lost before it sent the log of attempt-%d", a.Launcher, a.Attempt))
	case a.Ended == 0:
		return nil, why
	}
	return nil, away(fmt.Sprintf("attempt-%d wrote no log, or launcher %s was lost before it sent it", a.Attempt, a.Launcher))
}

// tail is the end of a log.
type tail struct {
	*wire.LogTail
	gone bool // its launcher
}

// note says what the tail lacks; "" when it is the whole log.
func (t *tail) note() string {
	text := ""
	if n := int64(len(t.Text)); n < t.Of {
		why := "its launcher does not keep the rest any more"
		if t.gone {
			why = "its launcher is gone"
		}
		text = fmt.Sprintf("the last %s of %s; %s", humanize.IBytes(uint64(n)), humanize.IBytes(uint64(t.Of)), why)
	}
	switch {
	case t.Lacks == "":
		return text
	case text == "":
		return t.Lacks
	}
	return text + "; " + t.Lacks
}

// each sends it in parts, its note first.
func (t *tail) each(take func([]byte) error) error {
	if note := t.note(); note != "" {
		if err := take([]byte("[" + note + "]\n")); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(t.Text, logChunkBytes) {
		if err := take(part); err != nil {
			return err
		}
	}
	return nil
}

// part is the requested part of it.
func (t *tail) part(q query.LogQuery) *query.Log {
	first := t.Of - int64(len(t.Text))
	l := &query.Log{From: first, Until: t.Of, Length: t.Of, Over: true, Note: t.note()}
	text := t.Text
	switch {
	case !q.Part && l.Note != "":
		text = append([]byte("["+l.Note+"]\n"), text...)
	case q.Part:
		l.From = q.From
		if q.From < 0 {
			l.From = t.Of + q.From
		}
		l.From = max(l.From, first)
		to := t.Of
		if q.To > 0 {
			to = min(to, q.To)
		}
		begin := min(l.From-first, int64(len(text)))
		text = text[begin:max(begin, to-first)]
	}
	l.Text = io.NopCloser(bytes.NewReader(text))
	return l
}
