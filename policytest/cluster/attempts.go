package cluster

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attempts is the room of what is being done: launches of bundles, from the first moment
// to the last, and what follows from their ends. A live attempt is in its run and on its
// launcher; a run with a live attempt is in its bundle.
type attempts struct {
	suspended []*run // the first suspended first; some of them may have ended
	rng       *rand.Rand

	time         *timeline
	launchers    *launchers
	reservations *reservations
	jobs         *jobs
	abilities    *scheduler.Ability
	tally        *Tally
}

func newAttempts(rng *rand.Rand, time *timeline, launchers *launchers, reservations *reservations, jobs *jobs, abilities *scheduler.Ability, tally *Tally) attempts {
	return attempts{
		rng: rng, time: time, launchers: launchers, reservations: reservations, jobs: jobs,
		abilities: abilities, tally: tally,
	}
}

// launch makes attempts of a bundle; the checks are done.
func (as *attempts) launch(b *bundle, where []scheduler.LauncherID) []scheduler.AttemptID {
	raced := b.resting() != nil
	r := &run{bundle: b, second: b.launch()}
	if r.second {
		as.tally.Seconds++
	}
	if raced {
		as.tally.Raced++
	}
	if b.preempted > 0 {
		as.jobs.protect(b)
	}
	b.runs = append(b.runs, r)
	layer := b.spec()
	var ids []scheduler.AttemptID
	for i := range b.groups {
		l := as.launchers.get(where[i])
		// Groups of a bundle take about equally long, and no two just as long.
		left := layer.Run/2 + time.Duration(as.rng.Int64N(int64(layer.Run)))
		a := &attempt{
			id: scheduler.AttemptID(as.jobs.newID()), run: r, group: i, need: b.group(i), on: l,
			left: max(left, time.Millisecond), shuffles: layer.Shuffles,
		}
		ids = append(ids, a.id)
		r.attempts = append(r.attempts, a)
		l.enter(a)
		as.tallyPlace(a)
		as.time.After(startDelay, func() { as.start(a) })
	}
	return ids
}

func (as *attempts) tallyPlace(a *attempt) {
	if a.on.busy() {
		as.tally.Busy++
	}
	if len(a.need.Places) == 0 {
		return
	}
	as.tally.Located++
	if a.need.Places[0].Host == Host(a.on.id) {
		as.tally.Local++
	}
}

// attempt returns a live attempt, or nil.
func (as *attempts) attempt(id scheduler.AttemptID) *attempt {
	for _, l := range as.launchers.there() {
		for _, a := range l.attempts {
			if a.id == id {
				return a
			}
		}
	}
	return nil
}

func (as *attempts) start(a *attempt) {
	if !a.live() || a.state != assigned {
		return
	}
	b := a.run.bundle
	as.jobs.about(b, scheduler.AttemptStarted{
		At: as.time.Now(), Attempt: a.id, Job: b.job.id(), Bundle: b.id, Group: a.group,
		Stage: a.need.Stage, Launcher: a.on.id, Speculative: a.run.second,
	})
	as.goOn(a)
}

// goOn lets an attempt run for what it has left.
func (as *attempts) goOn(a *attempt) {
	a.goes(as.time.Now())
	still, b := a.still(), a.run.bundle
	as.time.After(a.left/2, func() {
		if still() {
			as.halfway(a)
		}
	})
	if b.failures == 0 && b.spec().FailOnce {
		as.time.After(a.left*3/4, func() {
			if still() {
				as.over(a, scheduler.Failed)
			}
		})
		return
	}
	as.time.After(a.left, func() {
		if still() {
			as.over(a, scheduler.Finished)
		}
	})
}

// over ends an attempt that came to its own end. What is being killed did its work if
// it is alone and finished; else it was preempted.
func (as *attempts) over(a *attempt, outcome scheduler.AttemptOutcome) {
	r := a.run
	switch {
	case !r.kills(), outcome == scheduler.Finished && len(r.bundle.groups) == 1:
		as.end(a, outcome, 0)
	case len(r.attempts) == 1:
		as.end(a, scheduler.Preempted, r.leaving.by.For)
	default:
		as.drop(a, scheduler.Preempted, r.leaving.by.For)
	}
}

func (as *attempts) halfway(a *attempt) {
	now := as.time.Now()
	if a.shuffles {
		as.jobs.about(a.run.bundle, scheduler.AttemptPhase{At: now, Attempt: a.id, Phase: scheduler.PhaseExecute})
		a.shuffles = false
	}
	if as.abilities.Has(scheduler.AbilityProgress) {
		as.jobs.about(a.run.bundle, scheduler.AttemptProgress{At: now, Attempt: a.id, Progress: 0.5, Work: scheduler.Work{Running: a.ranAt(now)}})
	}
}

