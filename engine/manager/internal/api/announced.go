package api

import (
	"context"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// announcedMax bounds the jobs whose folders are remembered until they are submitted, and
	// announcedBytes the names of each.
	announcedMax   = 10_000
	announcedBytes = 4 << 10
	// ClearEveryDefault is how often announced jobs that were never submitted are looked for.
	ClearEveryDefault = time.Minute
	// clearMax bounds the time to remove the folders of one job.
	clearMax = time.Minute
)

// announced are the folders that submitters make before they submit: a submitter that is killed in
// between leaves them. The manager makes their names itself, of the job's number, its own identity
// and the announced secret. It removes them only while they are empty, and touches nothing else,
// whatever is announced. It forgets them when it ends. The zero value has none.
type announced struct {
	mu      sync.Mutex
	folders map[uint64][]string
	looks   bool // a check of them is scheduled
}

// note remembers a job's folders, and reports whether the first check is to be scheduled.
func (a *announced) note(job uint64, folders []string) (first bool) {
	bytes := 0
	for _, f := range folders {
		bytes += len(f)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(folders) == 0 || bytes > announcedBytes || len(a.folders) >= announcedMax {
		return false
	}
	if a.folders == nil {
		a.folders = map[uint64][]string{}
	}
	a.folders[job] = folders
	first, a.looks = !a.looks, true
	return first
}

// takeFolders forgets a job's folders, and returns them.
func (a *announced) takeFolders(job uint64) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	folders := a.folders[job]
	delete(a.folders, job)
	return folders
}

// jobs lists the remembered jobs. If there is none, no further check is scheduled.
func (a *announced) jobs() (list []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for job := range a.folders {
		list = append(list, job)
	}
	a.looks = len(list) > 0
	return list
}

// announce remembers the folders that a submitter is about to make.
func (s *Server) announce(job uint64, q *wire.PrepareRequest) {
	if q.Secret == "" || plan.CheckSecret(q.Secret) != nil {
		return
	}
	owner := plan.Owner{Cluster: plan.Cluster(s.needs.Identity), Job: job, Secret: q.Secret}
	var folders []string
	for _, out := range q.Outputs {
		folders = append(folders, owner.Temporary(out))
	}
	for _, store := range q.Stores {
		folders = append(folders, owner.Channels(store))
	}
	if s.announced.note(job, folders) {
		s.lookLater()
	}
}

// lookLater schedules the search for jobs that will never be submitted; it repeats while there may
// be some.
func (s *Server) lookLater() {
	every := s.needs.ClearEvery
	if every == 0 {
		every = ClearEveryDefault
	}
	time.AfterFunc(every, func() {
		if s.clearAnnounced(); len(s.announced.jobs()) > 0 {
			s.lookLater()
		}
	})
}

// clearAnnounced removes the folders of announced jobs that the core no longer waits for
// (core.preparedFor).
func (s *Server) clearAnnounced() {
	jobs := s.announced.jobs()
	var over []uint64
	ctx, cancel := context.WithTimeout(context.Background(), clearMax)
	defer cancel()
	err := s.needs.Inbox.ReadNow(ctx, func(c *core.Core) {
		for _, job := range jobs {
			if !c.Awaits(scheduler.JobID(job)) {
				over = append(over, job)
			}
		}
	})
	if err != nil {
		return // the manager ends, or is busy: the next check comes
	}
	for _, job := range over {
		for _, folder := range s.announced.takeFolders(job) {
			_ = plan.RemoveEmpty(ctx, folder) // folders that the manager can't see, or that are not empty, stay
		}
	}
}
