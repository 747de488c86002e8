package work

import (
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// StageIndex indexes the stages of all live jobs. The zero StageIndex is ready for Start. It
// belongs to one goroutine. The Owner of each bundle and attempt of the view is the index's.
type StageIndex struct {
	// Beside is how many slots of a kind are held by groups of bundles that belong to a
	// stage of another kind.
	Beside map[scheduler.SlotKind]int

	view    *view.View
	stages  map[scheduler.JobID][]*Stage // by id
	touched []*Stage
	over    []*Stage // stages that left the index
}

// listed is the stage that a launchable bundle counts for, and its slots of that stage's kind. It is
// the Owner of such a bundle. Bundles that are alike share it.
type listed struct {
	stage *Stage
	slots int
}

// Start builds the index from everything in the view.
func (b *StageIndex) Start(v *view.View) {
	*b = StageIndex{view: v, Beside: map[scheduler.SlotKind]int{}, stages: map[scheduler.JobID][]*Stage{}}
	for _, j := range v.Jobs() {
		b.submitted(j)
		var before *Unit
		for _, a := range j.Attempts() { // in order of id, and so of launch
			before = b.found(a, before)
		}
	}
	for _, e := range v.Ended() {
		if s := b.Of(e.Attempt); s != nil {
			s.Came = true
		}
	}
	for bundle := range v.Launchable() {
		b.list(bundle)
	}
}

// Stages returns a live job's stages by id.
func (b *StageIndex) Stages(j scheduler.JobID) []*Stage { return b.stages[j] }

// Unit returns the launch that a live attempt belongs to, or nil.
func (b *StageIndex) Unit(a *view.Attempt) *Unit {
	u, _ := a.Owner.(*Unit)
	return u
}

// Of returns the stage of an attempt's group, or nil if its job ended before this round.
func (b *StageIndex) Of(a *view.Attempt) *Stage {
	if all := b.stages[a.Job().ID()]; all != nil {
		return all[a.Need.Stage]
	}
	return nil
}

// StageOf returns the stage that a bundle belongs to, or nil if the bundle has no groups any more.
func (b *StageIndex) StageOf(x *view.Bundle) *Stage {
	all := b.stages[x.Job.ID()]
	if len(x.Groups) == 0 || int(x.Groups[0].Stage) >= len(all) {
		return nil
	}
	return all[x.Groups[0].Stage]
}

// Changed returns the stages to which something happened since the last EndRound, in order.
func (b *StageIndex) Changed() []*Stage {
	slices.SortFunc(b.touched, Compare)
	return b.touched
}

// Ended returns the stages that left the index since the last EndRound. Their job ended, or they
// take slots of another kind and have a new entry.
func (b *StageIndex) Ended() []*Stage { return b.over }

// EndRound ends a round.
func (b *StageIndex) EndRound() {
	for _, s := range b.touched {
		s.touched = false
	}
	for _, s := range b.over {
		if list := b.stages[s.Job.ID()]; len(list) > 0 && list[s.id] == s { // not a stage that moved to another kind of slot
			delete(b.stages, s.Job.ID())
		}
	}
	b.touched, b.over = b.touched[:0], b.over[:0]
}

// Launchable walks a stage's launchable bundles in order of id, without those launched since the
// last Update.
func (b *StageIndex) Launchable(s *Stage) iter.Seq[*view.Bundle] { return s.ready.Launchable() }

// Update processes the events of a round that the view has applied.
func (b *StageIndex) Update(events []scheduler.Event) {
	for _, e := range events { // in the view, the bundles of all stages already have their new kinds
		if e, ok := e.(scheduler.StageGrown); ok {
			b.changeKind(&e)
		}
	}
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			if j := b.view.Job(e.Job.ID); j != nil {
				b.submitted(j)
			}
		case scheduler.JobUpdated:
			b.touchAll(e.Job)
		case scheduler.StageGrown:
			b.touchAll(e.Job)
		case scheduler.BundleReady:
			b.bundle(e.Bundle)
		case scheduler.BundleWithdrawn:
			b.bundle(e.Bundle)
		case scheduler.BundleReopened:
			b.touchAll(e.Job)
		case scheduler.BundleGivenUp:
			b.touchAll(e.Job)
		case scheduler.SpeculationOffered:
			b.bundle(e.Bundle)
		case scheduler.SpeculationWithdrawn:
			b.bundle(e.Bundle)
		case scheduler.Outcome:
			b.outcome(&e)
		case scheduler.AttemptTookSlots:
			if a := b.view.Attempt(e.Attempt); a != nil && a.Owner == nil {
				b.launched(a, nil)
			}
		case scheduler.AttemptStarted:
			b.attempt(e.Attempt)
		case scheduler.AttemptSuspended:
			b.attempt(e.Attempt)
		case scheduler.SuspensionFailed:
			b.attempt(e.Attempt)
		case scheduler.AttemptResumed:
			b.attempt(e.Attempt)
			b.bundleOf(e.Attempt) // its second attempt is not offered any more
		}
	}
	for _, e := range b.view.Ended() {
		b.ended(e)
	}
	for _, e := range events {
		if e, ok := e.(scheduler.JobFinished); ok {
			b.finished(e.Job)
		}
	}
}

