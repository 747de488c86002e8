package lifecycle

import (
	"maps"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// A stage that prefers a kind of slots takes that kind while a launcher that is up has enough for a
// group, and all launchers together have room for its bundles. Else it takes its own kind. The kind is
// chosen at submission. It is chosen again when launchers join or are lost, and when a bundle becomes
// ready, as long as no attempt of the stage runs.

// ChooseKinds finds, after launchers joined or were lost, the stages that have to take slots of
// other kinds.
func (bs *Bundles) ChooseKinds() {
	for j := range bs.state.Jobs.All() {
		bs.chooseKinds(j)
	}
}

// ChooseFirst chooses the slot kinds of a job that no policy knows yet.
func (bs *Bundles) ChooseFirst(j *state.Job) {
	if kinds := bs.othersOf(j, nil); len(kinds) > 0 {
		j.TakeKinds(kinds)
		bs.logKinds(j)
	}
}

// chooseKinds switches stages of a running job without running attempts to other slot kinds.
func (bs *Bundles) chooseKinds(j *state.Job) {
	if !j.HasPreferredKinds() || j.Phase() != state.JobRunning {
		return
	}
	fixed := map[int]bool{}
	for stage := range j.Plan.Graph.Stages {
		fixed[stage] = j.Stages[stage].Runs() || !j.Stages[stage].Open()
	}
	kinds := bs.othersOf(j, fixed)
	if len(kinds) == 0 {
		return
	}
	for _, a := range j.Attempts().Sorted() {
		fixed[int(a.Stage)] = true
	}
	if kinds = bs.othersOf(j, fixed); len(kinds) == 0 {
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
		if _, yes := kinds[stage]; yes {
			bs.events.NotifyStage(j, stage)
		}
	}
	for _, b := range ready {
		bs.MakeReady(b)
	}
	bs.logKinds(j)
	bs.state.Changes.MarkJob(j)
}

// othersOf returns, by stage, the slot kinds that replace the current kinds of a job's stages. The
// fixed stages keep their current kinds.
func (bs *Bundles) othersOf(j *state.Job, fixed map[int]bool) map[int]string {
	kinds := map[int]string{} // of each stage with a preference
	for stage := range j.Plan.Graph.Stages {
		s := &j.Stages[stage]
		prefers, kind := s.Preferred(), s.OwnKind()
		if prefers == "" {
			continue
		}
		there := bs.most(prefers) >= max(s.Slots(), 1)
		switch {
		case fixed[stage]:
			kind = s.Kind()
		case bs.step.Set.TakesKind(prefers) && (there || !bs.step.Set.TakesKind(kind)):
			kind = prefers
		}
		kinds[stage] = kind
	}
	bs.takeOwnWherePreferredIsTooSmall(j, kinds, fixed)
	for stage, kind := range kinds {
		if kind == j.Stages[stage].Kind() {
			delete(kinds, stage)
		}
	}
	return kinds
}

// takeOwnWherePreferredIsTooSmall gives stages their own kinds back if a bundle of theirs fits the
// cluster with these, and not with the preferred ones. Slots alone do not say so: a gang, memory and
// countable resources count too. Each turn gives a stage its own kind back, so the turns end.
func (bs *Bundles) takeOwnWherePreferredIsTooSmall(j *state.Job, kinds map[int]string, fixed map[int]bool) {
	for changed := true; changed; {
		changed = false
		for _, shape := range j.Shapes {
			b := &j.Bundles[shape.Bundle]
			own := bs.ownKindsOf(b, kinds, fixed)
			if len(own) > 0 && !bs.fitsWith(b, kinds) && bs.fitsWith(b, merged(kinds, own)) {
				maps.Copy(kinds, own)
				changed = true
			}
		}
	}
}

// ownKindsOf returns the own kinds of a bundle's stages to which kinds gives others, except of fixed
// stages and of kinds that the policy does not take.
func (bs *Bundles) ownKindsOf(b *state.Bundle, kinds map[int]string, fixed map[int]bool) (own map[int]string) {
	for i := range b.Width() {
		stage := b.StageOf(i)
		kind, prefers := kinds[stage]
		if o := b.Job.Stages[stage].OwnKind(); prefers && !fixed[stage] && kind != o && bs.step.Set.TakesKind(o) {
			if own == nil {
				own = map[int]string{}
			}
			own[stage] = o
		}
	}
	return own
}

// merged returns kinds with those of own in their place.
func merged(kinds, own map[int]string) map[int]string {
	all := maps.Clone(kinds)
	maps.Copy(all, own)
	return all
}

// withKinds is a bundle whose groups ask for slots of the given kinds, by stage.
type withKinds struct {
	*state.Bundle
	kinds map[int]string
}

func (b withKinds) Request(i int) resources.Request {
	r := b.Bundle.Request(i)
	if kind, other := b.kinds[b.StageOf(i)]; other {
		r.Kind = kind
	}
	return r
}

// fitsMax bounds the answers that fitsWith keeps.
const fitsMax = 10_000

// fitsWith reports whether all launchers, were they empty, could hold a bundle whose stages take
// slots of the given kinds. Its answers are cached until launchers join or are lost.
func (bs *Bundles) fitsWith(b *state.Bundle, kinds map[int]string) bool {
	bs.forgetOldFits()
	x := withKinds{b, kinds}
	key := state.ShapeKey(x)
	fits, known := bs.fits[key]
	if !known {
		short, _ := bs.resources.Launchers.FitsCluster(x)
		fits = short == nil
		if len(bs.fits) == fitsMax {
			clear(bs.fits)
		}
		bs.fits[key] = fits
	}
	return fits
}

// most is resources.Most, cached until launchers join or are lost.
func (bs *Bundles) most(kind string) int {
	bs.forgetOldFits()
	n, known := bs.kinds[kind]
	if !known {
		n = bs.resources.Launchers.Most(kind)
		bs.kinds[kind] = n
	}
	return n
}

// forgetOldFits empties both caches if launchers joined or were lost since.
func (bs *Bundles) forgetOldFits() {
	if moves := bs.resources.Launchers.Moves(); bs.kinds == nil || bs.kindsAt != moves {
		bs.kinds, bs.fits, bs.kindsAt = map[string]int{}, map[string]bool{}, moves
	}
}

// logKinds logs the slot kinds of the job's stages with several possible kinds.
func (bs *Bundles) logKinds(j *state.Job) {
	for stage := range j.Plan.Graph.Stages {
		if s := &j.Stages[stage]; s.Preferred() != "" {
			bs.step.Log(step.Info, "a stage takes slots of a kind", "job", j.ID.String(), "stage", s.Name(), "kind", s.Kind())
		}
	}
}
