package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// logChunkBytes is the size of the parts in which a log is forwarded.
	logChunkBytes = 64 << 10
	// logHeaderTimeout bounds the wait for a launcher to begin its answer.
	logHeaderTimeout = 10 * time.Second
	// launcherLookEvery is how often the server checks whether a launcher whose log is read was
	// lost.
	launcherLookEvery = time.Second
	// logAgain is the delay before a log is requested again, if the launcher of a newly launched
	// attempt does not have it yet. logTriesMax is the number of tries.
	logAgain    = 500 * time.Millisecond
	logTriesMax = 10
)

// Logs forwards the logs of a job's attempts from their launchers, one attempt after the other in
// order of their ids. With follow it sends each log to the end of its attempt, and new attempts'
// logs too. For lost launchers it sends the ends of logs that they sent before.
func (s *Server) Logs(q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk]) error {
	ctx := stream.Context()
	if q.Job == 0 {
		job, err := s.jobOf(ctx, q.Attempt)
		if err != nil {
			return err
		}
		q.Job = uint64(job)
	}
	if err := s.hasStage(ctx, q); err != nil {
		return err
	}
	if q.Attempt != 0 {
		j, a, err := s.attemptOf(ctx, scheduler.JobID(q.Job), scheduler.AttemptID(q.Attempt))
		if err != nil {
			return err
		}
		defer j.Close()
		return s.log(ctx, j, a, q, stream)
	}
	w, err := s.watchers.add(ctx, scheduler.JobID(q.Job), false)
	if err != nil {
		return err
	}
	defer s.watchers.remove(scheduler.JobID(q.Job), w)
	sent := sentLogs{}
	for over := false; ; {
		switch over, err = s.logs(ctx, q, stream, &sent); {
		case errors.Is(err, errNotYet):
			time.AfterFunc(logAgain, func() { signal(w.changed) })
		case over || err != nil:
			return err
		}
		if err := sleepUntil(ctx, s.needs.Stopping, w.changed); err != nil {
			return err
		}
	}
}

// toldLogs are the logs of a job that were passed on.
type sentLogs struct {
	after scheduler.AttemptID // up to that
	tries int                 // of the next
}

// logs sends the logs of those of a job's attempts that were not sent yet, and reports whether no
// others are wanted. In the end it says how many attempts are unknown, because history had no room
// for them. The error is errNotYet if the next attempt is to be asked for again.
func (s *Server) logs(ctx context.Context, q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk], sent *sentLogs) (over bool, err error) {
	j, err := s.FindJob(ctx, scheduler.JobID(q.Job))
	if err != nil {
		return false, err
	}
	defer j.Close()
	over = !q.Follow || ended(j.Status)
	which, err := ofElements(j, q)
	if err != nil {
		return false, err
	}
	var wrong error
	kept, of, err := j.EachAfter(ctx, sent.after, func(f *changes.Attempt) bool {
		if a := query.AttemptStatus(j.Status.Stages, f); which(f) && (q.Stage == "" || a.Stage == q.Stage) {
			wrong = s.log(ctx, j, a, q, stream)
		}
		if errors.Is(wrong, errNotYet) {
			if sent.tries++; sent.tries < logTriesMax {
				return false
			}
			wrong = nil
		}
		sent.after, sent.tries = f.ID, 0
		return wrong == nil
	})
	if err = cmp.Or(wrong, err); err == nil && over && kept < of {
		err = stream.Send(&wire.LogChunk{Data: fmt.Appendf(nil, "[%d of %d attempts are kept; the logs of the others are not shown (manager.history.attemptsMax)]\n", kept, of)})
	}
	return over, err
}

// jobOf finds the job of an attempt.
func (s *Server) jobOf(ctx context.Context, attempt uint64) (scheduler.JobID, error) {
	job, known, err := s.needs.Read.JobOfAttempt(ctx, scheduler.AttemptID(attempt))
	if known || err != nil {
		return job, statusOf(err)
	}
	may, err := s.needs.Read.MayHave(ctx, scheduler.AttemptID(attempt))
	if err != nil {
		return 0, statusOf(err)
	}
	var unread error
	for _, job := range may[:min(len(may), attemptJobsMax)] {
		has, err := s.has(ctx, job, attempt)
		if has {
			return job, nil
		}
		unread = cmp.Or(unread, err)
	}
	if unread != nil {
		return 0, unread
	}
	return 0, status.Errorf(codes.NotFound, "no job has attempt-%d, of those that live and the last that ended: \"hamadryad status --attempts JOB\" lists a job's, and \"hamadryad logs JOB\" shows what all of them printed", attempt)
}

// attemptJobsMax bounds the ended jobs that are searched for an attempt.
const attemptJobsMax = 64

