package faultsim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// runAccount is a separate account of schedules and their runs. It follows inputs and actions, and
// never asks the core. It demands that each due time that counts makes a run, or is counted as
// skipped or missed; that a run changes only for a reason; and that one start submits its jobs.
type runAccount struct {
	site  func() core.Settings // the right settings
	all   map[uint64]*accountedSchedule
	live  map[uint64]bool // jobs of runs
	at    scheduler.Time  // of the last step
	began scheduler.Time  // of the first step after a long time without any
	early scheduler.Time  // runs that are due later have runners that live; 0: none yet
}

// accountedSchedule is a schedule as it was told last, and what the account knows itself of it.
type accountedSchedule struct {
	told    *wire.Schedule
	decided int64
	paused  bool
	runs    map[uint64]*accountedRun // that were told last
}

// accountedRun is what the account knows of a run.
type accountedRun struct {
	until scheduler.Time // waiting: before this it is not missed; running: before this its runner is not lost
	late  bool           // it is due while runners live
}

// takenStep is a step's inputs and actions, as far as they concern schedules.
type takenStep struct {
	at      scheduler.Time
	inputs  []*wire.Input
	replies map[uint64]core.Reply // by client
	changed core.SchedulesChanged
	ended   map[uint64]bool // jobs
	restart bool            // of the manager
}

// countedDue is a due time that counts.
type countedDue struct {
	m    *wire.ScheduleDue
	late bool // its start deadline was over
}

func newRunAccount(site func() core.Settings) *runAccount {
	return &runAccount{site: site, all: map[uint64]*accountedSchedule{}, live: map[uint64]bool{}}
}

// step enters one step's inputs and actions, and checks the invariants.
func (c *runAccount) step(at scheduler.Time, inputs []*wire.Input, actions []core.Action) error {
	e := takenStep{at: at, inputs: inputs, replies: map[uint64]core.Reply{}, ended: map[uint64]bool{}}
	for _, a := range actions {
		switch a := a.(type) {
		case core.Reply:
			e.replies[a.Client] = a
		case core.SchedulesChanged:
			e.changed = a
		case core.JobsChanged:
			for _, id := range a.Ended {
				e.ended[uint64(id)] = true
			}
		}
	}
	e.restart = slices.ContainsFunc(inputs, func(in *wire.Input) bool { return in.GetManagerStart() != nil })
	if at > c.at.Add(leaseSlack) {
		c.began = at
	}
	c.at = at
	if err := c.takeRequests(&e); err != nil {
		return err
	}
	for id := range e.ended {
		delete(c.live, id)
	}
	return c.leases()
}

// takeRequests follows the requests of a step, and compares the schedules that it changed.
func (c *runAccount) takeRequests(e *takenStep) error {
	before := map[uint64]*wire.Schedule{}
	for id, s := range c.all {
		before[id] = s.told
	}
	if err := c.claims(e, before); err != nil {
		return err
	}
	told := map[uint64]*wire.Schedule{}
	for _, s := range e.changed.Schedules {
		told[s.Id] = s
		if c.all[s.Id] == nil && !c.added(e, s) {
			return fmt.Errorf("schedule %d of %s appears, and nobody added it", s.Id, s.User)
		}
	}
	removed := c.removed(e)
	for _, id := range e.changed.Removed {
		if !removed[id] && c.all[id] != nil {
			return fmt.Errorf("schedule %d is gone, and nobody removed it", id)
		}
		delete(c.all, id)
	}
	for _, id := range simcluster.Sorted(c.all) {
		s := c.all[id]
		now := told[id]
		if now == nil {
			now = s.told
		}
		if err := c.compare(e, s, now); err != nil {
			return fmt.Errorf("schedule %d %s: %w", id, now.Name, err)
		}
		s.told = now
	}
	return nil
}

// added reports whether a schedule was added in a step, and then begins its account.
func (c *runAccount) added(e *takenStep, s *wire.Schedule) bool {
	for _, in := range e.inputs {
		m := in.GetAddSchedule()
		if m != nil && m.Name == s.Name && m.Principal.Name == s.User && e.replies[m.Client].Failure == nil {
			first := &wire.Schedule{Id: s.Id, Name: s.Name, User: s.User, Definition: m.Definition}
			c.all[s.Id] = &accountedSchedule{told: first, decided: int64(e.at), runs: map[uint64]*accountedRun{}}
			return true
		}
	}
	return false
}

