package rest

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/readmodel"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// limitDefault is how many entries a page has that names no limit.
const limitDefault = 100

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
	wire.JobState_JOB_STATE_SUCCEEDED: api.JobStateSucceeded, wire.JobState_JOB_STATE_FAILED: api.JobStateFailed, wire.JobState_JOB_STATE_KILLED: api.JobStateKilled,
}

// ListJobs lists jobs, the newest first.
func (s *Server) ListJobs(ctx context.Context, q api.ListJobsRequestObject) (api.ListJobsResponseObject, error) {
	before, err := cursorOf(q.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := s.jobs(ctx, &q.Params)
	if err != nil {
		return nil, err
	}
	page := api.JobList{Jobs: []api.JobSummary{}, Total: len(all)}
	limit := limitOf(q.Params.Limit)
	for _, j := range slices.Backward(all) {
		switch {
		case before != 0 && j.Job >= before:
			continue
		case len(page.Jobs) == limit:
			page.Truncated, page.Next = true, cursor(jobID(page.Jobs[limit-1].ID))
			return api.ListJobs200JSONResponse{Body: page}, nil
		}
		page.Jobs = append(page.Jobs, summary(j))
	}
	return api.ListJobs200JSONResponse{Body: page}, nil
}

// jobs are those that fit and that one may look at, in order of id.
func (s *Server) jobs(ctx context.Context, p *api.ListJobsParams) ([]*wire.JobSummary, error) {
	live, ended := wanted(p.State)
	list, err := s.needs.Model.Jobs(ctx, ended)
	if err != nil {
		return nil, err
	}
	var there []scheduler.JobID
	if p.Launcher != nil {
		if there, err = s.onLauncher(ctx, *p.Launcher); err != nil {
			return nil, err
		}
	}
	may := s.needs.Service.MayLook(ctx)
	list = slices.DeleteFunc(list, func(j *wire.JobSummary) bool {
		return !live && j.Ended == 0 || p.State != nil && len(*p.State) > 0 && !slices.Contains(*p.State, states[j.State]) ||
			p.Pool != nil && j.Pool != *p.Pool || p.User != nil && j.User != *p.User || p.Name != nil && !strings.Contains(j.Name, *p.Name) ||
			p.Launcher != nil && !slices.Contains(there, scheduler.JobID(j.Job)) || !may(j)
	})
	slices.SortFunc(list, func(x, y *wire.JobSummary) int { return int(int64(x.Job) - int64(y.Job)) })
	return list, nil
}

// wanted says whether jobs of some states live, and whether some are over; all states when none
// is named.
func wanted(named *[]api.JobState) (live, ended bool) {
	if named == nil || len(*named) == 0 {
		return true, true
	}
	for _, s := range *named {
		switch s {
		case api.JobStateSucceeded, api.JobStateFailed, api.JobStateKilled:
			ended = true
		default:
			live = true
		}
	}
	return live, ended
}

// onLauncher are the jobs with an attempt that lives there.
func (s *Server) onLauncher(ctx context.Context, name string) ([]scheduler.JobID, error) {
	r, err := s.needs.Service.Launchers(ctx, &wire.Empty{})
	if err != nil {
		return nil, err
	}
	for _, l := range r.Launchers {
		if l.Name == name {
			return s.needs.Model.Find(ctx, readmodel.Filter{Launcher: scheduler.LauncherID(l.Launcher)})
		}
	}
	return nil, status.Errorf(codes.NotFound, "there is no launcher %q", name)
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
	st, err := s.needs.Service.Status(ctx, &wire.StatusRequest{Job: uint64(jobID(q.Job))})
	if err != nil {
		return nil, err
	}
	x := summary(st.Summary)
	j := api.Job{
		ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State, Submitted: x.Submitted, Ended: x.Ended,
		Groups: x.Groups, GroupsFinished: x.GroupsFinished, GroupsRunning: x.GroupsRunning,
		Stages: []api.Stage{}, Counters: []api.Counter{}, Read: []api.LocalityRead{}, Failure: pointer(st.GetFailure().GetMessage()),
		Waiting: list(st.Waiting), Notes: list(st.Notes), Outputs: list(st.Outputs), Kept: list(st.Kept),
	}
	for _, t := range st.Stages {
		j.Stages = append(j.Stages, api.Stage{
			Name: t.Name, Nodes: int(t.Nodes), Waiting: int(t.Waiting), Ready: int(t.Ready), Running: int(t.Running), Suspended: int(t.Suspended),
			Finished: int(t.Finished), Failures: int(t.Failures),
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
	return api.GetJob200JSONResponse{Body: j}, nil
}

// GetGraph tells a job's stages and what joins them.
func (s *Server) GetGraph(ctx context.Context, q api.GetGraphRequestObject) (api.GetGraphResponseObject, error) {
	id := jobID(q.Job)
	if _, err := s.needs.Service.Status(ctx, &wire.StatusRequest{Job: uint64(id)}); err != nil { // who may look
		return nil, err
	}
	g, err := s.needs.Model.Graph(ctx, id)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, status.Errorf(codes.NotFound, "the graph of %v is not kept any more", id)
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
	return api.GetGraph200JSONResponse(r), nil
}

// word is the name of an enum's value, as the document has it.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
