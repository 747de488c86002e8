package launchers

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// KeepTails takes the ends of logs of ended attempts. A launcher may send only those of its own
// attempts: readers ask for a tail by the launcher on which its attempt ran.
func (s *Server) KeepTails(ctx context.Context, q *wire.LogTails) (*wire.Empty, error) {
	if q.Manager != s.Terms.Manager {
		return nil, status.Error(codes.InvalidArgument, "the attempts were another manager's")
	}
	for _, t := range q.Tails {
		if err := checkName(ctx, t.Launcher); err != nil {
			return nil, status.Error(codes.PermissionDenied, err.Error())
		}
	}
	if len(q.Tails) > 0 {
		sender := q.Tails[0].Launcher
		if err := s.Table.pace(sender).wait(ctx, s.Log, sender, len(q.Tails), proto.Size(q)); err != nil {
			return nil, status.FromContextError(err).Err()
		}
	}
	byJob := map[scheduler.JobID][]*wire.LogTail{}
	var jobs []scheduler.JobID
	for _, t := range q.Tails {
		if t.Of < int64(len(t.Text)) {
			return nil, status.Errorf(codes.InvalidArgument, "attempt-%d printed %d bytes, and their end has %d", t.Attempt, t.Of, len(t.Text))
		}
		job := scheduler.JobID(t.Job)
		if byJob[job] == nil {
			jobs = append(jobs, job)
		}
		byJob[job] = append(byJob[job], t)
	}
	for _, job := range jobs {
		list, err := s.ownTails(ctx, job, byJob[job])
		if err == nil && len(list) > 0 {
			err = s.Keep(ctx, job, list)
		}
		if err != nil {
			return nil, err // the accepted ones are sent again, unchanged
		}
	}
	return &wire.Empty{}, nil
}

// ownTails leaves out the ends of logs of attempts that did not run on the sending launcher: they
// would use up the space of other jobs' tails. They count as taken, since they would come again.
func (s *Server) ownTails(ctx context.Context, job scheduler.JobID, list []*wire.LogTail) ([]*wire.LogTail, error) {
	var own, unknown []*wire.LogTail
	for _, t := range list {
		if s.Table.Ran(t.Launcher, job, scheduler.AttemptID(t.Attempt)) {
			own = append(own, t)
		} else {
			unknown = append(unknown, t)
		}
	}
	if len(unknown) == 0 {
		return own, nil
	}
	asked := len(unknown)
	unknown, err := s.RanOn(ctx, job, unknown)
	if err != nil {
		return nil, err
	}
	if n := asked - len(unknown); n > 0 {
		s.Sampled.Warn("a launcher sent ends of logs of attempts that did not run there: they are not kept", "launcher", list[0].Launcher, "job", job.String(), "attempts", n)
	}
	return append(own, unknown...), nil
}
