package history

import (
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// update is the part of a step's changes that history needs.
type update struct {
	record    uint64
	through   uint64 // record, or a later one: empty steps that follow are merged into it
	at        scheduler.Time
	jobs      []changes.Job
	attempts  []changes.Attempt // only ended ones
	launchers []changes.Launcher
	ended     []*wire.JobStatus
	restored  bool                       // it has all jobs of a restored core (BeginAt)
	logLost   bool                       // the log lost its records beyond this one
	missed    map[scheduler.JobID]uint64 // rows of earlier steps that were dropped, by job
	settings  uint64                     // version of the configuration from this record on; 0: unchanged
	replayed  bool                       // it marks the end of a replay
}

func updateOf(record uint64, f *core.Changes) update {
	n := update{record: record, through: record, at: f.At, jobs: f.Jobs, launchers: f.Launchers, ended: f.Ended, settings: f.Version}
	ended := 0
	for i := range f.Attempts {
		if f.Attempts[i].State == changes.Ended {
			ended++
		}
	}
	n.attempts = slices.Grow(n.attempts, ended)
	for i := range f.Attempts {
		if f.Attempts[i].State == changes.Ended {
			n.attempts = append(n.attempts, f.Attempts[i])
		}
	}
	return n
}

// rows is how many rows the update counts as in the queue.
func (n *update) rows() int { return len(n.jobs) + len(n.attempts) + len(n.launchers) }

// queue holds the updates that history has not applied yet. It is bounded, and add never blocks.
type queue struct {
	mu         sync.Mutex
	list       []update
	rows       int
	unreported map[scheduler.JobID]uint64 // rows that were dropped since the last update that was queued
	missed     uint64                     // rows that were dropped in all
	// settings is the version of the last update.
	settings uint64
	wake     chan struct{} // has an element when the list is not empty
	room     chan struct{} // closed by takeAll; nil: no call of wait
}

func (q *queue) add(n update) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n.settings == q.settings {
		n.settings = 0
	} else if n.settings != 0 {
		q.settings = n.settings
	}
	if q.rows+n.rows() > queueRowsMax {
		if q.unreported == nil {
			q.unreported = map[scheduler.JobID]uint64{}
		}
		for i := range n.attempts {
			q.unreported[n.attempts[i].Job]++
		}
		q.missed += uint64(len(n.attempts))
		// Rows of live jobs come again with their next change. Ends, and the jobs of BeginAt, do not: they are kept.
		jobs := n.jobs
		n = update{record: n.record, through: n.record, at: n.at, ended: n.ended, restored: n.restored, logLost: n.logLost, settings: n.settings, replayed: n.replayed}
		if n.restored {
			n.jobs = jobs
		}
	} else if q.unreported != nil {
		n.missed, q.unreported = q.unreported, nil
	}
	q.rows += n.rows()
	if last := len(q.list) - 1; last >= 0 && n.rows() == 0 && len(n.ended) == 0 && n.missed == nil && !n.restored && !n.logLost && n.settings == 0 && !n.replayed && !q.list[last].restored {
		q.list[last].through = n.record
		return
	}
	q.list = append(q.list, n)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) takeAll() []update {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.rows = nil, 0
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
	return list
}

// wait blocks until the queue is at most half full, or ended is closed.
func (q *queue) wait(ended <-chan struct{}) {
	for {
		q.mu.Lock()
		if q.rows <= queueRowsMax/2 {
			q.mu.Unlock()
			return
		}
		if q.room == nil {
			q.room = make(chan struct{})
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ended:
			return
		}
	}
}

func (q *queue) missedRows() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.missed
}
