// Package schedules has the schedules of users, and the runs of their commands.
//
// The manager's shell says when a run is due, a runner takes the run and starts its command, and
// the command submits jobs. This package decides whether a due time makes a run, who has a run, and
// which submissions count.
//
// # Invariants
//
// A due time is decided once. A run is taken by one runner at a time. Its command may be started
// several times, since runners and managers fail, but only one of these tries may submit jobs. So a
// due time gets the jobs of one start of the command, or none.
package schedules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Table has all schedules. The zero value has none. Not safe for concurrent use.
type Table struct {
	last    uint64           // id that was given
	list    []*wire.Schedule // ascending by id; a schedule that was drained is never changed, but replaced
	queued  []uint64         // schedules with a queued run, ascending; not in checkpoints
	changed []uint64         // in this step, ascending; they may be gone
}

// Live says whether a job has not ended.
type Live func(scheduler.JobID) bool

// All returns all schedules, ascending by id. They must not be changed.
func (t *Table) All() []*wire.Schedule { return slices.Clone(t.list) }

// Clone returns a copy that stays the same while t changes. It is to be called between steps.
func (t *Table) Clone() Table { return Table{last: t.last, list: slices.Clone(t.list)} }

// DrainChanges returns the schedules that changed in this step, and the ids of those that were
// removed. They are never changed afterwards.
func (t *Table) DrainChanges() (changed []*wire.Schedule, removed []uint64) {
	for _, id := range t.changed {
		if i, found := t.find(id); found {
			changed = append(changed, t.list[i])
		} else {
			removed = append(removed, id)
		}
	}
	t.changed = nil
	return changed, removed
}

func (t *Table) find(id uint64) (int, bool) {
	return slices.BinarySearchFunc(t.list, id, func(s *wire.Schedule, id uint64) int { return cmp.Compare(s.Id, id) })
}

// named returns the index of a user's schedule; -1: there is none.
func (t *Table) named(user, name string) int {
	return slices.IndexFunc(t.list, func(s *wire.Schedule) bool { return s.User == user && s.Name == name })
}

// edit returns a schedule to be changed in this step.
func (t *Table) edit(i int) *wire.Schedule {
	s := t.list[i]
	if t.mark(s.Id) {
		s = proto.CloneOf(s)
		t.list[i] = s
	}
	return s
}

// mark notes a change of a schedule. It is true for the first one of the step.
func (t *Table) mark(id uint64) bool {
	i, found := slices.BinarySearch(t.changed, id)
	if !found {
		t.changed = slices.Insert(t.changed, i, id)
	}
	return !found
}

// Add adds a schedule, or replaces the definition of one, or refuses with the reason. A replaced
// one keeps its runs; due times that came before are left out.
func (t *Table) Add(s *step.Step, m *wire.AddSchedule) {
	i := t.named(m.GetPrincipal().GetName(), m.GetName())
	if err := t.mayAdd(s, m, i); err != nil {
		s.Reply(m.GetClient(), 0, step.Invalid(err.Error()))
		return
	}
	if i >= 0 {
		x := t.edit(i)
		before := times(x.Definition)
		x.Definition, x.Decided = m.GetDefinition(), max(x.Decided, int64(s.Now))
		s.ReplyChanged(m.GetClient(), 0, before, times(x.Definition))
		return
	}
	t.last++
	t.mark(t.last)
	t.list = append(t.list, &wire.Schedule{
		Id: t.last, Name: m.GetName(), User: m.GetPrincipal().GetName(), Definition: m.GetDefinition(), Added: int64(s.Now), Decided: int64(s.Now),
	})
	s.ReplyChanged(m.GetClient(), 0, "", times(m.GetDefinition()))
}

// times describes a definition, for the audit.
func times(d *wire.ScheduleDefinition) string {
	return fmt.Sprintf("%q in %s", d.GetCron(), d.GetZone())
}

// nameBytesMax bounds a schedule's name.
const nameBytesMax = 100

// canName reports whether a text may name a schedule. A regular expression with such a bound would
// be compiled in each process's start.
func canName(text string) bool {
	for i, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= nameBytesMax
}

// mayAdd returns why a schedule can't be added, in place of the one with an index; -1: of none.
func (t *Table) mayAdd(s *step.Step, m *wire.AddSchedule, replaced int) error {
	user, set := m.GetPrincipal().GetName(), &s.Set.Schedules
	of := 0
	for _, x := range t.list {
		if x.User == user {
			of++
		}
	}
	switch {
	case !canName(m.GetName()):
		return fmt.Errorf("%q can't name a schedule: use up to %d letters, digits and . _ -, and begin with a letter or digit", m.GetName(), nameBytesMax)
	case replaced >= 0 && !m.GetReplace():
		return fmt.Errorf("there is a schedule %q already: replace it (--replace), or choose another name", m.GetName())
	case replaced < 0 && len(t.list) >= set.Max:
		return fmt.Errorf("there are %d schedules, which is the limit (core.schedules.max): remove one", len(t.list))
	case replaced < 0 && of >= set.UserMax:
		return fmt.Errorf("user %q has %d schedules, which is the limit (core.schedules.userMax): remove one", user, of)
	}
	return checkDefinition(m.GetDefinition(), set.Bytes)
}

