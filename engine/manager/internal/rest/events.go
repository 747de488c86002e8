package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// eventGap is the least time between two events of one stream.
	eventGap = time.Second
	// eventsPerSecond bounds the events of all streams together. Each receiver of an event loads a
	// page again, so it bounds the viewers' cost for the manager. With more viewers, each gets
	// fewer events.
	eventsPerSecond = 5
	// eventIdle is after what time a stream without events sends an empty line, so that a broken
	// connection is noticed.
	eventIdle = 15 * time.Second
	// streamsMax bounds the streams of events and the followed logs at once. They last minutes, and
	// share the manager's connections for pages with all other callers, such as health checks.
	streamsMax = 1000
	// streamsAgain is after how many seconds a refused stream is to be tried again.
	streamsAgain = "30"
	// eventsMax bounds the duration of a stream. The receiver reconnects, and authenticates again:
	// its proof may have expired or been revoked by then.
	eventsMax = 10 * time.Minute
	// eventWriteMax bounds the time to send an event before its stream is ended.
	eventWriteMax = 10 * time.Second
)

// GetOpenAPI is the document of all this.
func (s *Server) GetOpenAPI(context.Context, restapi.GetOpenAPIRequestObject) (restapi.GetOpenAPIResponseObject, error) {
	return restapi.GetOpenAPI200ApplicationYamlResponse{Body: bytes.NewReader(document), ContentLength: int64(len(document))}, nil
}

// StreamEvents sends what changed, as topics and their revisions.
func (s *Server) StreamEvents(ctx context.Context, q restapi.StreamEventsRequestObject) (restapi.StreamEventsResponseObject, error) {
	e := events{server: s, ctx: ctx}
	if q.Params.Job != nil {
		e.job = jobID(*q.Params.Job)
	}
	if err := s.needs.Service.MayHear(ctx, e.job); err != nil {
		return nil, err
	}
	if q.Params.LastEventID != nil {
		e.last = *q.Params.LastEventID
	}
	return e, nil
}

// events is one stream of events.
type events struct {
	server *Server
	ctx    context.Context //nolint:containedctx // of the request that the answer is to
	job    scheduler.JobID
	last   string // the id of the last event
}

// VisitStreamEventsResponse sends it, until the client disconnects or the manager stops.
func (e events) VisitStreamEventsResponse(w http.ResponseWriter) error {
	ended, full := e.server.full(e.ctx, w)
	if full {
		return nil
	}
	defer ended()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would buffer
	w.WriteHeader(http.StatusOK)
	e.server.streams.Add(1)
	defer e.server.streams.Add(-1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server in a test may have none
	wrote := time.Now()
	send := func(text string) bool {
		wrote = time.Now()
		_ = control.SetWriteDeadline(wrote.Add(eventWriteMax))
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
	for over := wrote.Add(eventsMax); time.Now().Before(over); {
		change, looked, kept := e.server.needs.Read.Changed(), e.server.needs.Pools.Changed(), e.server.needs.Read.HistoryChanged()
		text, id, err := e.event()
		if err != nil {
			return nil // the client is gone, or lost its rights
		}
		if text == "" && time.Since(wrote) >= eventIdle {
			text = nothingNew
		}
		if e.last = id; text != "" && !send(text) {
			return nil
		}
		if !e.pause(change, looked, kept, func() bool { return send(nothingNew) }) {
			return nil
		}
	}
	return nil
}

// topic is data that may have changed, with a revision that changes with it.
type topic struct{ name, revision string }

// topics lists the topics of events, in the order of an event's id.
func (e events) topics() ([]topic, error) {
	s := e.server
	r, err := s.needs.Read.Revisions(e.ctx)
	if err != nil {
		return nil, err
	}
	hex := func(n uint64) string { return strconv.FormatUint(n, 16) }
	shown, policy := s.needs.Pools.View().PoolRevisions, s.needs.Policy.Overview()
	list := []topic{
		{"jobs", fmt.Sprintf("%x.%x", r.Jobs, s.needs.Read.HistoryState().Listed)},
		{"launchers", fmt.Sprintf("%x.%x", r.Launchers, s.suspects())},
		{"pools", hex(shown.Pools)},
		{"queue", hex(shown.Queue)},
		// The policy's state has no count of its own: these change with it.
		{"policy", fmt.Sprintf("%x.%x.%x.%s.%s", r.Decisions, shown.Facts, policy.GetGeneration(), problems(policy.GetProblems()), policy.GetState())},
	}
	if e.job != 0 {
		revision, _, err := s.needs.Read.JobRevision(e.ctx, e.job)
		if err != nil {
			return nil, err
		}
		list = append(list, topic{"job", hex(revision)})
	}
	return list, nil
}

// problems changes with the list of problems: their number, and the time of the newest, by which
// they are ordered.
func problems(list []*wire.PolicyProblem) string {
	if len(list) == 0 {
		return "0"
	}
	return fmt.Sprintf("%x.%x", len(list), list[0].GetAt())
}

// event is the current event and its id: the topics that have changed since the last one; "" when
// none has.
func (e events) event() (text, id string, err error) {
	if err := e.server.needs.Service.MayHear(e.ctx, e.job); err != nil {
		return "", "", err
	}
	list, err := e.topics()
	if err != nil {
		return "", "", err
	}
	known := strings.Split(e.last, "-")
	id = strconv.FormatUint(e.server.needs.Life, 16)
	goesOn := len(known) == len(list)+1 && known[0] == id // otherwise it is of another life, or of another stream
	var texts []string
	for i, t := range list {
		id += "-" + t.revision
		if !goesOn || known[i+1] != t.revision {
			texts = append(texts, fmt.Sprintf("event: %s\ndata: %s\n\n", t.name, t.revision))
		}
	}
	if len(texts) == 0 {
		return "", id, nil
	}
	last := len(texts) - 1 // has the id, so that a receiver of the first texts alone gets all again
	return strings.Join(texts[:last], "") + "id: " + id + "\n" + texts[last], id, nil
}

// gapOf is the time between two events of each of so many streams.
func gapOf(streams int64) time.Duration {
	return max(eventGap, time.Duration(streams)*time.Second/eventsPerSecond)
}

// nothingNew is a comment line, which is no event.
const nothingNew = ": nothing new\n\n"

// pause waits for a change, and for the gap between two events; false: the stream ends. With many
// streams the gap is long. Meanwhile pause sends signs of life: a proxy may end a silent stream.
func (e events) pause(change, looked, kept <-chan struct{}, still func() bool) bool {
	gap, idle := time.NewTimer(gapOf(e.server.streams.Load())), time.NewTimer(eventIdle)
	defer gap.Stop()
	defer idle.Stop()
	select {
	case <-change:
	case <-looked:
	case <-kept:
	case <-idle.C:
		return true
	case <-e.ctx.Done():
		return false
	case <-e.server.needs.Stopping:
		return false
	}
	for {
		select {
		case <-gap.C:
			return true
		case <-idle.C:
			if !still() {
				return false
			}
			idle.Reset(eventIdle)
		case <-e.ctx.Done():
			return false
		case <-e.server.needs.Stopping:
			return false
		}
	}
}
