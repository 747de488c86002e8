package rest

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/facts"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attemptsTogether is how many attempts are looked at before others may.
const attemptsTogether = 4096

// attemptsOf are those of a job that one may look at.
type attemptsOf struct {
	server *Server
	job    scheduler.JobID
	status *wire.JobStatus // with those of a job that is over
	stages map[string]int32

	kept, came int // once some were looked at
}

// attempts begins a walk through a job's attempts.
func (s *Server) attempts(ctx context.Context, job string) (*attemptsOf, error) {
	a := &attemptsOf{server: s, job: jobID(job), stages: map[string]int32{}}
	var err error
	a.status, err = s.needs.Service.Status(ctx, &wire.StatusRequest{Job: uint64(a.job)})
	if err != nil {
		return nil, err
	}
	for i, t := range a.status.Stages {
		a.stages[t.Name] = int32(i)
	}
	return a, nil
}

// stage is the number of a stage.
func (a *attemptsOf) stage(name string) (int32, error) {
	n, there := a.stages[name]
	if !there {
		return 0, status.Errorf(codes.NotFound, "%v has no stage %q: see its graph", a.job, name)
	}
	return n, nil
}

// each calls take with each attempt behind one, in order of id, until it returns false.
func (a *attemptsOf) each(ctx context.Context, after scheduler.AttemptID, take func(*facts.Attempt) bool) error {
	for {
		rows, kept, came, lives, err := a.server.needs.Model.Attempts(ctx, a.job, after, attemptsTogether)
		if err != nil {
			return err
		}
		if !lives {
			return a.eachEnded(ctx, after, take)
		}
		a.kept, a.came = kept, came
		for i := range rows {
			if !take(&rows[i]) {
				return nil
			}
		}
		if len(rows) == 0 {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// eachEnded is each for a job that is over.
func (a *attemptsOf) eachEnded(ctx context.Context, after scheduler.AttemptID, take func(*facts.Attempt) bool) error {
	st, err := a.server.needs.Service.Status(ctx, &wire.StatusRequest{Job: uint64(a.job), Attempts: true})
	if err != nil {
		return err
	}
	rows := slices.SortedFunc(slices.Values(st.Attempts), func(x, y *wire.AttemptStatus) int { return int(int64(x.Attempt) - int64(y.Attempt)) })
	a.kept, a.came = len(rows), len(rows)
	for _, r := range rows {
		f := facts.Attempt{
			ID: scheduler.AttemptID(r.Attempt), Job: a.job, On: r.Launcher, Stage: a.stages[r.Stage], Index: int32(r.Index), State: facts.Ended, Speculative: r.Speculative,
			Outcome: outcomes[r.State], Started: scheduler.Time(r.Started), Since: scheduler.Time(r.Ended), Suspended: time.Duration(r.SuspendedNs), Reason: r.Reason,
		}
		if f.ID > after && !take(&f) {
			return nil
		}
	}
	return nil
}

// outcomes are the ends of attempts by their words.
var outcomes = func() map[string]scheduler.AttemptOutcome {
	m := map[string]scheduler.AttemptOutcome{}
	for o := scheduler.Finished; o <= scheduler.Killed; o++ {
		m[o.String()] = o
	}
	return m
}()

// attemptStates are the words for states of attempts that live.
var attemptStates = map[facts.State]api.AttemptState{
	facts.Assigned: api.AttemptStateAssigned, facts.Running: api.AttemptStateRunning, facts.Starved: api.AttemptStateStarved,
	facts.Suspended: api.AttemptStateSuspended, facts.Stopping: api.AttemptStateStopping,
}

func stateOf(a *facts.Attempt) api.AttemptState {
	if a.State == facts.Ended {
		return api.AttemptState(a.Outcome.String())
	}
	return attemptStates[a.State]
}

// shown is an attempt as the document has it.
func (a *attemptsOf) shown(f *facts.Attempt) api.Attempt {
	x := api.Attempt{
		ID: int64(f.ID), Stage: a.status.Stages[f.Stage].Name, Index: int(f.Index), Launcher: f.On, State: stateOf(f), Speculative: f.Speculative,
		Ready: moment(f.Ready), Launched: moment(f.Launched), Started: moment(f.Started), Executing: moment(f.Executing),
		SuspendedSeconds: float32(f.Suspended.Seconds()), Reason: pointer(f.Reason),
	}
	switch f.State {
	case facts.Ended:
		x.Ended = moment(f.Since)
		x.RunningSeconds = pointer(float32(ran(f).Seconds()))
		var read int64
		for _, n := range f.Work.Read {
			read += n
		}
		x.ReadBytes, x.WrittenBytes = pointer(read), pointer(f.Work.Written)
	case facts.Suspended:
		x.SuspendedSince = moment(f.Since)
	}
	if f.For != 0 {
		x.PreemptedFor = pointer(f.For.String())
	}
	return x
}

// ran is for how long one ran that ended, without suspensions.
func ran(f *facts.Attempt) time.Duration {
	if f.Started == 0 {
		return 0
	}
	return f.Since.Sub(f.Started) - f.Suspended
}

// ListAttempts lists a job's attempts, the first first.
func (s *Server) ListAttempts(ctx context.Context, q api.ListAttemptsRequestObject) (api.ListAttemptsResponseObject, error) {
	p := &q.Params
	after, err := cursorOf(p.Cursor)
	if err != nil {
		return nil, err
	}
	a, err := s.attempts(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	var stage int32
	if p.Stage != nil {
		if stage, err = a.stage(*p.Stage); err != nil {
			return nil, err
		}
	}
	page := api.AttemptList{Attempts: []api.Attempt{}}
	err = a.each(ctx, scheduler.AttemptID(after), func(f *facts.Attempt) bool {
		if p.Stage != nil && f.Stage != stage || p.Launcher != nil && f.On != *p.Launcher || p.State != nil && len(*p.State) > 0 && !slices.Contains(*p.State, stateOf(f)) {
			return true
		}
		if n := len(page.Attempts); n == limitOf(p.Limit) {
			page.Truncated, page.Next = true, cursor(scheduler.AttemptID(page.Attempts[n-1].ID))
			return false
		}
		page.Attempts = append(page.Attempts, a.shown(f))
		return true
	})
	page.Kept, page.Total = a.kept, a.came
	return api.ListAttempts200JSONResponse{Body: page}, err
}
