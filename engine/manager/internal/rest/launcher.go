package rest

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attemptsThereMax is how many attempts are listed that live on a launcher.
const attemptsThereMax = 500

// GetLauncher describes a launcher.
func (s *Server) GetLauncher(ctx context.Context, q restapi.GetLauncherRequestObject) (restapi.GetLauncherResponseObject, error) {
	l, err := s.launcherOf(ctx, q.Launcher)
	if err != nil {
		return nil, err
	}
	d := restapi.LauncherDetailsOf(l)
	names := namesOf{server: s, known: map[scheduler.JobID]*wire.JobStatus{}}
	there, err := s.needs.Model.OnLauncher(ctx, scheduler.LauncherID(l.Launcher))
	if err != nil {
		return nil, err
	}
	for i := range there {
		if len(d.Attempts) < attemptsThereMax {
			if a, may := names.attempt(ctx, &there[i]); may {
				d.Attempts = append(d.Attempts, a)
			}
		}
	}
	d.AttemptsLeftOut = len(there) - len(d.Attempts)
	ends, err := s.needs.Model.Ends(ctx, scheduler.LauncherID(l.Launcher))
	for _, e := range ends {
		if a, may := names.attempt(ctx, &changes.Attempt{ID: e.Attempt, Job: e.Job, Stage: e.Stage, Index: e.Index, State: changes.Ended, Outcome: e.Outcome, Started: e.At}); may {
			d.Ended = append(d.Ended, a)
		}
	}
	return restapi.GetLauncher200JSONResponse{Body: d}, err
}

// launcherOf finds a launcher by name. Of several of one name the last counts.
func (s *Server) launcherOf(ctx context.Context, name string) (*wire.LauncherStatus, error) {
	r, err := s.needs.Service.Launchers(ctx, &wire.Empty{})
	if err != nil {
		return nil, err
	}
	for _, l := range slices.Backward(r.Launchers) {
		if l.Name == name {
			return l, nil
		}
	}
	return nil, status.Error(codes.NotFound, wire.NoLauncher(name))
}

// namesOf are the jobs that one may look at.
type namesOf struct {
	server *Server
	known  map[scheduler.JobID]*wire.JobStatus // nil: one may not look at it, or it is not known
}

func (n *namesOf) job(ctx context.Context, id scheduler.JobID) *wire.JobStatus {
	st, asked := n.known[id]
	if !asked {
		if j, err := n.server.needs.Service.FindJob(ctx, id); err == nil {
			st = j.Status
			j.Close()
		}
		n.known[id] = st
	}
	return st
}

// attempt is one as the document has it; false: one may not look at its job.
func (n *namesOf) attempt(ctx context.Context, f *changes.Attempt) (a restapi.LauncherAttempt, may bool) {
	st := n.job(ctx, f.Job)
	if st == nil {
		return a, false
	}
	a = restapi.LauncherAttempt{Job: f.Job.String(), JobName: st.GetSummary().GetName(), ID: f.ID.String(), State: stateOf(f), Since: restapi.TimeOf(f.Started)}
	if f.Stage >= 0 {
		index := int(f.Index)
		a.Index = &index // 0, too
		if int(f.Stage) < len(st.Stages) {
			a.Stage = restapi.Pointer(st.Stages[f.Stage].GetName())
		}
	}
	return a, true
}