// removed returns the schedules that were removed by a request of a step.
func (c *runAccount) removed(e *takenStep) map[uint64]bool {
	list := map[uint64]bool{}
	for _, in := range e.inputs {
		if m := in.GetChangeSchedule(); m != nil && m.Act == wire.ScheduleAct_SCHEDULE_ACT_REMOVE && e.replies[m.Client].Failure == nil {
			if s := c.named(m.Principal.Name, m.Name); s != nil {
				list[s.told.Id] = true
			}
		}
	}
	return list
}

func (c *runAccount) named(user, name string) *accountedSchedule {
	for _, s := range c.all {
		if s.told.User == user && s.told.Name == name {
			return s
		}
	}
	return nil
}

// compare compares a schedule after a step with that before.
func (c *runAccount) compare(e *takenStep, s *accountedSchedule, now *wire.Schedule) error {
	due, byHand := c.counted(e, s, now.Id)
	if now.Decided != s.decided || now.Paused != s.paused {
		return fmt.Errorf("due times are decided up to %d (paused %t), and that is to be %d (paused %t)", now.Decided, now.Paused, s.decided, s.paused)
	}
	made, asked, first := 0, byHand, map[int64]bool{}
	old := map[uint64]*wire.Run{}
	for _, r := range s.told.Runs {
		old[r.Number] = r
	}
	last := s.told.RunsMade
	for _, r := range now.Runs {
		if old[r.Number] != nil {
			continue
		}
		last++
		switch {
		case r.Number != last:
			return fmt.Errorf("run %d comes after run %d", r.Number, last-1)
		case r.ByHand:
			byHand--
			continue
		case first[r.Due] || !slices.ContainsFunc(due, func(d countedDue) bool { return d.m.Due == r.Due && !d.late }):
			return fmt.Errorf("run %d is for %d, which no due time that counts says", r.Number, r.Due)
		}
		first[r.Due] = true
		made++
	}
	if byHand != 0 || last != now.RunsMade {
		return fmt.Errorf("%d runs were asked for by hand and not made, and run %d is the last of %d", byHand, last, now.RunsMade)
	}
	passed := 0
	for _, d := range due {
		passed += 1 + int(d.m.Passed)
	}
	if without := now.Skipped + now.Missed - s.told.Skipped - s.told.Missed; passed != made+int(without) { //nolint:gosec // few
		return fmt.Errorf("%d due times made %d runs, and %d count as skipped or missed", passed, made, without)
	}
	if err := c.compareRuns(e, s, now, old); err != nil {
		return err
	}
	if len(due) == 1 && !due[0].late && asked == 0 {
		return c.oneRun(e, s, now, made == 1)
	}
	return nil
}

// counted follows what a step says of a schedule's times. It returns the due times that count, and
// how many runs were asked for by hand.
func (c *runAccount) counted(e *takenStep, s *accountedSchedule, id uint64) (due []countedDue, byHand int) {
	known := s.told.Decided != 0 // its account did not begin in this step
	d := s.told.Definition
	for _, in := range e.inputs {
		switch w := in.GetWhat().(type) {
		case *wire.Input_AddSchedule:
			if m := w.AddSchedule; known && m.Name == s.told.Name && m.Principal.Name == s.told.User && e.replies[m.Client].Failure == nil {
				s.decided, d = max(s.decided, int64(e.at)), m.Definition
			}
		case *wire.Input_ChangeSchedule:
			m := w.ChangeSchedule
			if m.Name != s.told.Name || m.Principal.Name != s.told.User || e.replies[m.Client].Failure != nil {
				continue
			}
			switch m.Act {
			case wire.ScheduleAct_SCHEDULE_ACT_PAUSE:
				s.paused = true
			case wire.ScheduleAct_SCHEDULE_ACT_RESUME:
				if s.paused {
					s.paused, s.decided = false, int64(e.at)
				}
			case wire.ScheduleAct_SCHEDULE_ACT_RUN:
				byHand++
			}
		case *wire.Input_ScheduleDue:
			m := w.ScheduleDue
			if m.Schedule != id || s.paused || m.Due <= s.decided || m.Due > int64(e.at) {
				continue
			}
			s.decided = m.Due
			due = append(due, countedDue{m, int64(e.at)-m.Due > d.StartDeadlineNs})
		}
	}
	return due, byHand
}

