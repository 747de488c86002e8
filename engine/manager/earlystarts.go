package manager

import (
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// earlyStartsMax bounds the starts that were sent and are not durable. So a disk that stalls does
// not let work go on that a crash would lose.
const earlyStartsMax = 1024

// earlyStarts decides which starts of attempts are sent before their records are durable, so that
// no slot waits for the disk. Only a crash of the machine, or a kill, loses such a record. The next
// life of the manager then ends an attempt that it does not know when its launcher joins, and gives
// no id a second time. The ends of attempts are reported again until they are durable.
//
// A start waits for the disk in these cases:
//   - It is of an attempt that publishes or cleans. Outputs change only by durable decisions.
//   - No start of its job was durable before. The job's number could be given to another job.
//   - Another command for its launcher waits. A launcher gets starts in the order of their ids.
//   - earlyStartsMax others are not durable.
type earlyStarts struct {
	mu      sync.Mutex
	waiting map[scheduler.LauncherID]int // commands and answers to joins that wait for the disk
	durable map[scheduler.JobID]bool     // live jobs with a durable start
	sent    int                          // starts whose records are not durable
}

func newEarlyStarts() *earlyStarts {
	return &earlyStarts{waiting: map[scheduler.LauncherID]int{}, durable: map[scheduler.JobID]bool{}}
}

// start returns the command if an action starts an attempt before its record is durable. Other
// actions for a launcher count as waiting until acted is called. The driver asks for each action of
// a step, in order.
func (e *earlyStarts) start(a core.Action) (core.ToLauncher, bool) {
	to, ordered := orderedFor(a)
	if !ordered {
		return core.ToLauncher{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	command, _ := a.(core.ToLauncher)
	s := plainStart(a)
	if s != nil && e.durable[scheduler.JobID(s.Job)] && e.waiting[to] == 0 && e.sent < earlyStartsMax {
		e.sent++
		return command, true
	}
	e.waiting[to]++
	return core.ToLauncher{}, false
}

// acted notes that a durable action was carried out.
func (e *earlyStarts) acted(a core.Action) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ended, is := a.(core.JobsChanged); is {
		for _, id := range ended.Ended {
			delete(e.durable, id)
		}
	}
	to, ordered := orderedFor(a)
	if !ordered {
		return
	}
	if e.waiting[to]--; e.waiting[to] == 0 {
		delete(e.waiting, to)
	}
	if s := plainStart(a); s != nil {
		e.durable[scheduler.JobID(s.Job)] = true
	}
}

// synced notes that the records of n starts that were sent early are durable.
func (e *earlyStarts) synced(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent -= n
}

// orderedFor returns the launcher that an action is for, if it must not come after a later start.
func orderedFor(a core.Action) (scheduler.LauncherID, bool) {
	switch a := a.(type) {
	case core.Welcome:
		return a.Launcher, a.Launcher != 0
	case core.ToLauncher:
		_, forget := a.Command.Do.(*wire.Command_Forget)
		return a.Launcher, !forget
	}
	return 0, false
}

// plainStart returns the start of an attempt that neither publishes nor cleans; nil: an action is none.
func plainStart(a core.Action) *wire.StartAttempt {
	if to, is := a.(core.ToLauncher); is {
		if s := to.Command.GetStart(); s != nil && s.Finish == nil {
			return s
		}
	}
	return nil
}