// checkDefinition refuses a definition that can't work. The shell has checked its times.
func checkDefinition(d *wire.ScheduleDefinition, bytesMax int) error {
	switch size := proto.Size(d); {
	case size > bytesMax:
		return fmt.Errorf("the schedule takes %d bytes, at most %d are allowed (core.schedules.bytes): put its command into a file", size, bytesMax)
	case d.GetCron() == "" || d.GetZone() == "":
		return errors.New("the schedule has no times: give it a cron expression and a time zone")
	case len(d.GetCommand()) == 0 || d.GetCommand()[0] == "":
		return errors.New("the schedule has no command: give it one")
	case !strings.HasPrefix(d.GetFolder(), "/"):
		return fmt.Errorf("the folder %q of the schedule's command is not absolute: give its whole path", d.GetFolder())
	case d.GetStartDeadlineNs() < int64(time.Second) || d.GetStartDeadlineNs() > int64(step.DurationMax):
		return fmt.Errorf("the start deadline is %v: use 1s to %v", time.Duration(d.GetStartDeadlineNs()), step.DurationMax)
	case int(d.GetIfRunning()) >= len(wire.IfRunningNames) || d.GetIfRunning() < 0:
		return errors.New("what to do while an earlier run goes on is unknown: use skip, queue or allow")
	}
	return nil
}

// Change pauses, resumes or removes a schedule, or makes a run of it now.
func (t *Table) Change(s *step.Step, m *wire.ChangeSchedule, live Live) {
	by := m.GetPrincipal().GetName()
	user := cmp.Or(m.GetUser(), by)
	if err := mayChange(s, m, user); err != nil {
		s.Reply(m.GetClient(), 0, step.Denied(err))
		return
	}
	i := t.named(user, m.GetName())
	if i < 0 {
		s.Reply(m.GetClient(), 0, step.Invalid(fmt.Sprintf("user %q has no schedule %q: see \"hamadryad schedule list\"", user, m.GetName())))
		return
	}
	before := condition(t.list[i])
	switch m.GetAct() {
	case wire.ScheduleAct_SCHEDULE_ACT_PAUSE:
		t.edit(i).Paused = true
	case wire.ScheduleAct_SCHEDULE_ACT_RESUME:
		if x := t.edit(i); x.Paused { // what was due meanwhile is left out
			x.Paused, x.Decided = false, int64(s.Now)
		}
	case wire.ScheduleAct_SCHEDULE_ACT_REMOVE:
		t.remove(i)
		s.ReplyChanged(m.GetClient(), 0, before, "removed")
		return
	case wire.ScheduleAct_SCHEDULE_ACT_RUN:
		x := t.edit(i)
		if why := t.start(s, x, s.Now, true, live); why != "" {
			s.Reply(m.GetClient(), 0, step.Invalid(fmt.Sprintf("schedule %q does not run now: %s", x.Name, why)))
			return
		}
		s.ReplyChanged(m.GetClient(), 0, before, fmt.Sprintf("run %d", x.RunsMade))
		return
	default:
		s.Reply(m.GetClient(), 0, step.Invalid("the request does not say what to do with the schedule"))
		return
	}
	s.ReplyChanged(m.GetClient(), 0, before, condition(t.list[i]))
}

func (t *Table) remove(i int) {
	id := t.list[i].Id
	t.mark(id)
	t.list = slices.Delete(slices.Clone(t.list), i, i+1)
	t.unqueue(id)
}

// mayChange returns why a user may not change another user's schedule.
func mayChange(s *step.Step, m *wire.ChangeSchedule, user string) error {
	p, rules := m.GetPrincipal(), s.Set.Access
	if rules == nil || p.GetName() == user || rules.Has(access.Caller{Name: p.GetName(), Groups: p.GetGroups()}, access.Administrator) {
		return nil
	}
	return &access.Refusal{Who: p.GetName(), What: "change schedules of " + user, Missing: "it needs the role " + string(access.Administrator)}
}

// condition describes a schedule, for the audit.
func condition(s *wire.Schedule) string {
	if s.Paused {
		return "paused"
	}
	return "in force"
}

// Code codes the schedules.
func (t *Table) Code(w *checkpoint.Codec) {
	checkpoint.Num(w, &t.last)
	checkpoint.List(w, &t.list, func(w *checkpoint.Codec, s **wire.Schedule) { checkpoint.Message(w, s) })
	if !w.Reading || w.Err != nil {
		return
	}
	for _, s := range t.list {
		if slices.ContainsFunc(s.GetRuns(), isQueued) {
			t.queued = append(t.queued, s.Id)
		}
	}
}

// Check checks the invariants.
func (t *Table) Check() error {
	last := uint64(0)
	for _, s := range t.list {
		if s.Id <= last || s.Id > t.last {
			return fmt.Errorf("schedule %d comes behind %d, and %d was the last id", s.Id, last, t.last)
		}
		last = s.Id
		if _, listed := slices.BinarySearch(t.queued, s.Id); listed != slices.ContainsFunc(s.Runs, isQueued) {
			return fmt.Errorf("schedule %d is listed as one with a queued run: %t", s.Id, listed)
		}
		before := uint64(0)
		for _, r := range s.Runs {
			switch {
			case r.Number <= before || r.Number > s.RunsMade:
				return fmt.Errorf("run %d of schedule %d comes behind run %d", r.Number, s.Id, before)
			case (len(r.Jobs) > 0) != (r.SubmittingTry > 0), r.SubmittingTry > r.Try, len(r.Terms) > int(r.Try):
				return fmt.Errorf("run %d of schedule %d has %d jobs of try %d of %d", r.Number, s.Id, len(r.Jobs), r.SubmittingTry, r.Try)
			}
			before = r.Number
		}
	}
	return nil
}
