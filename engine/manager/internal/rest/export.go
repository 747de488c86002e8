package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ExportJob sends all kept data of a job.
func (s *Server) ExportJob(ctx context.Context, q restapi.ExportJobRequestObject) (restapi.ExportJobResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	return &export{look: l, ctx: ctx}, nil
}

// export is an answer with all data of a job. It holds one line at a time, and as many attempts as
// are read at once.
type export struct {
	look *jobHandle
	ctx  context.Context //nolint:containedctx // of the request that the answer is to
	to   *json.Encoder
	end  exportEnd
}

// exportEnd is the last line.
type exportEnd struct {
	Attempts int    `json:"attempts"`
	Of       int    `json:"of"`
	Logs     int    `json:"logs"`
	Damage   string `json:"damage,omitempty"`
}

// exportLog is the end of an attempt's output.
type exportLog struct {
	Attempt  string `json:"attempt"`
	Launcher string `json:"launcher"`
	From     int64  `json:"from"`
	Of       int64  `json:"of"`
	Text     string `json:"text"`
	Lacks    string `json:"lacks,omitempty"`
}

// VisitExportJobResponse sends it.
func (e *export) VisitExportJobResponse(w http.ResponseWriter) error {
	defer e.look.Close()
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", e.look.ID.String()+".jsonl"))
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(&patientWriter{w, http.NewResponseController(w)}, logChunk)
	e.to = json.NewEncoder(out)
	for _, part := range []func() error{e.job, e.attempts, e.logs, func() error { return e.line("end", e.end) }, out.Flush} {
		switch err := part(); {
		case errors.Is(err, http.ErrBodyNotAllowed):
			return nil
		case err != nil:
			panic(http.ErrAbortHandler) // the reader must not take the part for the whole
		}
	}
	return nil
}

// patientWriter gives each write its own deadline.
type patientWriter struct {
	to      http.ResponseWriter
	control *http.ResponseController
}

func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(logWriteMax)) // a server in a test may have none
	return p.to.Write(b)
}

func (e *export) line(kind string, what any) error {
	return e.to.Encode(map[string]any{"kind": kind, kind: what})
}

// job writes the data of the job as a whole. Unreadable data is left out, and the end says why.
func (e *export) job() error {
	j, err := e.look.described(e.ctx)
	if err == nil {
		err = e.line("job", j)
	}
	if err != nil {
		return err
	}
	g, err := e.look.graph(e.ctx)
	if err := e.look.unreadable(err); err != nil {
		return err
	}
	if g != nil {
		if err := e.line("graph", g); err != nil {
			return err
		}
	}
	r, err := e.look.reasons(e.ctx)
	if err := e.look.unreadable(err); err != nil || r == nil {
		return err
	}
	return e.line("reasons", r)
}

func (e *export) attempts() (err error) {
	var wrong error
	_, e.end.Of, err = e.look.Each(e.ctx, jobfile.Query{}, func(f *changes.Attempt) bool {
		wrong = e.line("attempt", e.look.shown(f))
		e.end.Attempts++
		return wrong == nil
	})
	if wrong != nil {
		return wrong
	}
	return e.look.unreadable(err)
}

func (e *export) logs() error {
	err := e.look.EachTail(func(t *wire.LogTail) error {
		e.end.Logs++
		return e.line("log", exportLog{scheduler.AttemptID(t.Attempt).String(), t.Launcher, t.Of - int64(len(t.Text)), t.Of, string(t.Text), t.Lacks})
	})
	err = e.look.unreadable(err)
	if why := e.look.damage(); why != nil {
		e.end.Damage = *why
	}
	return err
}