// leave has a run leave its slots for a preemption's beneficiary after a time.
func (as *attempts) leave(r *run, p scheduler.Preempt, to *reservation, after time.Duration) {
	r.leaving = &leaving{by: p}
	r.bundle.onceOnly()
	as.jobs.protect(r.bundle)
	as.jobs.preempted(r.bundle)
	for _, a := range r.attempts {
		if a.state != suspended || p.Mode != scheduler.PreemptSuspend {
			a.reserved = to
			as.reservations.promise(to)
		}
	}
	as.tally.Victims += len(r.attempts)
	as.goesOnNoMore(r.bundle)
	as.time.After(after, func() { as.left(r) })
}

// left takes a run off its slots, if it has not gone by itself.
func (as *attempts) left(r *run) {
	if r.leaving == nil {
		return
	}
	p := r.leaving.by
	if p.Mode == scheduler.PreemptSuspend {
		r.leaving = nil
		for _, a := range r.live() {
			as.suspend(a)
		}
		if len(r.attempts) > 0 {
			as.suspended = append(as.suspended, r)
		}
		return
	}
	if len(r.attempts) > 0 {
		as.end(r.attempts[0], scheduler.Preempted, p.For)
	}
}

// goesOnNoMore ends what is kept for a bundle that nothing of is suspended any more.
func (as *attempts) goesOnNoMore(b *bundle) {
	if b.state == launched && b.resting() == nil {
		as.reservations.releaseAlone(b.id)
	}
}

func (as *attempts) suspend(a *attempt) {
	took := a.on.takes()
	a.stops(as.time.Now())
	as.freed(a, a.need.Slots, took-a.on.takes())
	still := a.still()
	as.jobs.about(a.run.bundle, scheduler.AttemptSuspended{At: as.time.Now(), Attempt: a.id})
	as.tally.Suspensions++
	if as.abilities.Has(scheduler.AbilityResume) {
		return
	}
	as.time.After(SuspendMax, func() {
		if still() {
			as.end(a, scheduler.Preempted, 0)
		}
	})
}

// resume has a run go on where it is; its launchers may fail to.
func (as *attempts) resume(r *run) {
	as.suspended = slices.DeleteFunc(as.suspended, func(x *run) bool { return x == r })
	for _, a := range r.attempts {
		took := a.on.takes()
		a.state = resuming
		a.life++
		as.reservations.draw(0, r.bundle.id, a.on.id, &scheduler.Group{Kind: a.need.Kind, Slots: a.need.Slots, Memory: a.on.takes() - took})
	}
	as.reservations.releaseAlone(r.bundle.id)
	as.jobs.protect(r.bundle)
	still := r.attempts[0].still()
	as.time.After(resumeDelay, func() {
		if still() {
			as.resumed(r)
		}
	})
}

// resumed has a run go on, or be lost.
func (as *attempts) resumed(r *run) {
	if r.stuck {
		as.tally.Stuck++
		as.end(r.attempts[0], scheduler.Lost, 0)
		return
	}
	for _, a := range r.attempts {
		r.bundle.endOffer()
		as.jobs.about(r.bundle, scheduler.AttemptResumed{At: as.time.Now(), Attempt: a.id})
		as.goOn(a)
		as.tally.Resumptions++
	}
}

// resumable says whether all of a run is suspended and its slots and memory are there with some runs
// gone: free, or reserved for its bundle alone.
func (as *attempts) resumable(r *run, gone []*run, mode scheduler.PreemptMode) bool {
	room := as.launchers.room(0, r.bundle.id)
	room.leave(gone, mode)
	for _, a := range r.attempts {
		if a.state != suspended || !room.takeAgain(a) {
			return false
		}
	}
	return len(r.attempts) > 0
}

// stick has the nth suspended run stay where it is when it is resumed.
func (as *attempts) stick(n int) {
	all := slices.DeleteFunc(slices.Clone(as.suspended), func(r *run) bool { return !r.rests() })
	if len(all) > 0 {
		all[n%len(all)].stuck = true
	}
}

// resumeSome resumes what has room, for a policy that does not.
func (as *attempts) resumeSome() {
	as.suspended = slices.DeleteFunc(as.suspended, func(r *run) bool { return len(r.attempts) == 0 || r.attempts[0].state != suspended })
	if as.abilities.Has(scheduler.AbilityResume) {
		return
	}
	for _, r := range slices.Clone(as.suspended) {
		if r.leaving == nil && as.resumable(r, nil, 0) {
			o := scheduler.Outcome{At: as.time.Now(), Kind: scheduler.DecisionResume, Accepted: true, Attempts: r.ids()}
			as.jobs.addHistory(r.bundle, as.time.untold(o)) // the policy decided nothing
			as.resume(r)
		}
	}
}

// freed gives what an attempt does not hold any more to the reservation that it left
// its place for; without one it is free.
func (as *attempts) freed(a *attempt, slots int, memory int64) {
	if x := a.reserved; x != nil {
		a.reserved = nil
		as.reservations.keep(x, as.launchers.usable(a.on), a.need.Kind, slots, memory)
	}
}