// oneRun checks whether a due time was to make a run, where nothing else of the schedule changed in
// the step.
func (c *runAccount) oneRun(e *takenStep, s *accountedSchedule, now *wire.Schedule, made bool) error {
	unfinished, queued := 0, false
	for _, r := range s.told.Runs {
		i := slices.IndexFunc(now.Runs, func(x *wire.Run) bool { return x.Number == r.Number })
		if i >= 0 && now.Runs[i].State != r.State || slices.ContainsFunc(r.Jobs, func(id uint64) bool { return e.ended[id] }) {
			return nil
		}
		if !c.over(r) {
			unfinished++
			queued = queued || r.State == wire.RunState_RUN_STATE_QUEUED
		}
	}
	how := now.Definition.IfRunning
	is := unfinished == 0 || unfinished < c.site().Schedules.RunsMax && (how == wire.IfRunning_IF_RUNNING_ALLOW || how == wire.IfRunning_IF_RUNNING_QUEUE && !queued)
	if is != made {
		return fmt.Errorf("a due time made a run: %t, and that is to be %t: %d runs are unfinished (%v, queued %t)", made, is, unfinished, how, queued)
	}
	return nil
}

// over reports whether neither a run's command nor one of its jobs goes on.
func (c *runAccount) over(r *wire.Run) bool {
	return wire.RunOver(r.State) && !slices.ContainsFunc(r.Jobs, func(id uint64) bool { return c.live[id] })
}

// compareRuns compares the runs of a schedule with those before.
func (c *runAccount) compareRuns(e *takenStep, s *accountedSchedule, now *wire.Schedule, old map[uint64]*wire.Run) error {
	there := map[uint64]bool{}
	for _, r := range now.Runs {
		there[r.Number] = true
		was, mine := old[r.Number], s.runs[r.Number]
		if was == nil {
			was = &wire.Run{Number: r.Number, Due: r.Due, ByHand: r.ByHand, State: wire.RunState_RUN_STATE_UNSPECIFIED}
			mine = &accountedRun{late: c.early != 0 && scheduler.Time(r.Due) > c.early}
			s.runs[r.Number] = mine
		}
		if err := cmp.Or(c.submissions(e, now, was, r), c.transition(e, s, now, was, r, mine)); err != nil {
			return fmt.Errorf("run %d: %w", r.Number, err)
		}
	}
	for number, r := range old {
		if there[number] {
			continue
		}
		delete(s.runs, number)
		if !wire.RunOver(r.State) && !c.endedIn(e, now, r) {
			return fmt.Errorf("run %d is forgotten, and it is %s", number, wire.RunStateName(r.State))
		}
	}
	return nil
}

// endedIn reports whether the end of a run's command was told in a step.
func (c *runAccount) endedIn(e *takenStep, s *wire.Schedule, r *wire.Run) bool {
	return slices.ContainsFunc(e.inputs, func(in *wire.Input) bool {
		k := in.GetEndRun().GetKey()
		return k.GetSchedule() == s.Id && k.GetRun() == r.Number && (k.GetTry() == wire.DecidingTry(r) || r.SubmittingTry == 0)
	})
}

// submissions checks the jobs that a run got in a step: all of them are of one start.
func (c *runAccount) submissions(e *takenStep, s *wire.Schedule, was, r *wire.Run) error {
	switch {
	case r.Due != was.Due || r.ByHand != was.ByHand || r.Try < was.Try:
		return fmt.Errorf("it was %v, and is %v", was, r)
	case was.SubmittingTry != 0 && r.SubmittingTry != was.SubmittingTry:
		return fmt.Errorf("start %d submits, and start %d submitted", r.SubmittingTry, was.SubmittingTry)
	case len(r.Jobs) < len(was.Jobs) || !slices.Equal(r.Jobs[:len(was.Jobs)], was.Jobs):
		return fmt.Errorf("it had the jobs %v, and has %v", was.Jobs, r.Jobs)
	}
	for _, id := range r.Jobs[len(was.Jobs):] {
		i := slices.IndexFunc(e.inputs, func(in *wire.Input) bool { return in.GetSubmit().GetJob() == id })
		if i < 0 {
			return fmt.Errorf("it has job-%d, which nobody submitted", id)
		}
		k := e.inputs[i].GetSubmit().Spec.Run
		if k.GetSchedule() != s.Id || k.GetRun() != r.Number || k.GetTry() != r.SubmittingTry || k.GetTerm() != wire.TermOf(r, k.GetTry()) {
			return fmt.Errorf("it has job-%d of start %v, and start %d submits", id, k, r.SubmittingTry)
		}
		if wire.RunOver(was.State) {
			return fmt.Errorf("it has %s, and got job-%d", wire.RunStateName(was.State), id)
		}
		c.live[id] = true
	}
	return nil
}

