package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// logChunkBytes is the size of the parts in which a log is passed on.
	logChunkBytes = 64 << 10
	// logHeaderTimeout bounds the wait for a launcher to begin its answer.
	logHeaderTimeout = 10 * time.Second
)

// Logs passes on the logs of a job's attempts from their launchers, one attempt after the
// other in order of their ids; with follow each to the end of its attempt, and attempts
// that begin meanwhile too.
func (s *Server) Logs(q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk]) error {
	ctx := stream.Context()
	if q.Job == 0 {
		job, err := s.jobOf(ctx, q.Attempt)
		if err != nil {
			return err
		}
		q.Job = uint64(job)
	}
	w, err := s.watchers.add(scheduler.JobID(q.Job))
	if err != nil {
		return err
	}
	defer s.watchers.remove(scheduler.JobID(q.Job), w)
	done := map[uint64]bool{}
	for {
		st, err := s.readable(ctx, q.Job, true)
		if err != nil {
			return err
		}
		for _, a := range inOrder(st.Attempts) {
			if done[a.Attempt] || (q.Attempt != 0 && a.Attempt != q.Attempt) {
				continue
			}
			done[a.Attempt] = true
			if err := s.log(ctx, a, q, stream); err != nil {
				return err
			}
		}
		switch {
		case q.Attempt != 0 && !done[q.Attempt]:
			return status.Errorf(codes.NotFound, "%v has no attempt %d: see \"hamadryad status --attempts %v\"", scheduler.JobID(q.Job), q.Attempt, scheduler.JobID(q.Job))
		case !q.Follow, q.Attempt != 0, ended(st):
			return nil
		}
		if err := sleepUntil(ctx, s.needs.Stopping, w.changed); err != nil {
			return err
		}
	}
}

// inOrder lists attempts in order of their ids: a status has those that ended first.
func inOrder(attempts []*wire.AttemptStatus) []*wire.AttemptStatus {
	return slices.SortedFunc(slices.Values(attempts), func(x, y *wire.AttemptStatus) int { return cmp.Compare(x.Attempt, y.Attempt) })
}

// jobOf finds the job that an attempt belongs to.
func (s *Server) jobOf(ctx context.Context, attempt uint64) (scheduler.JobID, error) {
	job, known, err := s.needs.Model.JobOfAttempt(ctx, scheduler.AttemptID(attempt))
	if err == nil && !known {
		return 0, status.Errorf(codes.NotFound, "no job has an attempt %d: \"hamadryad status --attempts JOB\" lists a job's", attempt)
	}
	return job, statusOf(err)
}

// log passes on one attempt's log. That there is none is no error when all of a
// job's are asked for.
func (s *Server) log(ctx context.Context, a *wire.AttemptStatus, q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk]) error {
	address := s.needs.Launchers.HTTPOf(a.Launcher)
	if address == "" {
		if q.Attempt == 0 {
			return nil
		}
		return status.Errorf(codes.Unavailable, "launcher %s, which keeps the log of attempt %d, is not connected", a.Launcher, a.Attempt)
	}
	url := fmt.Sprintf("%s://%s/logs/%d", s.scheme(), address, a.Attempt)
	if q.Follow {
		url += "?follow=1"
	}
	err := s.fetchLog(ctx, a.Launcher, url, func(data []byte) error {
		return stream.Send(&wire.LogChunk{Attempt: a.Attempt, Data: data})
	})
	if errors.Is(err, errNoLog) && q.Attempt == 0 {
		return nil
	}
	if errors.Is(err, errNoLog) {
		return status.Errorf(codes.NotFound, "attempt %d wrote no log, or launcher %s does not keep it any more", a.Attempt, a.Launcher)
	}
	return err
}

var errNoLog = errors.New("no log")

func (s *Server) fetchLog(ctx context.Context, launcher, url string, take func([]byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(request)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer answer.Body.Close()
	if s.needs.Keys != nil {
		if answer.TLS == nil {
			return status.Errorf(codes.Unavailable, "%s shows no certificate, and launcher %s has one", url, launcher)
		}
		if id, err := certs.PeerIdentity(*answer.TLS); err != nil || id.Name != launcher {
			return status.Errorf(codes.Unavailable, "%s is not launcher %s, but %s", url, launcher, id)
		}
	}
	if answer.StatusCode == http.StatusNotFound {
		return errNoLog
	}
	if answer.StatusCode != http.StatusOK {
		return status.Errorf(codes.Unavailable, "%s: %s", url, answer.Status)
	}
	buffer := make([]byte, logChunkBytes)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			if err := take(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return status.Error(codes.Unavailable, err.Error())
		}
	}
}

func newHTTPClient(keys *certs.Keys) *http.Client {
	t := &http.Transport{ResponseHeaderTimeout: logHeaderTimeout, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	if keys != nil {
		t.TLSClientConfig = keys.Client(auth.Launcher, "") // of which name is asked of each answer
	}
	// A launcher that sends elsewhere would have the manager fetch for it what it can't reach.
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (s *Server) scheme() string {
	if s.needs.Keys != nil {
		return "https"
	}
	return "http"
}
