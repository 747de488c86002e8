package api

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/launchers"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// idleShown is how many attempts without progress the status of a job names.
const idleShown = 10

// idleOfJob is the displayed data of a live job's attempts without progress.
type idleOfJob struct {
	reported map[uint64]launchers.Idle // of all jobs
	all      []*wire.AttemptStatus     // the job's running attempts without progress
	others   bool                      // other attempts of the job run
}

// idleOf finds the attempts of a job that run without progress.
func (s *Server) idleOf(ctx context.Context, id scheduler.JobID) (x idleOfJob, err error) {
	if x.reported = s.needs.Launchers.Idle(); len(x.reported) == 0 {
		return x, nil
	}
	x.all, x.others, err = s.needs.Read.LiveOf(ctx, id, func(a scheduler.AttemptID) bool {
		_, idle := x.reported[uint64(a)]
		return idle
	})
	for _, a := range x.all {
		i := x.reported[a.Attempt]
		a.IdleNs, a.Blocked = int64(i.For), i.Blocked
	}
	return x, err
}

// longer lists the attempts without progress for at least that long, the longest first. Attempts
// that only wait for inputs are left out while other attempts of the job make progress: those make
// the inputs.
func (x *idleOfJob) longer(least time.Duration) []*wire.AttemptStatus {
	list := slices.DeleteFunc(slices.Clone(x.all), func(a *wire.AttemptStatus) bool {
		return time.Duration(a.IdleNs) < least || x.others && x.reported[a.Attempt].ReadsOnly
	})
	slices.SortFunc(list, func(a, b *wire.AttemptStatus) int {
		return cmp.Or(cmp.Compare(b.IdleNs, a.IdleNs), cmp.Compare(a.Attempt, b.Attempt))
	})
	return list
}

// addIdle adds to the status of a live job its attempts without progress.
func (s *Server) addIdle(ctx context.Context, id scheduler.JobID, st *wire.JobStatus) error {
	x, err := s.idleOf(ctx, id)
	if err != nil {
		return statusOf(err)
	}
	list := x.longer(s.needs.IdleShownAfter)
	st.Idle, st.IdleTotal = list[:min(len(list), idleShown)], uint32(len(list))
	return nil
}

// idleStep is how coarse IdleRevision is.
const idleStep = 10 * time.Second

// IdleRevision changes when other attempts of a job run without progress, or for longer; 0: there
// are none.
func (s *Server) IdleRevision(ctx context.Context, id scheduler.JobID) (uint64, error) {
	x, err := s.idleOf(ctx, id)
	if err != nil || len(x.all) == 0 {
		return 0, err
	}
	sum := fnv.New64a()
	for _, a := range x.all {
		text := strconv.AppendUint(nil, a.Attempt, 16)
		text = strconv.AppendInt(append(text, ' '), a.IdleNs/int64(idleStep), 16)
		_, _ = sum.Write(append(text, ' ')) // it never fails
	}
	return sum.Sum64(), nil
}
