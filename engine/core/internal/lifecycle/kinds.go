package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// A stage that prefers a kind of slots takes that kind while a launcher that is up has enough for a
// group, and else its own kind. The kind is chosen at submission. It is chosen again when launchers
// join or are lost, and when a bundle becomes ready, as long as no attempt of the stage runs.

// ChooseKinds finds, after launchers joined or were lost, the stages that have to take slots of
// other kinds.
func (bs *Bundles) ChooseKinds() {
	for j := range bs.state.Jobs.All() {
		bs.chooseKinds(j)
	}
}

// ChooseFirst chooses the slot kinds of a job that no policy knows yet.
func (bs *Bundles) ChooseFirst(j *state.Job) {
	if kinds := bs.othersOf(j); len(kinds) > 0 {
		j.TakeKinds(kinds)
		bs.logKinds(j)
	}
}

// chooseKinds switches stages of a running job without running attempts to other slot kinds.
func (bs *Bundles) chooseKinds(j *state.Job) {
	if !j.HasPreferredKinds() || j.Phase() != state.JobRunning {
		return
	}
	kinds := bs.othersOf(j)
	for stage := range kinds {
		if j.Stages[stage].Runs() || !j.Stages[stage].Open() {
			delete(kinds, stage)
		}
	}
	if len(kinds) == 0 {
		return
	}
	for _, a := range j.Attempts().Sorted() {
		delete(kinds, int(a.Stage))
	}
	if len(kinds) == 0 {
		return
	}
	var ready []*state.Bundle
	for b := range j.Ready.All() {
		for i := range b.Width() {
			if _, yes := kinds[b.StageOf(i)]; yes && !b.Last() {
				ready = append(ready, b)
				break
			}
		}
	}
	for _, b := range ready {
		bs.Withdraw(b)
	}
	j.TakeKinds(kinds)
	for stage := range j.Plan.Graph.Stages {
		if kind, yes := kinds[stage]; yes {
			bs.events.NotifyKind(j, stage, kind)
		}
	}
	for _, b := range ready {
		bs.MakeReady(b)
	}
	bs.logKinds(j)
	bs.state.Changes.MarkJob(j)
}

// othersOf returns, by stage, the slot kinds that replace the current kinds of a job's stages.
func (bs *Bundles) othersOf(j *state.Job) map[int]string {
	kinds := map[int]string{}
	for stage := range j.Plan.Graph.Stages {
		s := &j.Stages[stage]
		prefers, kind := s.Preferred(), s.OwnKind()
		if prefers == "" {
			continue
		}
		there := bs.most(prefers) >= max(s.Slots(), 1)
		if bs.step.Set.TakesKind(prefers) && (there || !bs.step.Set.TakesKind(kind)) {
			kind = prefers
		}
		if kind != s.Kind() {
			kinds[stage] = kind
		}
	}
	return kinds
}

// most is resources.Most, cached until launchers join or are lost.
func (bs *Bundles) most(kind string) int {
	if moves := bs.resources.Launchers.Moves(); bs.kinds == nil || bs.kindsAt != moves {
		bs.kinds, bs.kindsAt = map[string]int{}, moves
	}
	n, known := bs.kinds[kind]
	if !known {
		n = bs.resources.Launchers.Most(kind)
		bs.kinds[kind] = n
	}
	return n
}

// logKinds logs the slot kinds of the job's stages with several possible kinds.
func (bs *Bundles) logKinds(j *state.Job) {
	for stage := range j.Plan.Graph.Stages {
		if s := &j.Stages[stage]; s.Preferred() != "" {
			bs.step.Log(step.Info, "a stage takes slots of a kind", "job", j.ID.String(), "stage", s.Name(), "kind", s.Kind())
		}
	}
}
