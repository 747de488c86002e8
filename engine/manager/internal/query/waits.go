package query

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Waiting is a job with work that could run, and does not.
type Waiting struct {
	Summary *wire.JobSummary
	Since   scheduler.Time // of its longest wait: of a bundle, or of the submission for its admission
	Ready   int            // bundles
	Width   int            // groups of the longest waiting bundle
	Needs   []Need         // its slots at once, in order of kind
	Memory  int64          // bytes

	row     *changes.Job
	cluster cluster
}

// Reasons says why it waits: the manager's reasons, then the policy's. If the policy reports its
// turn, with current numbers, the numbers from the beginning of its wait for that turn are left
// out.
func (w *Waiting) Reasons(turn bool) []string {
	list := waiting(w.row, w.cluster)
	if turn && w.row.Waits.Policy.Reason == scheduler.WaitTurn {
		list = list[:len(list)-1]
	}
	return list
}

// isWaiting reports whether some work of a job could run, and does not.
func isWaiting(row *changes.Job) bool {
	return row.Waits.Ready > 0 || row.State == wire.JobState_JOB_STATE_ASKED
}

// Need is a demand for slots of a kind, with the cluster's number of them.
type Need struct {
	Kind               string
	Count, Free, Total int
}

// Waiting lists the jobs that wait for admission or have ready bundles, in order of id. The caller
// must not change the messages. The error is that of ctx.
func (m *Model) Waiting(ctx context.Context) ([]Waiting, error) {
	var rows []*changes.Job
	var clusters []cluster
	err := m.read(ctx, func() {
		for _, id := range m.live.IDs() {
			row := m.live.Get(id).row
			if isWaiting(row) {
				rows, clusters = append(rows, row), append(clusters, m.clusterFor(row))
			}
		}
	})
	list := make([]Waiting, len(rows))
	for i, row := range rows {
		w := &row.Waits
		x := Waiting{Summary: summary(row), Since: w.Since, Ready: w.Ready, Width: w.Width, Memory: w.Memory, row: row, cluster: clusters[i]}
		if w.Ready == 0 || row.State == wire.JobState_JOB_STATE_ASKED {
			x.Since = row.Submitted
		}
		for k, need := range w.Needs {
			c := clusters[i].slots[k]
			x.Needs = append(x.Needs, Need{need.Kind, need.Count, c.free, c.total})
		}
		list[i] = x
	}
	return list, err
}
