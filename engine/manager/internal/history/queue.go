package history

import (
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// news is what history takes of the facts of one step.
type news struct {
	record    uint64
	through   uint64 // record; steps up to this one, in which nothing ended, are in it too
	at        scheduler.Time
	jobs      []changes.Job
	attempts  []changes.Attempt // that ended
	launchers []changes.Launcher
	ended     []*wire.JobStatus
	all       bool                       // it is all there is, of a core that was restored
	lost      bool                       // the log has no records beyond this one
	missed    map[scheduler.JobID]uint64 // rows for which there was no room before
	settings  uint64                     // version of the configuration, from here on; 0: as before
	replayed  bool                       // all of the log was
}

func newsOf(record uint64, f *core.Changes) news {
	n := news{record: record, through: record, at: f.At, jobs: f.Jobs, launchers: f.Launchers, ended: f.Ended, settings: f.Version}
	for i := range f.Attempts {
		if f.Attempts[i].State == changes.Ended {
			n.attempts = append(n.attempts, f.Attempts[i])
		}
	}
	return n
}

// rows is what it counts for in the queue.
func (n *news) rows() int { return len(n.jobs) + len(n.attempts) + len(n.launchers) }

// queue holds what history is to take in, and bounds it. Nobody waits at it who adds.
type queue struct {
	mu     sync.Mutex
	list   []news
	rows   int
	lost   map[scheduler.JobID]uint64 // rows that found no room
	missed uint64                     // of them in all
	// settings is the version that was added last.
	settings uint64
	wake     chan struct{} // has one when something was added
	room     chan struct{} // closed when all was taken; nil: nobody waits
}

func (q *queue) add(n news) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n.settings == q.settings {
		n.settings = 0
	} else if n.settings != 0 {
		q.settings = n.settings
	}
	if q.rows+n.rows() > queueRowsMax {
		if q.lost == nil {
			q.lost = map[scheduler.JobID]uint64{}
		}
		for i := range n.attempts {
			q.lost[n.attempts[i].Job]++
		}
		q.missed += uint64(len(n.attempts))
		// The others come again when they change, but for what ended, and for what there is at the start.
		jobs := n.jobs
		n = news{record: n.record, through: n.record, at: n.at, ended: n.ended, all: n.all, lost: n.lost, settings: n.settings, replayed: n.replayed}
		if n.all {
			n.jobs = jobs
		}
	} else if q.lost != nil {
		n.missed, q.lost = q.lost, nil
	}
	q.rows += n.rows()
	if last := len(q.list) - 1; last >= 0 && n.rows() == 0 && len(n.ended) == 0 && n.missed == nil && !n.all && !n.lost && n.settings == 0 && !n.replayed && !q.list[last].all {
		q.list[last].through = n.record
		return
	}
	q.list = append(q.list, n)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) takeAll() []news {
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

// wait waits until the queue is at most half full, or ended is closed.
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

func (q *queue) lacks() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.missed
}
