package launchers

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// KeepTails takes the ends of logs of attempts that are over. A launcher may tell of none but its own: who
// reads one asks for it by the launcher on which its attempt ran.
func (s *Server) KeepTails(ctx context.Context, q *wire.LogTails) (*wire.Empty, error) {
	if q.Manager != s.Terms.Manager {
		return nil, status.Error(codes.InvalidArgument, "the attempts were another manager's")
	}
	byJob := map[scheduler.JobID][]*wire.LogTail{}
	var jobs []scheduler.JobID
	for _, t := range q.Tails {
		if err := checkName(ctx, t.Launcher); err != nil {
			return nil, status.Error(codes.PermissionDenied, err.Error())
		}
		if t.Of < int64(len(t.Text)) {
			return nil, status.Errorf(codes.InvalidArgument, "attempt %d printed %d bytes, and their end has %d", t.Attempt, t.Of, len(t.Text))
		}
		job := scheduler.JobID(t.Job)
		if byJob[job] == nil {
			jobs = append(jobs, job)
		}
		byJob[job] = append(byJob[job], t)
	}
	for _, job := range jobs {
		if err := s.Keep(ctx, job, byJob[job]); err != nil {
			return nil, err // what was taken comes again, and is the same
		}
	}
	return &wire.Empty{}, nil
}
