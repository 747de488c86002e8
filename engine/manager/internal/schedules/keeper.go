// Package schedules is the clock of schedules: it computes their due times, and tells the core of
// each. It also answers what schedules there are.
//
// # Invariants
//
// The core decides what a due time leads to, and decides each one once. So a due time may be told
// twice, as after a restart. What is shown of schedules is durable.
package schedules

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sleepMax is the longest time between two looks at the clock, which may be set.
const sleepMax = time.Minute

// Keeper keeps what the core tells of schedules, and tells it of due times. Safe for concurrent use.
type Keeper struct {
	// Now is the core's clock. Input hands an input to the core.
	Now   func() scheduler.Time
	Input func(context.Context, *wire.Input) error
	Log   *slog.Logger

	mu      sync.Mutex
	all     map[uint64]*kept
	heard   map[string]scheduler.Time // when a runner asked last, by users who had schedules then
	changed chan struct{}             // closed at the next change
	wake    chan struct{}             // has an element when Run is to look again
	counts  metrics.Schedules         // the counters
}

// kept is a schedule with its times.
type kept struct {
	schedule *wire.Schedule
	times    *Times // nil: they can't be read here
	told     int64  // the last due time that the core was told
}

// New returns a keeper of the schedules that a core has at its start.
func New(all []*wire.Schedule, now func() scheduler.Time, input func(context.Context, *wire.Input) error, log *slog.Logger) *Keeper {
	k := &Keeper{Now: now, Input: input, Log: log, all: map[uint64]*kept{}, heard: map[string]scheduler.Time{}, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	k.Apply(core.SchedulesChanged{Schedules: all})
	k.counts = metrics.Schedules{} // they begin with the manager
	return k
}

// Apply takes in a change. It does not block.
func (k *Keeper) Apply(a core.SchedulesChanged) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range a.Schedules {
		x := k.all[s.Id]
		if x == nil {
			x = &kept{}
			k.all[s.Id] = x
		}
		if was := x.schedule.GetDefinition(); was.GetCron() != s.GetDefinition().GetCron() || was.GetZone() != s.GetDefinition().GetZone() {
			var err error
			if x.times, err = NewTimes(s.GetDefinition().GetCron(), s.GetDefinition().GetZone()); err != nil {
				k.Log.Error("a schedule is never due, because its times can't be read", "schedule", s.Name, "user", s.User, "error", err)
			}
		}
		count(&k.counts, x.schedule, s)
		x.schedule = s
	}
	for _, id := range a.Removed {
		if x := k.all[id]; x != nil {
			delete(k.heard, x.schedule.User)
		}
		delete(k.all, id)
	}
	close(k.changed)
	k.changed = make(chan struct{})
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Heard is when a runner of a user with schedules asked for work last; 0: never.
func (k *Keeper) Heard(user string) scheduler.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heard[user]
}

// Changed is closed at the next change.
func (k *Keeper) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// Run tells the core of due times until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-timer.C:
		}
		due, wait := k.due(k.Now())
		for _, m := range due {
			if k.Input(ctx, wire.NewInput(m)) != nil { // the manager stops
				return
			}
		}
		timer.Reset(wait)
	}
}

// due returns the due times that the core is to be told now, and how long until the next one, at
// most sleepMax.
func (k *Keeper) due(now scheduler.Time) (list []*wire.ScheduleDue, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait = sleepMax
	for _, id := range slices.Sorted(maps.Keys(k.all)) {
		x := k.all[id]
		if x.times == nil || x.schedule.Paused {
			continue
		}
		after := instant(max(x.schedule.Decided, x.told))
		if last, passed := x.times.latest(after, instant(int64(now))); !last.IsZero() {
			x.told, after = last.UnixNano(), last
			list = append(list, &wire.ScheduleDue{Schedule: id, Due: x.told, Passed: uint32(passed)})
		}
		if next := x.times.Next(after); !next.IsZero() {
			wait = min(wait, scheduler.Time(next.UnixNano()).Sub(now))
		}
	}
	return list, wait
}

func instant(ns int64) time.Time { return time.Unix(0, ns) }

// List returns schedules in order of user and name, with so many next due times: all of them, or
// those of one user, or the one with a name. The caller may change them.
func (k *Keeper) List(user string, ofAll bool, name string, next int) []*wire.Schedule {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*wire.Schedule
	for _, x := range k.all {
		if !ofAll && x.schedule.User != user || name != "" && x.schedule.Name != name {
			continue
		}
		s := proto.CloneOf(x.schedule)
		s.Next = k.next(x, next)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *wire.Schedule) int { return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name)) })
	return list
}

func (k *Keeper) next(x *kept, n int) (list []int64) {
	if x.times == nil || x.schedule.Paused {
		return nil
	}
	at := instant(max(int64(k.Now()), x.schedule.Decided))
	for range n {
		if at = x.times.Next(at); at.IsZero() {
			break
		}
		list = append(list, at.UnixNano())
	}
	return list
}

// Wants says whether the core has to be asked for a runner of a user: a run waits for one, or a
// lease of what it holds is half over, or it should hold a run that it does not name.
func (k *Keeper) Wants(user string, q *wire.TakeRunRequest, lease time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	soon := int64(k.Now().Add(lease / 2))
	for _, x := range k.all {
		if x.schedule.User != user {
			continue
		}
		k.heard[user] = k.Now()
		for _, r := range x.schedule.Runs {
			waits, runs := r.State == wire.RunState_RUN_STATE_WAITING, r.State == wire.RunState_RUN_STATE_RUNNING
			held := wire.Holds(q.Held, x.schedule, r)
			if waits && !q.Full || runs && held && r.Until < soon || runs && !held && r.Runner == q.Runner && r.SubmittingTry == 0 {
				return true
			}
		}
	}
	return false
}