func (b *StageIndex) submitted(j *view.Job) {
	list := make([]*Stage, len(j.Info.Stages))
	for i := range j.Info.Stages {
		info := &j.Info.Stages[i]
		list[i] = &Stage{Job: j, id: scheduler.StageID(i), kind: info.Kind} //nolint:gosec // a plan has few stages
		b.touch(list[i])
	}
	b.stages[j.ID()] = list
}

func (b *StageIndex) finished(id scheduler.JobID) {
	for _, s := range b.stages[id] {
		b.leave(s)
	}
}

// leave removes a stage and delists its bundles.
func (b *StageIndex) leave(s *Stage) {
	for x := range s.ready.All() {
		x.Owner = nil
	}
	b.over = append(b.over, s)
	if s.touched {
		b.touched = slices.DeleteFunc(b.touched, func(x *Stage) bool { return x == s })
	}
}

// changeKind replaces a stage that moved to another kind of slot by a new entry. Nothing of it
// runs.
func (b *StageIndex) changeKind(e *scheduler.StageGrown) {
	list := b.stages[e.Job]
	if int(e.Stage) >= len(list) {
		return
	}
	old := list[e.Stage]
	kind := old.Info().Kind // as of the round's end: it may have changed twice
	if kind == old.kind {
		return
	}
	b.leave(old)
	list[e.Stage] = &Stage{Job: old.Job, id: old.id, kind: kind, Came: old.Came, Bound: old.Bound}
	b.touch(list[e.Stage])
}

func (b *StageIndex) touch(s *Stage) {
	if !s.touched {
		s.touched = true
		b.touched = append(b.touched, s)
	}
}

func (b *StageIndex) touchAll(id scheduler.JobID) {
	for _, s := range b.stages[id] {
		b.touch(s)
	}
}

// Touch marks a stage to be processed in this round.
func (b *StageIndex) Touch(s *Stage) { b.touch(s) }

func (b *StageIndex) bundle(id scheduler.BundleID) {
	if x := b.view.Bundle(id); x != nil {
		b.list(x)
	}
}

// bundleOf updates whether the bundle of an attempt may be launched.
func (b *StageIndex) bundleOf(id scheduler.AttemptID) {
	if a := b.view.Attempt(id); a != nil {
		b.list(a.Bundle)
	}
}

// list updates whether a bundle may be launched.
func (b *StageIndex) list(x *view.Bundle) {
	was, is := x.Owner.(*listed)
	now := x.Launchable()
	if is && (!now || was.stage.needs(x) != was.slots) {
		was.stage.ready.Remove(x)
		was.stage.ReadyBundles--
		was.stage.Ready -= was.slots
		x.Owner = nil
		b.touch(was.stage)
		is = false
	}
	if !now || is {
		return
	}
	s := b.StageOf(x)
	n := s.needs(x)
	s.ready.Add(x)
	s.ReadyBundles++
	s.Ready += n
	x.Owner = s.listed(n)
	b.came(x)
}