// transition checks what happened to a run in a step.
func (c *runAccount) transition(e *takenStep, s *accountedSchedule, now *wire.Schedule, was, r *wire.Run, mine *accountedRun) error {
	claims := c.claimsOf(e, now.Id, r.Number)
	if int(r.Try-was.Try) != claims {
		return fmt.Errorf("its command is at start %d, was at %d, and was given to a runner %d times", r.Try, was.Try, claims)
	}
	if claims > 0 && was.SubmittingTry != 0 {
		return fmt.Errorf("start %d has submitted, and its command is started again", was.SubmittingTry)
	}
	deadline := time.Duration(min(s.told.Definition.GetStartDeadlineNs(), now.Definition.GetStartDeadlineNs()))
	running, waiting := r.State == wire.RunState_RUN_STATE_RUNNING, r.State == wire.RunState_RUN_STATE_WAITING
	// A renewal in this step came before the end of the lease was looked for.
	renewed := e.restart || claims > 0 || c.renewed(e, now, was, r) || was.State != r.State
	busy := was.State == wire.RunState_RUN_STATE_RUNNING && renewed && was.State == r.State
	over := e.at >= mine.until && !busy
	var err error
	switch {
	case was.State == r.State && (wire.RunOver(r.State) || claims == 0):
	case was.State == r.State: // it was given up and taken in one step
	case wire.RunOver(was.State):
		err = fmt.Errorf("it %s, and is %s", wire.RunStateName(was.State), wire.RunStateName(r.State))
	case r.State == wire.RunState_RUN_STATE_QUEUED && was.State != wire.RunState_RUN_STATE_UNSPECIFIED:
		err = fmt.Errorf("it was %s, and is queued", wire.RunStateName(was.State))
	case waiting && was.State == wire.RunState_RUN_STATE_QUEUED:
		err = c.released(e, s, now, r)
	case waiting && was.State == wire.RunState_RUN_STATE_RUNNING && !over && !c.disowned(e, s.told.User, was):
		err = fmt.Errorf("it waits for another runner at %d, and %s has it until %d", e.at, was.Runner, mine.until)
	case running && claims == 0 && len(r.Jobs) == len(was.Jobs):
		err = fmt.Errorf("it runs, and was given to nobody")
	case r.State == wire.RunState_RUN_STATE_MISSED && !over:
		err = fmt.Errorf("it is missed at %d, before its start deadline at %d", e.at, mine.until)
	case r.State == wire.RunState_RUN_STATE_LOST && (!over || len(r.Jobs) == 0):
		err = fmt.Errorf("it is lost at %d with %d jobs, and %s has it until %d", e.at, len(r.Jobs), was.Runner, mine.until)
	case r.State == wire.RunState_RUN_STATE_SUCCEEDED && !c.endedIn(e, now, r):
		err = fmt.Errorf("it succeeded, and no runner said so")
	case r.State == wire.RunState_RUN_STATE_FAILED && !c.endedIn(e, now, r) && (!over || int(r.Try) < c.site().Schedules.TriesMax):
		err = fmt.Errorf("it failed at start %d: %s", r.Try, r.Reason)
	case mine.late && (r.State == wire.RunState_RUN_STATE_MISSED || r.State == wire.RunState_RUN_STATE_LOST) && deadline >= patient:
		err = fmt.Errorf("it is %s, and its user's runners live", wire.RunStateName(r.State))
	}
	switch {
	case running && renewed:
		mine.until = e.at.Add(c.site().Schedules.Lease)
	case waiting && was.State == wire.RunState_RUN_STATE_UNSPECIFIED:
		mine.until = scheduler.Time(r.Due).Add(deadline)
	case waiting && was.State != r.State:
		mine.until = e.at.Add(deadline)
	}
	return err
}

// released returns why a queued run may not wait for a runner yet.
func (c *runAccount) released(e *takenStep, s *accountedSchedule, now *wire.Schedule, r *wire.Run) error {
	for _, x := range now.Runs {
		if x.Number < r.Number && !wire.RunOver(x.State) || slices.ContainsFunc(x.Jobs, func(id uint64) bool { return c.live[id] && !e.ended[id] }) {
			return fmt.Errorf("it is no longer queued, and run %d of %s goes on", x.Number, s.told.Name)
		}
	}
	return nil
}

// claimsOf returns how often a run was given to runners in a step.
func (c *runAccount) claimsOf(e *takenStep, schedule, run uint64) (n int) {
	for _, in := range e.inputs {
		if m := in.GetTakeRun(); m != nil {
			if k := e.replies[m.Client].Run.GetKey(); k.GetSchedule() == schedule && k.GetRun() == run {
				n++
			}
		}
	}
	return n
}

// renewed reports whether a runner said in a step that it has a run.
func (c *runAccount) renewed(e *takenStep, s *wire.Schedule, was, r *wire.Run) bool {
	return slices.ContainsFunc(e.inputs, func(in *wire.Input) bool {
		m := in.GetTakeRun()
		return m != nil && m.Principal.Name == s.User && (wire.Holds(m.Held, s, was) || wire.Holds(m.Held, s, r))
	})
}

