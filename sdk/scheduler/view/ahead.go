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
//   - The job gets the next slots: it is next, which the policy knows. If that is nil, one job alone must have bundles
//     that are ready and were given neither to Launch nor to LeaveOut.
//   - No slot of the kind is free, since a free one starts a bundle sooner.
//   - That job has no bundle of several groups to launch, for which slots may have to become free together, and its
//     first bundle for the kind is of the stage.
//   - The bundle has no located input, or has some on the launcher's host.
//   - may, unless nil, allows the job to go on with as many slots as it holds.
//
// A bundle may also be launched ahead of one that the round itself launches (AheadRoom.PerLaunch).
func (v *View) LaunchAhead(launches []scheduler.Launch, next *Job, may func(*Job) bool) []scheduler.Launch {
	if len(v.aheadRoom) == 0 {
		return launches
	}
	j := next
	if j == nil {
		j = v.onlyReady()
	}
	if j == nil || may != nil && !may(j) {
		return launches
	}
	// One for each launcher in turn, so that all come to their end together.
	for rooms := v.aheadRooms(j, launches); len(rooms) > 0; {
		rooms = slices.DeleteFunc(rooms, func(r aheadRoom) bool { return r.left == 0 })
		for i := range rooms {
			r := &rooms[i]
			r.left--
			b := v.nextAhead(j, r.stage, r.launcher)
			if b == nil {
				r.left = 0
				continue
			}
			d := v.Launch(b, []scheduler.LauncherID{r.launcher.ID})
			d.Ahead = true
			launches = append(launches, d)
		}
	}
	return launches
}

// aheadRoom is how many bundles of a stage may be launched ahead on a launcher.
type aheadRoom struct {
	launcher *Launcher
	stage    scheduler.StageID
	left     int
}

// aheadRooms lists the room for a job's stages that get the next slots, in order of launcher. The
// round's launches have room ahead, too.
func (v *View) aheadRooms(j *Job, launches []scheduler.Launch) (rooms []aheadRoom) {
	now := v.launchedNow(launches, j)
	for _, l := range v.aheadRoom {
		for _, x := range l.Offer.Ahead {
			if x.Job != j.ID() {
				continue
			}
			n := x.Count + x.PerLaunch*now[launchedAt{l.ID, x.Stage}]
			if n > 0 && v.getsNextSlot(j, x.Stage) {
				rooms = append(rooms, aheadRoom{l, x.Stage, n})
			}
		}
	}
	slices.SortFunc(rooms, func(x, y aheadRoom) int {
		return cmp.Or(cmp.Compare(x.launcher.ID, y.launcher.ID), cmp.Compare(x.stage, y.stage))
	})
	return rooms
}

// launchedAt is what is launched of a stage of one job on a launcher.
type launchedAt struct {
	launcher scheduler.LauncherID
	stage    scheduler.StageID
}

// launchedNow counts the round's launches of a job's bundles of one group.
func (v *View) launchedNow(launches []scheduler.Launch, j *Job) map[launchedAt]int {
	now := map[launchedAt]int{}
	for _, d := range launches {
		if b := v.Bundle(d.Bundle); b != nil && b.Job == j && len(d.Launchers) == 1 {
			now[launchedAt{d.Launchers[0], b.Groups[0].Stage}]++
		}
	}
	return now
}

// getsNextSlot reports whether the next slot of its kind goes to a stage of the job that gets the next slots.
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
