package manager

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/metrics"
)

// edges is what metrics tell of what surrounds the core.
func (m *manager) edges() metrics.Edges {
	return metrics.Edges{
		Inbox: func() (entries, bytes metrics.Fill) {
			f := m.inbox.Fill()
			return metrics.Fill{Now: int64(f.Entries), Max: int64(f.EntriesMax)}, metrics.Fill{Now: f.Bytes, Max: f.BytesMax}
		},
		Programs: func() (uploads, bytes metrics.Fill) {
			f := m.blobs.Fill()
			return metrics.Fill{Now: int64(f.Uploads), Max: int64(f.UploadsMax)}, metrics.Fill{Now: f.Bytes, Max: f.BytesMax}
		},
		Log: func() metrics.Log {
			s := m.driver.log.State()
			return metrics.Log{Unsynced: s.Unsynced, File: s.File, Checkpoint: s.Checkpoint, Made: s.Made, Stalled: s.Stalled}
		},
		History: func() metrics.History {
			s := m.jobs.State()
			h := metrics.History{Jobs: s.Jobs, Bytes: s.Bytes, Damaged: len(s.Damaged), Missed: s.Missed}
			if !s.Behind.IsZero() {
				h.Behind = time.Since(s.Behind)
			}
			if c := s.Store; c != nil {
				if h.StoreWaiting = c.Waiting; !c.Behind.IsZero() {
					h.StoreBehind = time.Since(c.Behind)
				}
			}
			return h
		},
		Audit: m.audit.Waiting, Deciding: m.supervisor.Deciding, Term: m.life.Term,
		Certificate: func() (end time.Time, has bool) {
			if m.cfg.Keys == nil {
				return time.Time{}, false
			}
			return m.cfg.Keys.Ends(), true
		},
	}
}