// disowned reports whether a runner that should have a run said in a step that it has others.
func (c *runAccount) disowned(e *takenStep, user string, was *wire.Run) bool {
	return was.SubmittingTry == 0 && slices.ContainsFunc(e.inputs, func(in *wire.Input) bool {
		m := in.GetTakeRun()
		return m != nil && m.Principal.Name == user && m.Runner == was.Runner
	})
}

// claims checks the runs that were given to runners in a step: to those of their user, and the one
// that was due first.
func (c *runAccount) claims(e *takenStep, before map[uint64]*wire.Schedule) error {
	given := map[[2]uint64]bool{}
	for _, in := range e.inputs {
		m := in.GetTakeRun()
		if m == nil {
			continue
		}
		r, replied := e.replies[m.Client]
		k := r.Run.GetKey()
		oldest, due := [2]uint64{}, int64(0)
		for id, s := range before {
			if s.User != m.Principal.Name || c.changedBefore(e, s) {
				continue
			}
			for _, x := range s.Runs {
				if x.State == wire.RunState_RUN_STATE_WAITING && !given[[2]uint64{id, x.Number}] && (due == 0 || x.Due < due) {
					oldest, due = [2]uint64{id, x.Number}, x.Due
				}
			}
		}
		switch {
		case !replied:
			return fmt.Errorf("runner %s got no answer", m.Runner)
		case k == nil && !m.Full && due != 0:
			return fmt.Errorf("runner %s of %s got nothing, while run %v waits", m.Runner, m.Principal.Name, oldest)
		case k == nil:
			continue
		case m.Full:
			return fmt.Errorf("runner %s got a run, and wanted none", m.Runner)
		case before[k.Schedule] != nil && before[k.Schedule].User != m.Principal.Name:
			return fmt.Errorf("runner %s of %s got a run of %s", m.Runner, m.Principal.Name, before[k.Schedule].User)
		case due != 0 && r.Run.Due > due:
			return fmt.Errorf("runner %s got run %d, due at %d, while run %v waits since %d", m.Runner, k.Run, r.Run.Due, oldest, due)
		}
		given[[2]uint64{k.Schedule, k.Run}] = true
	}
	return nil
}

// changedBefore reports whether a step has a request about a schedule, or a submission of one of
// its runs, so that a runner may have found it changed.
func (c *runAccount) changedBefore(e *takenStep, s *wire.Schedule) bool {
	return slices.ContainsFunc(e.inputs, func(in *wire.Input) bool {
		m := in.GetChangeSchedule()
		return m != nil && m.Name == s.Name || in.GetSubmit().GetSpec().GetRun().GetSchedule() == s.Id
	})
}

// leaseSlack is how much later than its time a run may be given up: a step does a bounded part of
// what is due.
const leaseSlack = 5 * time.Second

// leases reports a run that waits for its runner, or for any, beyond its time.
func (c *runAccount) leases() error {
	for _, id := range simcluster.Sorted(c.all) {
		s := c.all[id]
		for _, r := range s.told.Runs {
			waits := r.State == wire.RunState_RUN_STATE_WAITING || r.State == wire.RunState_RUN_STATE_RUNNING
			if until := s.runs[r.Number].until; waits && c.at > max(until, c.began).Add(leaseSlack) {
				return fmt.Errorf("run %d of schedule %d is %s at %d, and that had to end at %d", r.Number, id, wire.RunStateName(r.State), c.at, until)
			}
		}
	}
	return nil
}

// mayRefuse reports whether a job of a run may be refused now for the run's sake.
func (c *runAccount) mayRefuse(user string, k *wire.RunKey) bool {
	s := c.all[k.Schedule]
	if s == nil || s.told.User != user {
		return true
	}
	i := slices.IndexFunc(s.told.Runs, func(r *wire.Run) bool { return r.Number == k.Run })
	if i < 0 {
		return true
	}
	r := s.told.Runs[i]
	return wire.RunOver(r.State) || r.SubmittingTry != 0 && r.SubmittingTry != k.Try || k.GetTerm() != wire.TermOf(r, k.GetTry())
}

// unfinished names runs that are not over.
func (c *runAccount) unfinished() (list []string) {
	for _, id := range simcluster.Sorted(c.all) {
		for _, r := range c.all[id].told.Runs {
			if !c.over(r) {
				list = append(list, fmt.Sprintf("run %d of schedule %d is %s", r.Number, id, wire.RunStateName(r.State)))
			}
		}
	}
	return list
}
