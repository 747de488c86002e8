package rest

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/past"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/engine/manager/rest/request"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobID reads a job's name, whose form was checked; 0 for one beyond all numbers.
func jobID(name string) scheduler.JobID {
	id, err := scheduler.ParseJobID(name)
	if err != nil {
		return 0
	}
	return id
}

// states are the words for states of jobs.
var states = map[wire.JobState]api.JobState{
	wire.JobState_JOB_STATE_ASKED: api.JobStateAsked, wire.JobState_JOB_STATE_RUNNING: api.JobStateRunning, wire.JobState_JOB_STATE_FINISHING: api.JobStateFinishing,
	wire.JobState_JOB_STATE_KILLING:   api.JobStateKilling,
	wire.JobState_JOB_STATE_SUCCEEDED: api.JobStateSucceeded, wire.JobState_JOB_STATE_FAILED: api.JobStateFailed, wire.JobState_JOB_STATE_KILLED: api.JobStateKilled,
}

// statesOf are the states that words stand for.
func statesOf(words *[]api.JobState) (list []wire.JobState) {
	for state, word := range states {
		if words != nil && slices.Contains(*words, word) {
			list = append(list, state)
		}
	}
	return list
}

// ListJobs lists jobs, the newest first.
func (s *Server) ListJobs(ctx context.Context, q api.ListJobsRequestObject) (api.ListJobsResponseObject, error) {
	p := &q.Params
	before, err := request.NumberOf(request.Jobs, p.Cursor)
	if err != nil {
		return nil, err
	}
	of := past.Query{States: statesOf(p.State), User: p.User, Pool: p.Pool, May: s.needs.Service.MayLook(ctx), Before: scheduler.JobID(before), Limit: request.LimitOf(p.Limit)}
	if p.Name != nil {
		of.Name = *p.Name
	}
	if p.Launcher != nil {
		if of.On, err = s.launcherID(ctx, *p.Launcher); err != nil {
			return nil, err
		}
	}
	found, err := s.needs.Jobs.List(ctx, of)
	if err != nil {
		return nil, err
	}
	page := api.JobList{Jobs: []api.JobSummary{}, Total: found.Total()}
	for _, j := range found.Jobs {
		page.Jobs = append(page.Jobs, summary(j))
	}
	if found.More {
		page.Truncated, page.Next = true, request.Cursor(request.Jobs, request.Number(scheduler.JobID(found.Jobs[len(found.Jobs)-1].Job)))
	}
	return api.ListJobs200JSONResponse{Body: page}, nil
}

// launcherID finds a launcher by its name.
func (s *Server) launcherID(ctx context.Context, name string) (scheduler.LauncherID, error) {
	l, err := s.launcherOf(ctx, name)
	return scheduler.LauncherID(l.GetLauncher()), err
}

func summary(j *wire.JobSummary) api.JobSummary {
	return api.JobSummary{
		ID: scheduler.JobID(j.Job).String(), Name: j.Name, User: j.User, Pool: j.Pool, Priority: scheduler.Priority(j.Priority).String(), State: states[j.State],
		Submitted: *moment(scheduler.Time(max(j.Submitted, 1))), Ended: moment(scheduler.Time(j.Ended)),
		Groups: int(j.Groups), GroupsFinished: int(j.GroupsFinished), GroupsRunning: int(j.GroupsRunning),
	}
}

// GetJob describes a job.
func (s *Server) GetJob(ctx context.Context, q api.GetJobRequestObject) (api.GetJobResponseObject, error) {
	l, err := s.look(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	j, err := l.described(ctx)
	return api.GetJob200JSONResponse{Body: j}, err
}

// described is a job as the document has it.
func (l *look) described(ctx context.Context) (j api.Job, err error) {
	st, err := l.server.needs.Service.Explained(ctx, l.Job)
	if err != nil {
		return j, err
	}
	x := summary(st.Summary)
	j = api.Job{
		ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State, Submitted: x.Submitted, Ended: x.Ended,
		Groups: x.Groups, GroupsFinished: x.GroupsFinished, GroupsRunning: x.GroupsRunning,
		Stages: []api.Stage{}, Counters: []api.Counter{}, Read: []api.LocalityRead{}, Failure: pointer(st.GetFailure().Text()), Damage: l.damage(),
		Waiting: list(st.Waiting), Idle: []api.IdleAttempt{}, IdleTotal: int(st.IdleTotal), Notes: list(st.Notes), Outputs: list(st.Outputs), Kept: list(st.Kept),
	}
	for _, t := range st.Stages {
		j.Stages = append(j.Stages, api.Stage{
			Name: t.Name, Nodes: int(t.Nodes), Waiting: int(t.Waiting), Ready: int(t.Ready), Running: int(t.Running), Suspended: int(t.Suspended),
			Finished: int(t.Finished), Failures: int(t.Failures),
		})
	}
	for _, a := range st.Idle {
		j.Idle = append(j.Idle, api.IdleAttempt{
			ID: int64(a.Attempt), Stage: a.Stage, Index: int(a.Index), Launcher: a.Launcher, IdleSeconds: float32(time.Duration(a.IdleNs).Seconds()), Blocked: a.Blocked,
		})
	}
	for _, c := range st.Counters {
		j.Counters = append(j.Counters, api.Counter{Name: c.Name, Value: c.Value})
	}
	for level, bytes := range st.Read {
		r := api.LocalityRead{Locality: scheduler.Locality(level).String(), Bytes: bytes}
		if level < len(st.LocalAttempts) {
			r.Attempts = int(st.LocalAttempts[level])
		}
		j.Read = append(j.Read, r)
	}
	return j, nil
}

// damage says why not all of the job can be shown; nil: all can.
func (l *look) damage() *string {
	if l.Damage == nil {
		return nil
	}
	return pointer(status.Convert(l.Damage).Message())
}

// GetGraph tells a job's stages and what joins them.
func (s *Server) GetGraph(ctx context.Context, q api.GetGraphRequestObject) (api.GetGraphResponseObject, error) {
	l, err := s.look(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	g, err := l.graph(ctx)
	if err == nil && g == nil {
		err = status.Errorf(codes.NotFound, "the graph of %v is not kept any more", l.ID)
	}
	if err != nil {
		return nil, err
	}
	return api.GetGraph200JSONResponse(*g), nil
}

// graph is the job's; nil where it is not kept.
func (l *look) graph(ctx context.Context) (*api.Graph, error) {
	g, err := l.Graph(ctx)
	if g == nil || err != nil {
		return nil, err
	}
	r := api.Graph{Stages: []api.GraphStage{}, Connections: []api.Connection{}}
	for _, t := range g.Stages {
		r.Stages = append(r.Stages, api.GraphStage{Name: t.Name, Nodes: int(t.Nodes), Kind: pointer(t.Kind), Slots: pointer(int(t.Slots)), Memory: pointer(t.Memory)})
	}
	for _, c := range g.Connections {
		r.Connections = append(r.Connections, api.Connection{
			From: g.Stages[c.FromStage].Name, To: g.Stages[c.ToStage].Name, FromPort: pointer(c.FromPort), ToPort: pointer(c.ToPort),
			Channel: api.ConnectionChannel(word(c.Kind.String(), "CHANNEL_KIND_")), Pattern: api.ConnectionPattern(word(c.Pattern.String(), "PATTERN_")),
		})
	}
	return &r, nil
}

// word is the name of an enum's value, as the document has it.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