// has reports whether history has an attempt of an ended job.
func (s *Server) has(ctx context.Context, job scheduler.JobID, attempt uint64) (bool, error) {
	j, err := s.needs.Read.Find(ctx, job)
	if j == nil || err != nil {
		return false, err
	}
	defer j.Close()
	a, err := j.Attempt(ctx, scheduler.AttemptID(attempt))
	return a != nil, err
}

// log forwards one attempt's log. A missing log is no error if the request is for all logs of a
// job.
func (s *Server) log(ctx context.Context, j *query.Job, a *wire.AttemptStatus, q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk]) error {
	send := func(data []byte) error {
		if err := s.mayRead(ctx, j.Status.Summary); err != nil {
			return err
		}
		return stream.Send(&wire.LogChunk{Attempt: a.Attempt, Data: data})
	}
	query := ""
	if q.Follow {
		query = "?follow=1"
	}
	began, last := false, byte('\n')
	take := func(data []byte) error { began, last = true, data[len(data)-1]; return send(data) }
	var err error
	if q.Tail > 0 {
		err = s.lastOfLog(ctx, q, a, take)
	} else {
		err = s.fetchLog(ctx, a, query, take)
	}
	if err == nil {
		return nil
	}
	if !began && q.Tail == 0 {
		var t *tail
		if t, err = s.tail(ctx, j, a, err); err == nil {
			return t.each(send)
		}
	}
	switch gone := status.Code(err) == codes.Unavailable && ctx.Err() == nil; {
	case q.Attempt == 0 && q.Follow && a.Ended == 0 && status.Code(err) == codes.NotFound:
		return errNotYet
	case q.Attempt != 0, began && !gone:
		return err
	case began, gone && (a.Ended == 0 || a.State == scheduler.Lost.String()):
		note := "[" + status.Convert(err).Message() + "]\n"
		if last != '\n' {
			note = "\n" + note
		}
		return send([]byte(note)) // the output of other attempts is sent all the same
	}
	return nil
}

// hasStage refuses the name of a stage that the job does not have.
func (s *Server) hasStage(ctx context.Context, q *wire.LogsRequest) error {
	if q.Stage == "" {
		return nil
	}
	j, err := s.FindJob(ctx, scheduler.JobID(q.Job))
	if err != nil {
		return err
	}
	defer j.Close()
	var names []string
	for _, stage := range j.Status.Stages {
		if stage.Name == q.Stage {
			return nil
		}
		names = append(names, stage.Name)
	}
	return status.Errorf(codes.NotFound, "%v has no stage %.256q; it has %s", j.ID, q.Stage, strings.Join(names, ", "))
}

// lastBytesMax is how much of a log is searched for its last lines.
const lastBytesMax = 1 << 20

// lastOfLog reads the last lines of an attempt's log, and with follow what follows them.
func (s *Server) lastOfLog(ctx context.Context, q *wire.LogsRequest, a *wire.AttemptStatus, take func([]byte) error) error {
	l, err := s.Log(ctx, query.LogQuery{Job: scheduler.JobID(q.Job), Attempt: scheduler.AttemptID(a.Attempt), Part: true, From: -lastBytesMax, Follow: q.Follow})
	if err != nil {
		return err
	}
	defer l.Text.Close()
	there := make([]byte, max(0, l.Until-l.From))
	n, err := io.ReadFull(l.Text, there)
	if end := lastLines(there[:n], int(q.Tail)); len(end) > 0 {
		if err := take(end); err != nil {
			return err
		}
	}
	if err != nil || !q.Follow {
		return endOfLog(a, err)
	}
	return endOfLog(a, eachPart(l.Text, take))
}

// lastLines are the last lines of a text; an unfinished line is one of them.
func lastLines(text []byte, lines int) []byte {
	at := len(text)
	if at > 0 && text[at-1] == '\n' {
		at--
	}
	for ; lines > 0; lines-- {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 {
			return text
		}
	}
	return text[at+1:]
}

