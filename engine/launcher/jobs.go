package launcher

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
)

// droppedMax bounds how many jobs are remembered as dropped. The manager starts
// nothing of a dropped job unless its event log lost the job's end.
const droppedMax = 10_000

// rest keeps a worker for its job's next group. There are at most as many
// idle workers as slots. The caller holds mu.
func (a *agent) rest(p *proc) {
	p.rested = time.Now()
	a.idle = append(a.idle, p)
	if len(a.idle) > a.cfg.slotsTotal() {
		oldest := a.idle[0]
		a.idle = a.idle[1:]
		a.dismiss(oldest)
	}
}

// unrest takes a worker off the idle list, if it is there. The caller holds mu.
func (a *agent) unrest(p *proc) {
	for i, other := range a.idle {
		if other == p {
			a.idle = append(a.idle[:i], a.idle[i+1:]...)
			return
		}
	}
}

// dismiss asks an idle worker to end itself, and kills it if it does not. The
// caller holds mu.
func (a *agent) dismiss(p *proc) {
	p.leaving = true
	p.send(&wire.ToWorker{Do: &wire.ToWorker_Exit{Exit: true}})
	time.AfterFunc(farewellWait, p.kill)
}

// dismissIdle ends workers that waited too long for another group.
func (a *agent) dismissIdle(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.idle) > 0 && now.Sub(a.idle[0].rested) > a.cfg.IdleMax {
		p := a.idle[0]
		a.idle = a.idle[1:]
		a.dismiss(p)
	}
}

// dropJob ends what is left of a job and deletes its stored files; then it tells the
// manager, which asks until it hears that. The caller holds mu.
func (a *agent) dropJob(id uint64) {
	if gone, asked := a.dropped[id]; asked {
		if gone {
			a.sendDropped(id)
		}
		return
	}
	if len(a.dropped) >= droppedMax {
		clear(a.dropped)
	}
	a.dropped[id] = false
	for n, at := range a.attempts {
		if at.start.Job == id {
			at.stopped = true
			delete(a.attempts, n)
		}
	}
	for n, s := range a.stored {
		if s.job == id {
			delete(a.stored, n)
		}
	}
	var leaving []*proc
	for p := range a.procs {
		if p.key.job != id {
			continue
		}
		leaving = append(leaving, p)
		a.unrest(p)
		if p.current == nil && !p.leaving {
			a.dismiss(p)
			continue
		}
		p.leaving = true
		go p.kill()
	}
	go a.removeJob(leaving, id)
}

// removeJob deletes a dropped job's files and confirms that. Where the disk does not
// let it, the manager's next command is the next try. Called without mu.
func (a *agent) removeJob(leaving []*proc, id uint64) {
	removed := a.removeAfter(leaving, a.folder.jobStore(id))
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, asked := a.dropped[id]; !asked {
		return // a new incarnation, which knows nothing of it, or more jobs than are remembered
	}
	if !removed {
		delete(a.dropped, id)
		return
	}
	a.dropped[id] = true
	a.sendDropped(id)
}

func (a *agent) sendDropped(job uint64) {
	a.send(&wire.Report{What: &wire.Report_JobDropped{JobDropped: job}})
}

// removeAfter deletes a folder once nobody can write to it any more; false when it
// is still there. Called without mu.
func (a *agent) removeAfter(leaving []*proc, folder string) bool {
	for _, p := range leaving {
		select {
		case <-p.gone:
		case <-a.ctx.Done():
			return false // the next start removes it
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		a.log.Warn("can't remove a job's stored files", "folder", folder, "error", err)
		return false
	}
	return true
}

// dropOutput deletes what one attempt stored. The caller holds mu.
func (a *agent) dropOutput(s *wire.Stored) {
	if a.stored[s.Attempt] == nil {
		return
	}
	delete(a.stored, s.Attempt)
	go a.removeStored(s.Job, s.Attempt)
}

// lookup finds a stored file for the data server.
func (a *agent) lookup(k store.Key) (store.Stored, bool) {
	a.mu.Lock()
	s := a.stored[uint64(k.Attempt)]
	a.mu.Unlock()
	if s == nil || s.job != uint64(k.Job) || filepath.Base(k.Channel) != k.Channel {
		return store.Stored{}, false
	}
	return store.Stored{Path: filepath.Join(worker.AttemptFolder(a.folder.store(), s.job, uint64(k.Attempt)), k.Channel), Token: s.token}, true
}

// expire ends this incarnation: the manager no longer counts on anything here. It
// waits until every worker is gone and the store is empty.
func (a *agent) expire(reason string) error {
	a.log.Warn("the launcher ends its workers, deletes what it stored, and starts afresh", "reason", reason)
	a.mu.Lock()
	a.endLife()
	a.connected, a.outbox = false, nil
	a.seen = 0
	for _, at := range a.attempts {
		at.stopped = true
	}
	clear(a.attempts)
	clear(a.stored)
	clear(a.dropped)
	a.idle = nil
	a.mu.Unlock()
	a.endWorkers() // before any disk is asked for anything
	entries, err := os.ReadDir(a.folder.store())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(a.folder.store(), e.Name())); err != nil {
			return err
		}
	}
	incarnation, err := a.folder.incarnation()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.incarnation = incarnation
	a.life, a.endLife = context.WithCancel(a.ctx)
	a.manager, a.term = "", 0
	a.lease.end()
	return nil
}

// endWorkers kills every worker and waits until they are gone.
func (a *agent) endWorkers() {
	a.mu.Lock()
	var all []*proc
	for p := range a.procs {
		p.leaving = true
		all = append(all, p)
	}
	a.mu.Unlock()
	for _, p := range all {
		go p.kill()
	}
	for _, p := range all {
		<-p.gone
	}
}

// ping tells the workers until when the launcher's lease is good: theirs is the same.
// Those that stand still are not pinged: nobody would read it.
func (a *agent) ping() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.procs {
		if p.current == nil || !p.current.frozen {
			p.send(&wire.ToWorker{Do: &wire.ToWorker_Ping{Ping: &wire.Ping{LeaseEndsNs: a.lease.ends.Load()}}})
		}
	}
}
