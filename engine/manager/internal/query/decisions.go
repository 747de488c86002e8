package query

import (
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// DecisionsMax bounds the kept decisions, the newest: some 5 MB.
const DecisionsMax = 10_000

// Decision is the outcome of one of the policy's decisions, with the names of its job and launcher
// at that time.
type Decision struct {
	changes.Decision
	Number             uint64 // 1 for the model's first; each is unique
	At                 scheduler.Time
	On                 string // the launcher's name; "": of none, or not known
	User, Pool         string // of its job; "": unknown
	FromUser, FromPool string // of the first victim's job
}

// decisions keeps the last decisions.
type decisions struct {
	list  []Decision // the oldest first; up to twice DecisionsMax
	count uint64     // that came
}

func (d *decisions) add(x Decision) {
	if d.count++; len(d.list) == 2*DecisionsMax {
		d.list = slices.Delete(d.list, 0, DecisionsMax)
	}
	x.Number = d.count
	d.list = append(d.list, x)
}

func (d *decisions) kept() []Decision { return d.list[max(0, len(d.list)-DecisionsMax):] }

// applyDecisions records the outcomes of decisions.
func (m *Model) applyDecisions(f *core.Changes) {
	for _, d := range f.Decided {
		x := Decision{Decision: d, At: f.At}
		x.User, x.Pool = m.whose(d.Job)
		x.FromUser, x.FromPool = m.whose(d.From)
		if l := m.launchers.Get(d.Launcher); l != nil && l.row != nil {
			x.On = l.row.Name
		}
		m.decisions.add(x)
	}
}

// whose returns a job's user and pool.
func (m *Model) whose(id scheduler.JobID) (user, pool string) {
	if id == 0 {
		return "", ""
	}
	if j := m.live.Get(id); j != nil {
		return j.row.Spec.GetPrincipal().GetName(), j.row.Pool
	}
	if e := m.endedByID[id]; e != nil {
		return e.status.GetSummary().GetUser(), e.status.GetSummary().GetPool()
	}
	return "", ""
}

// Decisions lists the last decisions of policies in this life of the manager, the newest first, up
// to DecisionsMax, and how many there were. The error is that of ctx.
func (m *Model) Decisions(ctx context.Context) (list []Decision, came uint64, err error) {
	err = m.read(ctx, func() { list, came = slices.Clone(m.decisions.kept()), m.decisions.count })
	slices.Reverse(list)
	return list, came, err
}

// Verdicts counts decisions of this life of the manager: carried out, by scheduler.DecisionKind, and
// refused, by scheduler.RefusalReason.
func (m *Model) Verdicts(ctx context.Context) (accepted, refused []uint64, err error) {
	err = m.read(ctx, func() {
		for i, n := range m.stats.Accepted {
			accepted = append(accepted, n-m.began.Accepted[i])
		}
		for i, n := range m.stats.Refused {
			refused = append(refused, n-m.began.Refused[i])
		}
	})
	return accepted, refused, err
}
