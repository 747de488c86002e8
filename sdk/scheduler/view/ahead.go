package view

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// aheadTries bounds the ready bundles that LaunchAhead looks at for one launcher and stage.
const aheadTries = 16

// LaunchAhead decides launches ahead (scheduler.Launch), and appends them to a round's launches.
// Call it last, with AbilityAhead, and in no round that preempts, resumes or reserves: those
// withdraw what is held. It changes nothing of who gets which slots, nor where work runs:
//
//   - One job alone has bundles that are ready and were given neither to Launch nor to LeaveOut. So no other job
//     waits for the slots.
//   - No slot of the kind is free, since a free one starts a bundle sooner.
//   - That job has no bundle of several groups to launch, for which slots may have to become free together, and its
//     first bundle for the kind is of the stage.
//   - The bundle has no located input, or has some on the launcher's host.
//   - may, unless nil, allows the job to go on with as many slots as it holds.
func (v *View) LaunchAhead(launches []scheduler.Launch, may func(*Job) bool) []scheduler.Launch {
	if len(v.aheadRoom) == 0 {
		return launches
	}
	j := v.onlyReady()
	if j == nil || may != nil && !may(j) {
		return launches
	}
	for _, l := range v.aheadLaunchers() {
		for _, x := range l.Offer.Ahead {
			if x.Job != j.ID() || !v.getsNextSlot(j, x.Stage) {
				continue
			}
			for range x.Count {
				b := v.nextAhead(j, x.Stage, l)
				if b == nil {
					break
				}
				d := v.Launch(b, []scheduler.LauncherID{l.ID})
				d.Ahead = true
				launches = append(launches, d)
			}
		}
	}
	return launches
}

// getsNextSlot reports whether the next slot of its kind goes to a stage of the only job that waits.
func (v *View) getsNextSlot(j *Job, stage scheduler.StageID) bool {
	kind := j.Info.Stages[stage].Kind
	if v.Capacity.FreeSlots(kind) > 0 || j.GangCount() > 0 {
		return false
	}
	for b := range j.ReadyOfKind(kind, 0) {
		return b.Groups[0].Stage == stage
	}
	return false
}

// onlyReady returns the job that alone has bundles that are ready and not given; nil: none has, or
// several.
func (v *View) onlyReady() (only *Job) {
	for _, j := range v.Jobs() {
		if j.launchable.list.len() == 0 || j.FirstReady() == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = j
	}
	return only
}

// nextAhead returns the next bundle of a stage to launch ahead on a launcher; nil: none.
func (v *View) nextAhead(j *Job, stage scheduler.StageID, l *Launcher) *Bundle {
	if j.Located() {
		for b := range j.ReadyAt(l.Host) {
			if v.fitsAhead(b, stage, l) {
				return b
			}
		}
	}
	tries := 0
	for b := range j.ReadyOfKind(j.Info.Stages[stage].Kind, 0) {
		if v.fitsAhead(b, stage, l) && len(b.Groups[0].Places) == 0 {
			return b
		}
		if tries++; tries == aheadTries {
			break
		}
	}
	return nil
}

func (v *View) fitsAhead(b *Bundle, stage scheduler.StageID, l *Launcher) bool {
	return len(b.Groups) == 1 && b.Groups[0].Stage == stage && b.ReservedUntil <= v.now && !b.avoids(l)
}

// aheadLaunchers returns the launchers with room to launch ahead, in order of id.
func (v *View) aheadLaunchers() []*Launcher {
	list := slices.Clone(v.aheadRoom)
	slices.SortFunc(list, func(x, y *Launcher) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// offeredAhead notes whether something may be launched ahead on a launcher.
func (v *View) offeredAhead(l *Launcher) {
	has, last := len(l.Offer.Ahead) > 0, len(v.aheadRoom)-1
	switch {
	case has == (l.aheadPlace > 0):
	case has:
		v.aheadRoom = append(v.aheadRoom, l)
		l.aheadPlace = len(v.aheadRoom)
	default: // the last one takes its place
		moved := v.aheadRoom[last]
		v.aheadRoom[l.aheadPlace-1], moved.aheadPlace = moved, l.aheadPlace
		v.aheadRoom[last], l.aheadPlace = nil, 0
		v.aheadRoom = v.aheadRoom[:last]
	}
}
