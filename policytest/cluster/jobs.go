package cluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobs is the room of what is to be done: the jobs that live, those that wait to be
// admitted, and which of their bundles may be launched.
type jobs struct {
	list   []*job          // that are admitted and have not ended, in order of id
	asked  []*job          // that the policy was asked to admit
	lastID scheduler.JobID // that was given out
	ids    uint64          // the last one given out to a bundle or an attempt

	time         *timeline
	exchange     *exchange
	launchers    *launchers
	reservations *reservations
	tally        *Tally
}

// preemptedMax is how often one bundle may lose its slots in one story.
const preemptedMax = 25

func newJobs(time *timeline, exchange *exchange, launchers *launchers, reservations *reservations, tally *Tally) jobs {
	return jobs{time: time, exchange: exchange, launchers: launchers, reservations: reservations, tally: tally}
}

// newID returns an id for a bundle or an attempt.
func (js *jobs) newID() uint64 { js.ids++; return js.ids }

// add makes a job of what was submitted. It is to be admitted, or asked for.
func (js *jobs) add(s Spec) *job {
	js.lastID++
	return newJob(js.lastID, s, js.time.Now())
}

// ask asks the policy to admit a job.
func (js *jobs) ask(j *job) {
	js.tally.Asked++
	js.asked = append(js.asked, j)
	j.history = []emission{js.time.emit(scheduler.AdmissionAsked{At: js.time.Now(), Job: j.info})}
	js.time.After(answerMax, func() {
		if slices.Contains(js.asked, j) {
			js.exchange.fault("%s was neither admitted nor refused within %s", j.id(), answerMax)
			js.asked = slices.DeleteFunc(js.asked, func(x *job) bool { return x == j })
		}
	})
}

// takeAsked takes a job that was asked for, or says why there is none.
func (js *jobs) takeAsked(id scheduler.JobID) (*job, scheduler.RefusalReason) {
	i := slices.IndexFunc(js.asked, func(j *job) bool { return j.id() == id })
	switch {
	case i >= 0:
		j := js.asked[i]
		js.asked = slices.Delete(js.asked, i, i+1)
		return j, scheduler.NotRefused
	case id > js.lastID:
		return nil, scheduler.UnknownID
	}
	return nil, scheduler.NotAsked
}

// waiting returns the jobs that the policy has still to admit.
func (js *jobs) waiting() []*job { return js.asked }

func (js *jobs) admit(j *job) {
	j.info.Submitted = js.time.Now()
	j.history = []emission{js.time.emit(scheduler.JobSubmitted{At: js.time.Now(), Job: j.info})}
	i := len(js.list)
	for i > 0 && js.list[i-1].id() > j.id() {
		i--
	}
	js.list = slices.Insert(js.list, i, j)
	stage := 0
	for n, layer := range j.spec.Layers {
		for i := range layer.Bundles {
			j.bundles = append(j.bundles, js.newBundle(j, n, i, scheduler.StageID(stage)))
		}
		stage += len(layer.Groups)
	}
	js.refresh(j)
}

func (js *jobs) newBundle(j *job, layer, index int, stage scheduler.StageID) *bundle {
	l := j.spec.Layers[layer]
	b := &bundle{id: scheduler.BundleID(js.newID()), job: j, layer: layer, index: index}
	for g, spec := range l.Groups {
		group := scheduler.Group{Stage: stage + scheduler.StageID(g), Kind: spec.Kind, Slots: spec.Slots, Memory: spec.Memory}
		if n := len(l.Hosts); n > 0 {
			group.InputBytes = 1 << 20
			at := l.Hosts[index%n]
			group.Places = []scheduler.Place{{Host: Host(at), Rack: Rack(at), Bytes: 1 << 20}}
		}
		b.groups = append(b.groups, group)
	}
	return b
}

// live returns the jobs that are admitted and have not ended, in order of id.
func (js *jobs) live() []*job { return js.list }

// Live returns the jobs that are submitted and have not ended, in order of id.
func (js *jobs) Live() []scheduler.JobID {
	var all []scheduler.JobID
	for _, j := range js.list {
		all = append(all, j.id())
	}
	return all
}