// eachPart reads a text in parts, to its end.
func eachPart(text io.Reader, take func([]byte) error) error {
	buffer := make([]byte, logChunkBytes)
	for {
		n, err := text.Read(buffer)
		if n > 0 {
			if err := take(buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// endOfLog is the error at the end of a read log.
func endOfLog(a *wire.AttemptStatus, err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return away(fmt.Sprintf("launcher %s broke off the log of attempt-%d: %v", a.Launcher, a.Attempt, err))
}

// errNotYet: the launcher has no log of a live attempt.
var errNotYet = errors.New("no log yet")

// errNoLog: the launcher is there, and has no log of the attempt.
var errNoLog = errors.New("no log")

// Log opens an attempt's output: its launcher's log, or else the end that the manager has. The
// caller closes its Text.
func (s *Server) Log(ctx context.Context, q query.LogQuery) (*query.Log, error) {
	j, a, err := s.attemptOf(ctx, q.Job, q.Attempt)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	params := url.Values{}
	if q.Follow {
		params.Set("follow", "1")
	}
	if q.Part {
		params.Set("from", strconv.FormatInt(q.From, 10))
		if q.To > 0 {
			params.Set("to", strconv.FormatInt(q.To, 10))
		}
	}
	answer, err := s.askLog(ctx, a, "?"+params.Encode())
	if err != nil {
		t, err := s.tail(ctx, j, a, err)
		if err != nil {
			return nil, err
		}
		return t.part(q), nil
	}
	l := &query.Log{Text: judgedText{answer.Body, func() error { return s.mayRead(ctx, j.Status.Summary) }}}
	if q.Part {
		for name, to := range map[string]*int64{wire.LogFrom: &l.From, wire.LogUntil: &l.Until, wire.LogLength: &l.Length} {
			if *to, err = strconv.ParseInt(answer.Header.Get(name), 10, 64); err != nil {
				answer.Body.Close()
				return nil, status.Errorf(codes.Unavailable, "launcher %s does not say which part of the log it sends; is it of this release?", a.Launcher)
			}
		}
		l.Over = answer.Header.Get(wire.LogOver) == "true"
	}
	return l, nil
}

// judgedText is a text that is sent for as long as the caller may read it.
type judgedText struct {
	io.ReadCloser
	may func() error
}

func (t judgedText) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if wrong := t.may(); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// askLog requests an attempt's log from its launcher. The error is errNoLog if the launcher has
// none.
func (s *Server) askLog(ctx context.Context, a *wire.AttemptStatus, query string) (*http.Response, error) {
	address := s.needs.Launchers.HTTPOf(a.Launcher)
	if address == "" {
		return nil, away(fmt.Sprintf("launcher %s, which keeps the log of attempt-%d, is not connected", a.Launcher, a.Attempt))
	}
	return s.ask(ctx, a.Launcher, fmt.Sprintf("%s://%s/logs/%d%s", s.scheme(), address, a.Attempt, query))
}

// fetchLog reads an attempt's log from its launcher. The error is errNoLog if the launcher has
// none.
func (s *Server) fetchLog(ctx context.Context, a *wire.AttemptStatus, query string, take func([]byte) error) error {
	answer, err := s.askLog(ctx, a, query)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return endOfLog(a, eachPart(answer.Body, take))
}

// ask requests a page from a launcher, and verifies the launcher's identity. The answer ends with
// an error when the launcher is lost: a machine that hangs would never end it.
func (s *Server) ask(ctx context.Context, launcher, page string) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	answer, err := s.http.Do(request)
	if err != nil {
		cancel(nil)
		var why *url.Error
		if errors.As(err, &why) {
			err = why.Err // without the page's address
		}
		return nil, away(fmt.Sprintf("launcher %s does not answer: %v", launcher, err))
	}
	answer.Body = &launcherText{answer.Body, ctx, cancel}
	if err := s.sound(answer, launcher, page); err != nil {
		answer.Body.Close()
		return nil, err
	}
	go s.endWithLauncher(ctx, launcher, cancel)
	return answer, nil
}

// endWithLauncher ends a read from a launcher when that launcher is lost. It returns when the
// reader is closed.
func (s *Server) endWithLauncher(ctx context.Context, launcher string, end context.CancelCauseFunc) {
	tick := time.NewTicker(launcherLookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.needs.Launchers.HTTPOf(launcher) == "" {
				end(errors.New("it was lost"))
			}
		}
	}
}

// launcherText is the text that a launcher sends.
type launcherText struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request that it answers
	end context.CancelCauseFunc
}

func (t *launcherText) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) && t.ctx.Err() != nil {
		err = context.Cause(t.ctx)
	}
	return n, err
}

func (t *launcherText) Close() error {
	t.end(nil)
	return t.ReadCloser.Close()
}

// sound returns the fault of a launcher's answer.
func (s *Server) sound(answer *http.Response, launcher, page string) error {
	if s.needs.Keys != nil {
		if answer.TLS == nil {
			return status.Errorf(codes.Unavailable, "%s shows no certificate, and launcher %s has one", page, launcher)
		}
		if id, err := certs.PeerIdentity(*answer.TLS); err != nil || id.Name != launcher {
			return status.Errorf(codes.Unavailable, "%s is not launcher %s, but %s", page, launcher, id)
		}
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return errNoLog
	}
	return status.Errorf(codes.Unavailable, "%s: %s", page, answer.Status)
}

func newHTTPClient(keys *certs.Keys) *http.Client {
	t := &http.Transport{ResponseHeaderTimeout: logHeaderTimeout, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	if keys != nil {
		t.TLSClientConfig = keys.Client(auth.Launcher, "") // of which name is asked of each answer
	}
	// A redirecting launcher would have the manager fetch for it pages that it can't reach itself.
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (s *Server) scheme() string {
	if s.needs.Keys != nil {
		return "https"
	}
	return "http"
}
