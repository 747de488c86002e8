package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// logChunk is how much of a log is forwarded at once, bytes, and logWriteMax how long that may
	// take.
	logChunk    = 64 << 10
	logWriteMax = time.Minute
	// farAway is the end of a growing range: beyond any output, and exact in each language (RFC
	// 8673, section 2.2).
	farAway = 1<<53 - 1
)

// AttemptLog is an answer with an attempt's output. The caller sends it, or closes it.
type AttemptLog struct {
	query.Log
	Part bool  // From and To are a range
	To   int64 // the end of the part; in a growing log, beyond any output
	Live bool  // it goes on

	ctx    context.Context //nolint:containedctx // of the request that the answer is to
	cancel context.CancelFunc
	server *Server
}

// attemptID reads an attempt's name, whose form was checked; 0 for one beyond the largest number.
func attemptID(name string) scheduler.AttemptID {
	id, err := scheduler.ParseAttemptID(name)
	if err != nil {
		return 0
	}
	return id
}

// GetAttemptLog opens what an attempt printed.
func (s *Server) GetAttemptLog(ctx context.Context, q restapi.GetAttemptLogRequestObject) (restapi.GetAttemptLogResponseObject, error) {
	p := &q.Params
	ask := query.LogQuery{Job: jobID(q.Job), Attempt: attemptID(q.Attempt), Follow: p.Follow != nil && *p.Follow}
	if p.Range != nil && p.IfRange == nil {
		if from, to, ok := rangeOf(*p.Range); ok {
			ask.From, ask.To, ask.Part = from, to, true
		}
	}
	l := &AttemptLog{Part: ask.Part, server: s}
	l.ctx, l.cancel = context.WithTimeout(ctx, eventsMax)
	log, err := s.needs.Service.Log(l.ctx, ask)
	if err != nil {
		l.cancel()
		return nil, err
	}
	l.Log = *log
	if !ask.Part {
		l.Live = ask.Follow
		return l, nil
	}
	l.Live = ask.Follow && !l.Over && l.Until == l.Length && (ask.To == 0 || ask.To > l.Length) && l.From <= l.Length
	switch {
	case l.Live:
		l.To = cmp.Or(ask.To, farAway+1)
	case ask.To > 0:
		l.To = min(l.Until, ask.To)
	default:
		l.To = l.Until
	}
	if l.From >= l.To && !l.Live {
		l.Close()
		return beyond{l.Length, ask}, nil
	}
	return l, nil
}

// rangeOf reads a range of bytes: from a position on, or, if it is negative, that many before the
// end, and before another; 0: to the end. It is false for a text that is not one range.
func rangeOf(text string) (from, to int64, ok bool) {
	unit, span, found := strings.Cut(text, "=")
	first, last, dash := strings.Cut(strings.TrimSpace(span), "-")
	if !found || !dash || !strings.EqualFold(strings.TrimSpace(unit), "bytes") || strings.Contains(span, ",") {
		return 0, 0, false
	}
	if first == "" {
		n, ok := position(last)
		if n == 0 { // an empty range
			return farAway, 0, ok
		}
		return -n, 0, ok
	}
	if from, ok = position(first); !ok || last == "" {
		return from, 0, ok
	}
	to, ok = position(last)
	return from, to + 1, ok && to >= from
}

// position reads digits. Of a number beyond all positions it makes the last.
func position(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = farAway
	}
	return min(n, farAway), true
}

// Close closes the log's source.
func (l *AttemptLog) Close() {
	_ = l.Text.Close() // it was read only
	if l.cancel != nil {
		l.cancel()
	}
}

// VisitGetAttemptLogResponse sends it.
func (l *AttemptLog) VisitGetAttemptLogResponse(w http.ResponseWriter) error {
	defer l.Close()
	if l.Live {
		ended, full := l.server.full(l.ctx, w)
		if full {
			return nil
		}
		defer ended()
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Accel-Buffering", "no") // for proxies that would buffer
	code := http.StatusOK
	if l.Part {
		code = http.StatusPartialContent
		h.Set("Content-Range", l.contentRange())
	}
	w.WriteHeader(code)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server in a test may have none
	stop := context.AfterFunc(l.ctx, func() { _ = l.Text.Close() })
	defer stop()
	stopping := make(chan struct{})
	defer close(stopping)
	go func() {
		select {
		case <-l.server.needs.Stopping:
			l.cancel()
		case <-stopping:
		}
	}()
	return l.copy(w, control)
}

// copy forwards it as it comes.
func (l *AttemptLog) copy(w io.Writer, control *http.ResponseController) error {
	buffer := make([]byte, logChunk)
	if errors.Is(control.Flush(), http.ErrBodyNotAllowed) { // there may be no line for long
		return nil
	}
	for {
		n, err := l.Text.Read(buffer)
		_ = control.SetWriteDeadline(time.Now().Add(logWriteMax))
		if _, wrong := w.Write(buffer[:n]); wrong != nil || n > 0 && control.Flush() != nil {
			return nil // the client is gone
		}
		switch {
		case errors.Is(err, io.EOF), l.Live && err != nil && l.ctx.Err() != nil:
			return nil
		case err != nil:
			panic(http.ErrAbortHandler) // the reader must not take the part for the whole
		}
	}
}

// contentRange is the header for the part.
func (l *AttemptLog) contentRange() string {
	if l.Over {
		return fmt.Sprintf("bytes %d-%d/%d", l.From, l.To-1, l.Length)
	}
	return fmt.Sprintf("bytes %d-%d/*", l.From, l.To-1)
}

// beyond answers a range behind the end.
type beyond struct {
	length int64
	ask    query.LogQuery
}

// VisitGetAttemptLogResponse sends it.
func (b beyond) VisitGetAttemptLogResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", b.length))
	WriteProblem(w, http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("nothing of this range is kept: attempt-%d has printed %d bytes", b.ask.Attempt, b.length))
	return nil
}
