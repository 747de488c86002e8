package manager

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
)

// edges are metrics of the components around the core.
func (m *manager) edges() metrics.Edges {
	return metrics.Edges{
		Inbox: func() (entries, bytes metrics.Fill) {
			f := m.inbox.Fill()
			return metrics.Fill{Now: int64(f.Entries), Max: int64(f.EntriesMax)}, metrics.Fill{Now: f.Bytes, Max: f.BytesMax}
		},
		Shown: func() metrics.Fill {
			rows, most := m.model.Waits()
			return metrics.Fill{Now: int64(rows), Max: int64(most)}
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
			s := m.read.HistoryState()
			h := metrics.History{Jobs: s.Jobs, Bytes: s.Bytes, Damaged: len(s.Damaged), Missed: s.Missed, Freed: s.Freed, Behind: sinceIf(s.Behind)}
			h.Tails = metrics.Tails{Bytes: s.Tails.Bytes, Waiting: int64(s.Tails.Waiting), Dropped: s.Tails.Dropped, Behind: sinceIf(s.Tails.Behind)}
			if c := s.Store; c != nil {
				h.StoreWaiting, h.StoreBehind, h.StoreOlder = c.Waiting, sinceIf(c.Behind), c.OlderBytes
			}
			return h
		},
		Audit: m.audit.Waiting, Deciding: m.supervisor.Deciding, Schedules: m.schedules.Counts, Term: m.life.Term,
		Certificate: func() (end time.Time, has bool) {
			if m.cfg.Keys == nil {
				return time.Time{}, false
			}
			return m.cfg.Keys.Ends(), true
		},
	}
}

// sinceIf is how long ago a time was; 0 for none.
func sinceIf(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return time.Since(t)
}
