package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// historyFeeder hands the log's records to history, and ensures that they are durable there before
// the log drops them.
type historyFeeder struct {
	*history.History
	o history.Options
}

var _ recovery.Listener = (*historyFeeder)(nil)

// historyWaitMax bounds the wait for history before the log drops records. Scheduling does not
// depend on history: records it has not written by then may be missing after a kill, and it says
// so.
const historyWaitMax = 10 * time.Second

func (m *manager) openHistory() error {
	o := m.cfg.History
	o.Log = m.log
	o.Pools = func(slots uint64) []timeseries.Pool { return m.pools.Sample(time.Now(), slots) }
	h, err := history.Open(o)
	if err == nil {
		m.history = &historyFeeder{h, o}
	}
	return err
}

// Replay gives history the changes of a replayed record. It waits while history has a long queue.
func (p *historyFeeder) Replay(record uint64, actions []core.Action) {
	p.WaitForRoom()
	p.feed(record, actions)
}

// feed gives history the changes of a record's step, once they are durable.
func (p *historyFeeder) feed(record uint64, actions []core.Action) {
	for _, a := range actions {
		if f, yes := a.(core.Changes); yes {
			p.TakeChanges(record, &f)
		}
	}
}

// Replayed waits until all replayed records are durable: the log begins a file behind them.
func (p *historyFeeder) Replayed(ctx context.Context, last uint64) {
	p.History.Replayed(last)
	p.awaitDurable(ctx, last)
}

// awaitDurable waits until history is durable up to a record, for historyWaitMax.
func (p *historyFeeder) awaitDurable(ctx context.Context, record uint64) {
	ctx, cancel := context.WithTimeout(ctx, historyWaitMax)
	defer cancel()
	if err := p.Sync(ctx, record); errors.Is(err, context.DeadlineExceeded) {
		p.o.Log.Warn("the event log goes on to another file, and history has not written what is in this one: it may lack that after a crash", "upToRecord", record, "history", p.State().Record, "why", p.State().Err)
	}
}

const (
	// roomFirst is how many of the oldest jobs history gives up at first for an event log whose
	// disk is full, and roomMost how many at once: each time twice as many.
	roomFirst = 8
	roomMost  = 256
	// roomEach is the time that the log has to find room before more jobs are removed.
	roomEach = 2 * time.Second
)

// makeRoom removes the oldest history while the event log finds no room on the disk that both
// share: live and new jobs come before ended ones. If they have disks of their own, removing would
// not help.
func (p *historyFeeder) makeRoom(ctx context.Context, log string, stalled func() error) {
	if !sameDisk(log, p.o.Folder) {
		return
	}
	for jobs := roomFirst; stalled() != nil; jobs = min(2*jobs, roomMost) {
		n, err := p.MakeRoom(ctx, jobs)
		if err != nil {
			p.o.Log.Warn("history can't make room for the event log", "error", err)
		}
		if n == 0 {
			return
		}
		p.o.Log.Warn("the event log's disk is full: the oldest jobs were removed from history, which is on it, too", "jobs", n, "folder", p.o.Folder)
		select {
		case <-ctx.Done():
			return
		case <-time.After(roomEach):
		}
	}
}

// sameDisk reports whether two files or folders are known to be on one file system.
func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}

// numberMax bounds the wait for history's store at a manager's first start.
const numberMax = 30 * time.Second

// numberJobs finds the first job number, in the first life of this data. History may know jobs of a
// manager whose machine was lost, or its store can't be read. Then the numbers start so high that
// no earlier data can have used them: jobs that lived when the machine was lost are in no history,
// and clients may still follow them.
func (p *historyFeeder) numberJobs(ctx context.Context, l *recovery.Life) error {
	if !l.New {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, numberMax)
	defer cancel()
	last, err := p.LastJob(limited)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || last > 0 {
		l.JobsAbove = max(uint64(last), core.JobsAboveUnknown(l.Clock.Now()))
	}
	if err != nil {
		p.o.Log.Warn("this manager's data is new, and which jobs an earlier one had can't be found out: jobs are numbered from so high on that none takes the place of another", "from", l.JobsAbove+1, "error", err)
	} else if last > 0 {
		p.o.Log.Info("this manager's data is new, and history knows jobs of an earlier one: jobs are numbered from so high on that none takes the place of another", "from", l.JobsAbove+1)
	}
	return nil
}

// keepTails has history keep the ends of logs of a job's attempts. If the job neither lives nor is
// in history, they are dropped: nothing would ever remove them.
func (m *manager) keepTails(ctx context.Context, job scheduler.JobID, list []*wire.LogTail) error {
	at, user, known, err := m.model.Submitted(ctx, job)
	if err == nil && !known {
		at, user, known, err = m.history.Submitted(job)
	}
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if !known {
		return nil
	}
	key := logarchive.Key{Job: job, Submitted: at}
	m.history.Tails().SetUser(key, user)
	if err := m.history.Tails().Add(key, list); err != nil {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return nil
}

// ranOn leaves out the ends of logs of attempts that did not run on the sending launcher, by the
// model's and history's data of a job. If not all of the job's attempts are kept, unknown attempts
// are accepted.
func (m *manager) ranOn(ctx context.Context, job scheduler.JobID, list []*wire.LogTail) ([]*wire.LogTail, error) {
	j, err := m.read.Find(ctx, job)
	if err != nil || j == nil {
		return nil, err
	}
	defer j.Close()
	asked := map[uint64]bool{}
	first, last := list[0].Attempt, list[0].Attempt
	for _, t := range list {
		asked[t.Attempt] = true
		first, last = min(first, t.Attempt), max(last, t.Attempt)
	}
	on := map[uint64]string{}
	kept, of, err := j.Each(ctx, jobfile.Query{After: scheduler.AttemptID(first - min(first, 1))}, func(a *changes.Attempt) bool {
		if asked[uint64(a.ID)] {
			on[uint64(a.ID)] = a.On
		}
		return uint64(a.ID) < last
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(t *wire.LogTail) bool {
		launcher, found := on[t.Attempt]
		return found && launcher != t.Launcher || !found && kept == of
	}), nil
}

// end ends history.
func (p *historyFeeder) end() {
	if err := p.Close(); err != nil {
		p.o.Log.Error("history could not write all it has", "error", err)
	}
}
