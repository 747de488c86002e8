package rest

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobHandle is a job opened for a request.
type jobHandle struct {
	*query.Job
	server *Server
	stages map[string]int32 // numbers, by name
}

// openJob finds a job that the caller may look at.
func (s *Server) openJob(ctx context.Context, job string) (*jobHandle, error) {
	j, err := s.needs.Service.FindJob(ctx, jobID(job))
	if err != nil {
		return nil, err
	}
	l := &jobHandle{Job: j, server: s, stages: map[string]int32{}}
	for i, t := range j.Status.Stages {
		l.stages[t.Name] = int32(i)
	}
	return l, nil
}

// stage is the number of a stage.
func (l *jobHandle) stage(name string) (int32, error) {
	n, there := l.stages[name]
	if err := l.wrongFile(); !there && err != nil { // the names of its stages can't be read
		return 0, err
	}
	if !there {
		return 0, status.Errorf(codes.NotFound, "%v has no stage %q: see its graph", l.ID, name)
	}
	return n, nil
}

// stageName is the name of a stage; "" if it is not known any more.
func (l *jobHandle) stageName(number int32) string {
	if int(number) >= len(l.Status.Stages) {
		return ""
	}
	return l.Status.Stages[number].Name
}

func stateOf(a *changes.Attempt) restapi.AttemptState {
	return restapi.AttemptState(query.StateName(a))
}

// shown is an attempt as the document has it.
func (l *jobHandle) shown(f *changes.Attempt) restapi.Attempt {
	x := restapi.Attempt{
		ID: f.ID.String(), Stage: l.stageName(f.Stage), Index: int(f.Index), Launcher: f.On, State: stateOf(f), Speculative: f.Speculative,
		Ready: restapi.TimeOf(f.Ready), Launched: restapi.TimeOf(f.Launched), Started: restapi.TimeOf(f.Started), Executing: restapi.TimeOf(f.Executing),
		SuspendedSeconds: float32(f.Suspended.Seconds()), Reason: restapi.Pointer(f.Reason),
	}
	switch f.State {
	case changes.Ended:
		x.Ended = restapi.TimeOf(f.Since)
		if f.Started != 0 {
			seconds := float32(ran(f).Seconds())
			x.RunningSeconds = &seconds // 0, too: its start and its end may come in one step
		}
		var read int64
		for _, n := range f.Work.Read {
			read += n
		}
		x.ReadBytes, x.WrittenBytes = restapi.Pointer(read), restapi.Pointer(f.Work.Written)
	case changes.Suspended:
		x.SuspendedSince = restapi.TimeOf(f.Since)
	default:
		if idle := l.server.needs.Idle; idle != nil {
			span, blocked := idle(f.On, uint64(f.ID))
			x.IdleSeconds, x.Blocked = restapi.Pointer(float32(span.Seconds())), restapi.Pointer(blocked)
		}
	}
	if f.For != 0 {
		x.PreemptedFor = restapi.Pointer(f.For.String())
	}
	return x
}

// ran is the duration of an ended attempt, without suspensions.
func ran(f *changes.Attempt) time.Duration {
	if f.Started == 0 {
		return 0
	}
	return f.Since.Sub(f.Started) - f.Suspended
}

// ListAttempts lists a job's attempts, the first first.
func (s *Server) ListAttempts(ctx context.Context, q restapi.ListAttemptsRequestObject) (restapi.ListAttemptsResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	list, err := l.list(&q.Params)
	if err != nil {
		return nil, err
	}
	kept, of, err := l.Each(ctx, list.which(), list.addAttempt)
	return restapi.ListAttempts200JSONResponse{Body: list.shown(kept, of)}, err
}

// listed are matching attempts, as many as a page has.
type listed struct {
	of        *jobHandle
	after     scheduler.AttemptID
	stage     int32                       // -1: any
	ofElement func(*changes.Attempt) bool // whether an attempt is of the named elements; nil: any
	p         *restapi.ListAttemptsParams
	last      scheduler.AttemptID // of page
	page      restapi.AttemptList
}

func (l *jobHandle) list(p *restapi.ListAttemptsParams) (*listed, error) {
	after, err := request.NumberOf(request.Attempts, p.Cursor)
	x := &listed{of: l, after: scheduler.AttemptID(after), stage: -1, p: p, page: restapi.AttemptList{Attempts: []restapi.Attempt{}}}
	if err == nil && p.Stage != nil {
		x.stage, err = l.stage(*p.Stage)
	}
	if err == nil && p.Elements != nil {
		x.ofElement, err = l.ofElements(p.Elements)
	}
	return x, err
}

// which selects the attempts that the list needs.
func (x *listed) which() jobfile.Query {
	q := jobfile.Query{After: x.after}
	if x.stage >= 0 {
		q.Stages = []int32{x.stage}
	}
	if x.p.Launcher != nil {
		q.Launcher = *x.p.Launcher
	}
	if x.p.State != nil {
		for o := scheduler.Finished; o <= scheduler.Killed; o++ {
			if slices.Contains(*x.p.State, restapi.AttemptState(o.String())) {
				q.Outcomes = append(q.Outcomes, o)
			}
		}
	}
	return q
}

// addAttempt adds a matching attempt; false: the page is full.
func (x *listed) addAttempt(f *changes.Attempt) bool {
	p := x.p
	if f.ID <= x.after || x.stage >= 0 && f.Stage != x.stage || x.ofElement != nil && !x.ofElement(f) || p.Launcher != nil && f.On != *p.Launcher || p.State != nil && len(*p.State) > 0 && !slices.Contains(*p.State, stateOf(f)) {
		return true
	}
	if len(x.page.Attempts) == request.LimitOf(p.Limit) {
		x.page.Truncated, x.page.Next = true, request.Cursor(request.Attempts, request.Number(x.last))
		return false
	}
	x.page.Attempts, x.last = append(x.page.Attempts, x.of.shown(f)), f.ID
	return true
}

func (x *listed) shown(kept, of int) restapi.AttemptList {
	x.page.Kept, x.page.Total = kept, of
	return x.page
}