// came records that the stages of a bundle's groups have begun, and which of them start together.
func (b *StageIndex) came(x *view.Bundle) {
	all := b.stages[x.Job.ID()]
	for i := range x.Groups {
		s, leader := all[x.Groups[i].Stage], x.Groups[0].Stage
		s.Came = true
		b.touch(s)
		switch {
		case s.id == leader && !s.Bound.Leads:
			s.Bound.Leads = true
			if s.Bound.Joins {
				b.touch(all[s.Bound.Leader])
			}
		case s.id != leader && !s.Bound.Joins:
			s.Bound.Joins, s.Bound.Leader = true, leader
		}
	}
}

// SlotsOfTask returns how many slots of a stage's kind each of its tasks takes, with what starts together with it:
// the stages that follow it are divided among its tasks, rounded up.
func (b *StageIndex) SlotsOfTask(s *Stage) int {
	info := s.Info()
	beside := 0
	for _, f := range b.stages[s.Job.ID()] {
		if f.Bound.Follows() && f.Bound.Leader == s.id && f.kind == s.kind {
			beside += f.Info().Groups * f.Info().Slots
		}
	}
	groups := max(info.Groups, 1)
	return info.Slots + (beside+groups-1)/groups
}

func (b *StageIndex) outcome(e *scheduler.Outcome) {
	switch {
	case !e.Accepted:
	case e.Kind == scheduler.DecisionLaunch:
		var u *Unit
		for _, id := range e.Attempts {
			if a := b.view.Attempt(id); a != nil && !a.Ahead {
				u = b.launched(a, u)
			}
		}
		b.bundle(e.Launch.Bundle)
	case e.Kind == scheduler.DecisionResume:
		for _, id := range e.Attempts {
			b.attempt(id)
		}
	case e.Kind == scheduler.DecisionPreempt:
		for _, id := range e.Preempt.Victims {
			b.attempt(id)
			b.bundleOf(id)
		}
	}
}

// found adds an attempt of a snapshot. There, the attempts of one launch follow each other.
func (b *StageIndex) found(a *view.Attempt, before *Unit) *Unit {
	if before != nil && (before.Bundle != a.Bundle || before.Attempts[0].AssignedAt != a.AssignedAt || before.Attempts[0].Speculative != a.Speculative) {
		before = nil
	}
	return b.launched(a, before)
}

// launched adds an attempt to the unit of its launch; with nil it makes one.
func (b *StageIndex) launched(a *view.Attempt, u *Unit) *Unit {
	if u == nil {
		s := b.StageOf(a.Bundle)
		if s == nil { // another launch of the bundle has finished
			s = b.Of(a)
		}
		u = &Unit{Stage: s, Bundle: a.Bundle, gang: len(a.Bundle.Groups) != 1}
		s.enter(u)
		b.came(a.Bundle)
	}
	u.Attempts = append(u.Attempts, a)
	a.Owner = u
	if a.Need.Kind != u.Stage.kind {
		b.Beside[a.Need.Kind] += a.Need.Slots
	}
	b.sync(u)
	return u
}

func (b *StageIndex) attempt(id scheduler.AttemptID) {
	a := b.view.Attempt(id)
	if a == nil {
		return // it ended in the same round
	}
	if u := b.Unit(a); u != nil {
		b.sync(u)
	}
}

// sync updates a unit's state and slots.
func (b *StageIndex) sync(u *Unit) {
	s := u.Stage
	b.touch(s)
	s.count(u, -1)
	u.state, u.Slots = u.look()
	s.count(u, +1)
}

func (b *StageIndex) ended(e view.Ended) {
	if s := b.Of(e.Attempt); s != nil {
		b.touch(s)
	}
	if x := b.view.Bundle(e.Bundle.ID); x != nil {
		b.list(x)
	}
	u := b.Unit(e.Attempt)
	if u == nil {
		return // launched and ended in one round
	}
	u.Attempts = slices.DeleteFunc(u.Attempts, func(a *view.Attempt) bool { return a.ID == e.ID })
	if e.Need.Kind != u.Stage.kind {
		b.Beside[e.Need.Kind] -= e.Need.Slots
	}
	b.sync(u)
	if u.gang { // the last end of a gang is the end of groups of several stages
		b.touchAll(e.Job().ID())
	}
	if u.state == gone {
		u.Stage.leave(u)
	}
}