// job returns a live job, or nil.
func (js *jobs) job(id scheduler.JobID) *job {
	for _, j := range js.list {
		if j.id() == id {
			return j
		}
	}
	return nil
}

// bundle returns a bundle of a live job, or nil.
func (js *jobs) bundle(id scheduler.BundleID) *bundle {
	for _, j := range js.list {
		for _, b := range j.bundles {
			if b.id == id {
				return b
			}
		}
	}
	return nil
}

// ended takes out a job of which nothing runs any more.
func (js *jobs) ended(j *job, outcome scheduler.JobOutcome) {
	js.list = slices.DeleteFunc(js.list, func(x *job) bool { return x == j })
	js.reservations.releaseFor(j.id())
	js.time.emit(scheduler.JobFinished{At: js.time.Now(), Job: j.id(), Outcome: outcome})
	js.tally.Ended++
}

// Grow tells of the late bundles of all jobs.
func (js *jobs) Grow() {
	for _, j := range js.list {
		stage := 0
		for _, l := range j.spec.Layers {
			for range l.Groups {
				if l.Late > 0 && !j.grown {
					j.history = append(j.history, js.time.emit(scheduler.StageGrown{At: js.time.Now(), Job: j.id(), Stage: scheduler.StageID(stage), Groups: l.Bundles}))
				}
				stage++
			}
		}
		j.grown = true
		js.refresh(j)
	}
}

// ChangeKind has the groups of a stage take slots of another kind, if some are unfinished, and nothing of
// it runs.
func (js *jobs) ChangeKind(id scheduler.JobID, stage scheduler.StageID, kind scheduler.SlotKind) {
	j := js.job(id)
	if j == nil {
		return
	}
	of := func(b *bundle) int {
		return slices.IndexFunc(b.groups, func(g scheduler.Group) bool { return g.Stage == stage })
	}
	open := false
	for _, b := range j.bundles {
		if of(b) < 0 {
			continue
		}
		if len(b.runs) > 0 {
			return
		}
		open = open || b.state != finished
	}
	if !open {
		return
	}
	total := 0
	for _, b := range j.bundles {
		at := of(b)
		if at < 0 {
			continue
		}
		if b.state == ready {
			js.withdraw(b)
		}
		b.groups = slices.Clone(b.groups)
		b.groups[at].Kind = kind
		if !b.late() {
			total++
		}
	}
	j.history = append(j.history, js.time.emit(scheduler.StageGrown{At: js.time.Now(), Job: id, Stage: stage, Groups: total, Kind: kind}))
	js.tally.KindsChanged++
	js.refresh(j)
}

// changedGroupsMax bounds the groups of a stage that ChangeKindOf changes: more would wait for long.
const changedGroupsMax = 8

// ChangeKindOf is ChangeKind of one of a job's stages, by a number, if it is small.
func (js *jobs) ChangeKindOf(id scheduler.JobID, which int, kind scheduler.SlotKind) {
	j := js.job(id)
	if j == nil {
		return
	}
	if s := j.info.Stages[which%len(j.info.Stages)]; s.Slots == 1 && s.Groups <= changedGroupsMax {
		js.ChangeKind(id, s.ID, kind)
	}
}

// withdraw takes a ready bundle back.
func (js *jobs) withdraw(b *bundle) {
	b.state = waiting
	js.time.emit(scheduler.BundleWithdrawn{At: js.time.Now(), Job: b.job.id(), Bundle: b.id})
	b.history = nil
	js.releaseOf(b)
}

// Update changes a job's pool and priority.
func (js *jobs) Update(id scheduler.JobID, pool string, p scheduler.Priority) {
	if j := js.job(id); j != nil {
		j.info.Pool, j.info.Priority = pool, p
		j.history = append(j.history, js.time.emit(scheduler.JobUpdated{At: js.time.Now(), Job: id, Pool: pool, Priority: p, Properties: j.info.Properties}))
	}
}

// about tells an event of a bundle and keeps it for snapshots.
func (js *jobs) about(b *bundle, e scheduler.Event) { js.addHistory(b, js.time.emit(e)) }

// addHistory keeps an event of a bundle for snapshots.
func (js *jobs) addHistory(b *bundle, t emission) { b.history = append(b.history, t) }