// drop takes an attempt out of the books and tells of its end.
func (as *attempts) drop(a *attempt, outcome scheduler.AttemptOutcome, beneficiary scheduler.JobID) {
	now := as.time.Now()
	a.ran = a.ranAt(now)
	a.run.attempts = slices.DeleteFunc(a.run.attempts, func(x *attempt) bool { return x == a })
	took := a.on.takes()
	a.on.leave(a)
	as.freed(a, a.holds(a.need.Kind), took-a.on.takes())
	if a.suspended() {
		as.goesOnNoMore(a.run.bundle)
	}
	a.run.bundle.endOffer()
	as.jobs.about(a.run.bundle, scheduler.AttemptEnded{
		At: now, Attempt: a.id, Outcome: outcome, Work: scheduler.Work{Running: a.ran}, For: beneficiary,
	})
	a.life++
}

// end ends an attempt and does what follows for its bundle and its job.
func (as *attempts) end(a *attempt, outcome scheduler.AttemptOutcome, beneficiary scheduler.JobID) {
	if !a.live() {
		return // ended with a peer
	}
	r, b := a.run, a.run.bundle
	as.drop(a, outcome, beneficiary)
	if outcome == scheduler.Finished {
		as.committed(a, r, b)
		return
	}
	for _, peer := range r.live() {
		switch {
		case outcome == scheduler.Preempted:
			as.drop(peer, outcome, beneficiary)
		case r.kills() && as.launchers.get(peer.on.id) == peer.on:
			as.drop(peer, scheduler.Preempted, r.leaving.by.For)
		default:
			as.drop(peer, scheduler.Lost, 0) // a peer went away
		}
	}
	b.runs = slices.DeleteFunc(b.runs, func(x *run) bool { return x == r })
	if outcome == scheduler.Failed {
		as.tally.Failed++
		b.fail(a.on.id)
	}
	if len(b.runs) == 0 && b.state == launched && !as.jobs.ranInVain(b) {
		as.endJob(b.job, scheduler.JobFailed)
	}
}

// committed: the first of two attempts to commit a group wins for its run.
func (as *attempts) committed(a *attempt, r *run, b *bundle) {
	r.done++
	b.wrote(a.on.id)
	for _, other := range slices.Clone(b.runs) {
		if other == r {
			continue
		}
		for _, x := range other.live() {
			as.drop(x, scheduler.Killed, 0)
		}
		b.runs = slices.DeleteFunc(b.runs, func(x *run) bool { return x == other })
	}
	if r.done < len(b.groups) {
		return
	}
	b.runs = nil
	if as.jobs.bundleFinished(b) {
		as.endJob(b.job, scheduler.JobSucceeded)
	}
}

func (as *attempts) endJob(j *job, outcome scheduler.JobOutcome) {
	for _, b := range j.bundles {
		for _, r := range slices.Clone(b.runs) {
			for _, a := range r.live() {
				as.drop(a, scheduler.Killed, 0)
			}
		}
	}
	as.jobs.ended(j, outcome)
}

// Kill ends a job.
func (as *attempts) Kill(id scheduler.JobID) {
	if j := as.jobs.job(id); j != nil {
		as.endJob(j, scheduler.JobKilled)
	}
}

// Lose takes a launcher away with all it runs and stores.
func (as *attempts) Lose(id scheduler.LauncherID) {
	l := as.launchers.get(id)
	if l == nil {
		return
	}
	as.launchers.lost(l)
	for _, a := range slices.Clone(l.attempts) {
		as.end(a, scheduler.Lost, 0)
	}
	for _, j := range as.jobs.live() {
		as.lostOutputs(j, id)
	}
}

// lostOutputs finds finished bundles whose output went with a launcher and is
// still needed.
func (as *attempts) lostOutputs(j *job, id scheduler.LauncherID) {
	for _, b := range j.bundles {
		if b.lose(id) && b.state == launched && b.read() {
			as.lostPart(b.runs[0])
		}
	}
	as.jobs.reopen(j)
	as.jobs.refresh(j)
}

// lostPart ends what still runs of a gang when what a finished group of it stored is lost:
// all of it has to run again.
func (as *attempts) lostPart(r *run) {
	if r.kills() {
		as.end(r.attempts[0], scheduler.Preempted, r.leaving.by.For)
		return
	}
	as.end(r.attempts[0], scheduler.Lost, 0)
}

// offerSecond lets the nth bundle of a kind be offered a second attempt, of those with one
// group or of all, and says whether there was one.
func (as *attempts) offerSecond(n int, gangs bool, is func(*bundle) bool) bool {
	var all []*bundle
	for _, j := range as.jobs.live() {
		for _, b := range j.bundles {
			if (gangs || len(b.groups) == 1) && b.single() && is(b) {
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		return false
	}
	b := all[n%len(all)]
	as.jobs.offerSpeculation(b, b.runs[0].where())
	return true
}
