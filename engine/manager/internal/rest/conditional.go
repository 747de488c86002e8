package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// condition is the request's knowledge of an earlier answer.
type condition struct {
	known []string // the ETags, without the mark of weak ones, which count as much here; * matches any
	wait  time.Duration
	job   scheduler.JobID // its job; 0: none
}

// tagsOf are the tags of an If-None-Match (RFC 9110, section 13.1.2). An answer that a proxy
// compressed has a weak one.
func tagsOf(list string) (tags []string) {
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (c *condition) knows(tag string) bool {
	return slices.Contains(c.known, tag) || slices.Contains(c.known, "*")
}

// conditional gives each answer that may change an ETag, answers 304 while nothing changed, and
// waits for a change as long as requested.
func (s *Server) conditional(next restapi.StrictHandlerFunc, operation string) restapi.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		c, can := conditionOf(request)
		if !can {
			return next(ctx, w, r, request)
		}
		if len(c.known) > 0 { // only a caller with the right to look learns that nothing changed
			if err := s.looked(ctx, c.job); err != nil {
				return nil, err
			}
		}
		tag, err := s.changed(ctx, w, operation, c)
		if err != nil {
			return nil, err
		}
		w.Header().Set("ETag", tag)
		if c.knows(tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil, nil
		}
		return next(ctx, w, r, request)
	}
}

// looked checks that a job exists and the caller may look at it; it accepts 0.
func (s *Server) looked(ctx context.Context, job scheduler.JobID) error {
	if job == 0 {
		return nil
	}
	j, err := s.needs.Service.FindJob(ctx, job)
	if err == nil {
		j.Close()
	}
	return err
}

// conditionOf reads a request's conditional parameters; false for a request type that has none.
func conditionOf(request any) (c condition, can bool) {
	v := reflect.ValueOf(request)
	params := v.FieldByName("Params")
	if !params.IsValid() {
		return c, false
	}
	known := params.FieldByName("IfNoneMatch")
	if !known.IsValid() {
		return c, false
	}
	if x, ok := known.Interface().(*string); ok && x != nil {
		c.known = tagsOf(*x)
	}
	if x, ok := params.FieldByName("Wait").Interface().(*int); ok && x != nil && len(c.known) > 0 {
		c.wait = time.Duration(*x) * time.Second
	}
	if job := v.FieldByName("Job"); job.IsValid() {
		c.job = jobID(job.String())
	}
	return c, true
}

const (
	// lookGap is the least time between two checks of a waiting request, when changes wake it.
	lookGap = 100 * time.Millisecond
	// lookEach is the period of checks for changes without notification: that a launcher's
	// heartbeats stopped, or that a file of history was put back.
	lookEach = time.Second
)

// changed returns the current ETag, at once if the caller does not know it, else when it changes,
// or when the time is over.
func (s *Server) changed(ctx context.Context, w http.ResponseWriter, operation string, c condition) (string, error) {
	over := time.NewTimer(c.wait)
	defer over.Stop()
	if c.wait > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(c.wait + writeMax)) // a server in a test may have none
	}
	for last := (time.Time{}); ; {
		change, looked, kept := s.needs.Read.Changed(), s.needs.Pools.Changed(), s.needs.Read.HistoryChanged()
		tag, err := s.tag(ctx, operation, c.job)
		if err != nil || !c.knows(tag) || c.wait == 0 {
			return tag, err
		}
		select {
		case <-change:
		case <-looked:
		case <-time.After(lookEach):
			continue
		case <-kept: // an ended job may be gone
			if err := s.looked(ctx, c.job); err != nil {
				return "", err
			}
		case <-over.C:
			return tag, nil
		case <-s.needs.Stopping:
			return tag, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
		select {
		case <-time.After(time.Until(last.Add(lookGap))):
		case <-s.needs.Stopping:
		case <-ctx.Done():
		}
		last = time.Now()
	}
}

// writeMax is how long an answer may take to be sent.
const writeMax = 30 * time.Second

// tag is the ETag of an operation's current answer.
func (s *Server) tag(ctx context.Context, operation string, job scheduler.JobID) (string, error) {
	if job != 0 {
		return s.jobTag(ctx, operation, job)
	}
	r, err := s.needs.Read.Revisions(ctx)
	h := s.needs.Read.HistoryState()
	switch operation {
	case "ListJobs":
		return s.tagOf(ctx, r.Jobs, h.Listed), err
	case "ListLaunchers":
		return s.tagOf(ctx, r.Launchers, s.suspects()), err
	case "ListDecisions":
		return s.tagOf(ctx, r.Decisions), err
	case "ListQueue":
		return s.tagOf(ctx, r.Jobs, r.Launchers, r.Decides, s.needs.Pools.View().PoolRevisions.Queue), err
	case "GetPools":
		return s.tagOf(ctx, r.Jobs, s.needs.Pools.View().Looks), err
	case clusterOperation:
		return s.tagOf(ctx, r.Jobs, r.Launchers, r.Decides, s.suspects(), h.Listed, s.historyNow()), err
	}
	return s.tagOf(ctx, r.Jobs, r.Launchers, r.Decides, s.suspects(), h.Revision), err
}

// jobTag is the ETag for a job. The reasons of a waiting job depend on free slots, and on the
// policy, whose reasons depend on other jobs.
func (s *Server) jobTag(ctx context.Context, operation string, job scheduler.JobID) (string, error) {
	revision, waits, err := s.needs.Read.JobRevision(ctx, job)
	of := []uint64{revision, s.needs.Read.FileVersion(job)}
	if s.needs.IdleRevision != nil && err == nil {
		var idle uint64
		idle, err = s.needs.IdleRevision(ctx, job)
		of = append(of, idle)
	}
	if err != nil || !waits || operation != "GetJob" {
		return s.tagOf(ctx, of...), err
	}
	r, err := s.needs.Read.Revisions(ctx)
	return s.tagOf(ctx, append(of, r.Jobs, r.Launchers, r.Decides, s.needs.Pools.View().PoolRevisions.Queue)...), err
}

// tagOf is the ETag of some revisions in this life, for the caller.
func (s *Server) tagOf(ctx context.Context, revisions ...uint64) string {
	tag := fmt.Sprintf(`"%x-%x`, s.needs.Life, s.needs.Service.Rights(ctx))
	for _, r := range revisions {
		tag += fmt.Sprintf("-%x", r)
	}
	return tag + `"`
}

// clusterOperation is the operation that shows the cluster at a glance.
const clusterOperation = "GetCluster"

// historyNow changes with the displayed state of history: not all of that has a revision, and some
// of it ends after a time.
func (s *Server) historyNow() uint64 {
	text, _ := json.Marshal(s.history()) // of texts, numbers and times
	sum := fnv.New64a()
	_, _ = sum.Write(text) // it never fails
	return sum.Sum64()
}

// suspects changes with the list of suspect launchers.
func (s *Server) suspects() uint64 {
	if s.needs.Suspects == nil {
		return 0
	}
	sum := fnv.New64a()
	for _, name := range s.needs.Suspects() {
		_, _ = fmt.Fprintf(sum, "%d %s", len(name), name) // it never fails
	}
	return sum.Sum64()
}
