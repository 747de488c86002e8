package rest

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobID reads a job's name, whose form was checked; 0 for one beyond the largest number.
func jobID(name string) scheduler.JobID {
	id, err := scheduler.ParseJobID(name)
	if err != nil {
		return 0
	}
	return id
}

// statesOf are the states that the words name.
func statesOf(words *[]restapi.JobState) (list []wire.JobState) {
	for state := range wire.JobState_name {
		if of := wire.JobState(state); words != nil && slices.Contains(*words, restapi.JobStateOf(of)) {
			list = append(list, of)
		}
	}
	return list
}

// ListJobs lists jobs, the newest first.
func (s *Server) ListJobs(ctx context.Context, q restapi.ListJobsRequestObject) (restapi.ListJobsResponseObject, error) {
	p := &q.Params
	before, err := request.NumberOf(request.Jobs, p.Cursor)
	if err != nil {
		return nil, err
	}
	of := query.Query{Filter: query.Filter{States: statesOf(p.State), User: p.User, Pool: p.Pool}, May: s.needs.Service.MayLook(ctx), Before: scheduler.JobID(before), Limit: request.LimitOf(p.Limit)}
	if p.Name != nil {
		of.Name = *p.Name
	}
	if p.Since != nil {
		of.Since = scheduler.Time(p.Since.UnixNano())
	}
	if p.Launcher != nil {
		if of.On, err = s.launcherID(ctx, *p.Launcher); err != nil {
			return nil, err
		}
	}
	found, err := s.needs.Read.List(ctx, of)
	if err != nil {
		return nil, err
	}
	page := restapi.JobList{Jobs: []restapi.JobSummary{}, Total: found.Total()}
	for _, j := range found.Jobs {
		page.Jobs = append(page.Jobs, restapi.JobSummaryOf(j))
	}
	if found.More {
		page.Truncated, page.Next = true, request.Cursor(request.Jobs, request.Number(scheduler.JobID(found.Jobs[len(found.Jobs)-1].Job)))
	}
	return restapi.ListJobs200JSONResponse{Body: page}, nil
}

// launcherID finds a launcher by its name.
func (s *Server) launcherID(ctx context.Context, name string) (scheduler.LauncherID, error) {
	l, err := s.launcherOf(ctx, name, &wire.LaunchersRequest{})
	return scheduler.LauncherID(l.GetLauncher()), err
}

// GetJob describes a job.
func (s *Server) GetJob(ctx context.Context, q restapi.GetJobRequestObject) (restapi.GetJobResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	j, err := l.described(ctx)
	return restapi.GetJob200JSONResponse{Body: j}, err
}

// described is a job as the document has it.
func (l *jobHandle) described(ctx context.Context) (j restapi.Job, err error) {
	st, err := l.server.needs.Service.Explained(ctx, l.Job)
	if err != nil {
		return j, err
	}
	j = restapi.JobOf(st)
	j.Damage = l.damage()
	return j, nil
}

// damage is why the job is not shown as a whole; nil: it is.
func (l *jobHandle) damage() *string {
	if l.Damage == nil {
		return nil
	}
	return restapi.Pointer(status.Convert(l.Damage).Message())
}

// GetGraph returns a job's stages and what joins them.
func (s *Server) GetGraph(ctx context.Context, q restapi.GetGraphRequestObject) (restapi.GetGraphResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
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
	return restapi.GetGraph200JSONResponse(*g), nil
}

// graph is the job's graph; nil if it is not kept.
func (l *jobHandle) graph(ctx context.Context) (*restapi.Graph, error) {
	g, err := l.Graph(ctx)
	if g == nil || err != nil {
		return nil, err
	}
	r := restapi.Graph{Stages: []restapi.GraphStage{}, Connections: []restapi.Connection{}}
	for _, t := range g.Stages {
		r.Stages = append(r.Stages, restapi.GraphStage{Name: t.Name, Nodes: int(t.Nodes), Resources: restapi.Pointer(wire.ResourcesOf(t.Resources).String()), Kind: restapi.Pointer(t.Kind), Slots: restapi.Pointer(int(t.Slots)), Memory: restapi.Pointer(t.Memory), AttemptsMax: restapi.Pointer(int(t.AttemptsMax))})
	}
	for _, c := range g.Connections {
		r.Connections = append(r.Connections, restapi.Connection{
			From: g.Stages[c.FromStage].Name, To: g.Stages[c.ToStage].Name, FromPort: restapi.Pointer(c.FromPort), ToPort: restapi.Pointer(c.ToPort),
			Channel: restapi.ConnectionChannel(word(c.Kind.String(), "CHANNEL_KIND_")), Pattern: restapi.ConnectionPattern(word(c.Pattern.String(), "PATTERN_")),
		})
	}
	return &r, nil
}

// word is the name of an enum's value, as the document has it.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
