package manager

import (
	"context"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/credentials"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// openTickets opens the jobs' tickets, and removes those of jobs that are over.
func (m *manager) openTickets(ctx context.Context) (err error) {
	m.tickets, err = credentials.OpenTickets(credentials.TicketOptions{
		Folder: filepath.Join(m.cfg.Data, "credentials"), Realms: m.cfg.KerberosRealms, Renew: m.cfg.renewTicket, Log: m.log,
	})
	if err != nil {
		return err
	}
	m.launchers.Carry(m.tickets)
	return m.tickets.FindOwners(ctx, func(_ context.Context, jobs []scheduler.JobID) (map[scheduler.JobID]string, error) {
		return ownersOf(m.life.Core, jobs), nil // it has no steps yet
	})
}

// owners are the jobs' owners, by the core's durable state: unlike the model, it has every
// submission made before.
func (m *manager) owners(ctx context.Context, jobs []scheduler.JobID) (of map[scheduler.JobID]string, err error) {
	err = m.inbox.ReadDurable(ctx, func(c *core.Core) { of = ownersOf(c, jobs) })
	return of, err
}

// ownersOf leaves out jobs that are over.
func ownersOf(c *core.Core, jobs []scheduler.JobID) map[scheduler.JobID]string {
	of := map[scheduler.JobID]string{}
	for _, id := range jobs {
		st, known := c.JobStatus(id, false)
		if !known {
			continue
		}
		switch s := st.GetSummary(); s.GetState() {
		case wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED:
		default:
			of[id] = s.GetUser()
		}
	}
	return of
}
