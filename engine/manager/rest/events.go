package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// eventGap is the least time between two events of one stream.
	eventGap = time.Second
	// eventsPerSecond bounds those of all streams together: who hears one takes a page anew, so
	// it bounds what looking costs the manager. While more look, each hears less often.
	eventsPerSecond = 5
	// eventIdle is after what time a stream without events sends a line that is none, so that
	// a connection that broke is noticed.
	eventIdle = 15 * time.Second
	// eventsMax is for how long a stream goes on. Who hears it comes back, and proves anew who
	// it is: a proof may be over, or revoked, by then.
	eventsMax = 10 * time.Minute
	// eventWriteMax is how long an event may take to be sent before who hears it is given up.
	eventWriteMax = 10 * time.Second
)

// GetOpenAPI is the document of all this.
func (s *Server) GetOpenAPI(context.Context, api.GetOpenAPIRequestObject) (api.GetOpenAPIResponseObject, error) {
	return api.GetOpenAPI200ApplicationYamlResponse{Body: bytes.NewReader(document), ContentLength: int64(len(document))}, nil
}

// StreamEvents tells what changed, as topics and their revisions.
func (s *Server) StreamEvents(ctx context.Context, q api.StreamEventsRequestObject) (api.StreamEventsResponseObject, error) {
	e := events{server: s, ctx: ctx}
	if q.Params.Job != nil {
		e.job = jobID(*q.Params.Job)
		j, err := s.needs.Service.Look(ctx, e.job) // who may
		if err != nil {
			return nil, err
		}
		j.Close()
	}
	if q.Params.LastEventID != nil {
		e.told = *q.Params.LastEventID
	}
	return e, nil
}

// events is one stream.
type events struct {
	server *Server
	ctx    context.Context //nolint:containedctx // of the request that the answer is to
	job    scheduler.JobID
	told   string // the id of the last event
}

// VisitStreamEventsResponse sends it, until who asks goes or the manager stops.
func (e events) VisitStreamEventsResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would gather
	w.WriteHeader(http.StatusOK)
	e.server.streams.Add(1)
	defer e.server.streams.Add(-1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server in a test may have none
	over := time.Now().Add(eventsMax)
	for time.Now().Before(over) {
		change := e.server.needs.Model.Changed()
		text, id, err := e.event()
		if err != nil {
			return nil // who asked is gone
		}
		_ = control.SetWriteDeadline(time.Now().Add(eventWriteMax))
		if id != e.told {
			e.told = id
		} else {
			text = ": nothing new\n\n"
		}
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return nil
		}
		if !e.pause(change) {
			return nil
		}
	}
	return nil
}

// event is what is told now, and its id.
func (e events) event() (text, id string, err error) {
	r, err := e.server.needs.Model.Revisions(e.ctx)
	if err != nil {
		return "", "", err
	}
	id = fmt.Sprintf("%x-%x-%x", e.server.needs.Life, r.Jobs, r.Launchers)
	text = fmt.Sprintf("event: jobs\ndata: %x\n\nevent: launchers\ndata: %x\n\n", r.Jobs, r.Launchers)
	if e.job != 0 {
		revision, err := e.server.needs.Model.JobRevision(e.ctx, e.job)
		if err != nil {
			return "", "", err
		}
		id += fmt.Sprintf("-%x", revision)
		text += fmt.Sprintf("event: job\ndata: %x\n\n", revision)
	}
	return fmt.Sprintf("id: %s\n%s", id, text), id, nil
}

// gapOf is the time between two events of each of so many streams.
func gapOf(streams int64) time.Duration {
	return max(eventGap, time.Duration(streams)*time.Second/eventsPerSecond)
}

// pause waits for a change, and for as long as one event keeps from the next; false: the stream
// ends.
func (e events) pause(change <-chan struct{}) bool {
	gap, idle := time.NewTimer(gapOf(e.server.streams.Load())), time.NewTimer(eventIdle)
	defer gap.Stop()
	defer idle.Stop()
	select {
	case <-change:
	case <-idle.C:
		return true
	case <-e.ctx.Done():
		return false
	case <-e.server.needs.Stopping:
		return false
	}
	select {
	case <-gap.C:
	case <-e.ctx.Done():
		return false
	case <-e.server.needs.Stopping:
		return false
	}
	return true
}