// protect keeps a bundle from preemptions for a while.
func (js *jobs) protect(b *bundle) {
	b.protected = js.time.Now().Add(ProtectFor)
	js.about(b, scheduler.BundleProtected{At: js.time.Now(), Job: b.job.id(), Bundle: b.id, Until: b.protected})
}

// preempted counts a preemption of a bundle.
func (js *jobs) preempted(b *bundle) {
	b.preempted++
	if b.preempted == preemptedMax {
		js.exchange.fault("%v was preempted %d times", b.id, preemptedMax)
	}
}

// refresh withdraws what has its input no more, and then makes ready what has it.
func (js *jobs) refresh(j *job) {
	for _, b := range j.bundles {
		if b.state == ready && !b.complete() {
			js.withdraw(b)
		}
	}
	for _, b := range j.bundles {
		if b.state == waiting && b.complete() {
			js.makeReady(b)
		}
	}
}

// releaseOf ends what was reserved for a bundle that started, or may not any more.
func (js *jobs) releaseOf(b *bundle) { js.reservations.releaseOf(b.job.id(), b.id, b.job.anyReady()) }

// ranInVain has a bundle wait of which nothing runs any more, and says whether it may run
// again.
func (js *jobs) ranInVain(b *bundle) bool {
	b.state, b.history = waiting, nil
	if b.failures >= failuresMax {
		return false
	}
	js.refresh(b.job)
	return true
}

// bundleFinished has the bundles made ready that waited for one, and says whether it was
// the last of its job.
func (js *jobs) bundleFinished(b *bundle) (last bool) {
	b.state = finished
	js.releaseOf(b)
	js.tally.Finished++
	js.reopen(b.job)
	if b.job.done() {
		return true
	}
	js.refresh(b.job)
	return false
}

// reopen has run again what has lost its output, the last layers first: those that run
// again need their own inputs.
func (js *jobs) reopen(j *job) {
	for _, b := range slices.Backward(j.bundles) {
		if b.state != finished || !b.gone || !b.needed() {
			continue
		}
		js.time.emit(scheduler.BundleReopened{At: js.time.Now(), Job: j.id(), Bundle: b.id})
		b.state, b.history, b.outputs = waiting, nil, nil
		js.tally.Lost++
	}
}

// relaxAvoid looks, after launchers came or went, whether some ready bundle now avoids
// all that is left.
func (js *jobs) relaxAvoid() {
	if !js.launchers.takeMoved() {
		return
	}
	for _, j := range js.list {
		for _, b := range j.bundles {
			if b.state == ready && len(b.avoid) > 0 && !js.somewhere(b) {
				js.time.emit(scheduler.BundleWithdrawn{At: js.time.Now(), Job: j.id(), Bundle: b.id})
				js.makeReady(b)
			}
		}
	}
}

// somewhere says whether a bundle would have room on the launchers that it does not
// avoid, were they empty.
func (js *jobs) somewhere(b *bundle) bool {
	return js.launchers.fits(js.launchers.emptyRoom(), b.groups, nil, b.avoid)
}

// makeReady offers a bundle. It forgets what the bundle avoids when nothing else is
// left: a launcher where it failed is better than none.
func (js *jobs) makeReady(b *bundle) {
	if len(b.avoid) > 0 && !js.somewhere(b) {
		b.avoid = b.avoid[len(b.avoid)-1:] // where it failed last is still avoided
		if !js.somewhere(b) {
			b.avoid = nil
		}
	}
	b.state = ready
	avoid := slices.Clone(b.avoid)
	slices.Sort(avoid)
	b.history = []emission{js.time.emit(scheduler.BundleReady{At: js.time.Now(), Job: b.job.id(), Bundle: b.id, Groups: b.groups, Avoid: avoid})}
}

// offerSpeculation lets a bundle that runs be launched a second time, elsewhere.
func (js *jobs) offerSpeculation(b *bundle, where []scheduler.LauncherID) {
	b.speculation = true
	js.tally.SpeculationOffered++
	avoid := append(slices.Clone(b.avoid), where...)
	slices.Sort(avoid)
	b.secondAvoid = slices.Compact(avoid)
	js.about(b, scheduler.SpeculationOffered{At: js.time.Now(), Job: b.job.id(), Bundle: b.id, Groups: b.groups, Avoid: b.secondAvoid})
}
