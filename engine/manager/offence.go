package manager

import (
	"context"
	"fmt"

	"google.golang.org/grpc/peer"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// offended writes into the audit that a launcher ended a worker for its messages. The manager
// itself knows the job's owner. For an unknown job nothing is written.
func (m *manager) offended(ctx context.Context, launcher string, o *wire.WorkerOffence) {
	job := scheduler.JobID(o.GetJob())
	s, known, err := m.model.JobStatus(ctx, job, false)
	if err != nil || !known {
		return
	}
	what := fmt.Sprintf("%v, worker on launcher %q", job, launcher)
	if o.GetAttempt() != 0 {
		what = fmt.Sprintf("%v, attempt-%d on launcher %q", job, o.GetAttempt(), launcher)
	}
	line := audit.Line{Who: s.GetSummary().GetUser(), Proof: auth.Unproven, Method: "Worker", What: what}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		line.Address = p.Addr.String() // the launcher's
	}
	_, e := audit.BeginEntry(ctx, m.audit, line)
	_ = e.EndAs(audit.Refused, fmt.Sprintf("%s: %s", o.GetKind(), o.GetReason())) // it is kept, and the log says so
}
