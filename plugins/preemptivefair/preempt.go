package preemptivefair

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// victimsMax bounds the victims of one bundle, and how many are tried for it.
const victimsMax = 64

// dataMax bounds how many of a newcomer's ready bundles are checked for the place of their
// input.
const dataMax = 64

// unit is a launch that may be taken from a job.
type unit struct {
	*preemption.Unit
	from   *loser
	rank   int64
	taken  bool
	spared bool // preempted times-max times: it loses after all others
}

// loser is a job that may lose slots.
type loser struct {
	job   *view.Job
	held  int // of the kind, less what is taken
	units []*unit
	taken int
}

// preemptForNewcomers preempts for the newcomers that lack slots of a kind.
func (d *assignment) preemptForNewcomers(kind scheduler.SlotKind) {
	free := max(0, d.view.Capacity.FreeSlots(kind)-d.keep[kind])
	d.noteComing(kind)
	var losers []*loser
	for _, c := range d.queues[kind].due {
		id := c.job.ID()
		coming := d.comingTo(c, kind)
		if c.left == 0 || !d.options.mayTake(&c.job.Info) {
			continue
		}
		// Its share may have shrunk since it came: nothing is taken beyond its present share.
		lack := min(c.left, c.due.First-c.due.Taken+coming, int(math.Round(d.share(kind)))-c.held) - coming
		covered := min(max(lack, 0), free)
		free -= covered
		n := d.memory.newcomer(id)
		if lack -= covered; lack <= 0 || n.Refused >= refusedMax || n.RetryAt > d.view.Now() {
			continue
		}
		if losers == nil {
			losers = d.losers(kind)
		}
		d.takeFor(c, kind, lack, losers)
	}
}

// comingTo is how many slots are being taken back for a request, or are reserved for its job.
func (d *assignment) comingTo(c *request, kind scheduler.SlotKind) int {
	id := c.job.ID()
	return d.coming[id][kind] + d.view.Capacity.ReservedSlots(id, kind)
}

// noteComing notes for which jobs slots of a kind are being taken back.
func (d *assignment) noteComing(kind scheduler.SlotKind) {
	note := func(j *job) {
		if c := d.requestOf(j, kind); c != nil && d.comingTo(c, kind) > 0 {
			d.taking[j.ID()] = true
			d.change(j)
		}
	}
	if d.view.Capacity.AnyReserved() {
		for _, j := range d.waiting {
			note(j)
		}
		return
	}
	for id := range d.coming { // in any order: each is noted
		if j := d.known[id]; j != nil {
			note(j)
		}
	}
}

// losers lists the jobs that hold slots of a kind, with what could be taken from them.
func (d *assignment) losers(kind scheduler.SlotKind) []*loser {
	all := []*loser{}
	for _, j := range d.view.Jobs() {
		l := &loser{job: j, held: d.held(j, kind)}
		for _, u := range preemption.Units(j, kind, d.stopping) {
			if !d.protected(u.Bundle) && (d.mode() != scheduler.PreemptSuspend || !u.Bundle.NoSuspend()) {
				l.units = append(l.units, &unit{Unit: u, from: l, spared: d.spared(u.Bundle)})
			}
		}
		if len(l.units) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// protected says whether the manager would refuse to preempt a bundle, and records until when.
func (d *assignment) protected(b *view.Bundle) bool {
	d.protectedTill = d.view.Sooner(d.protectedTill, b.ProtectedUntil)
	return b.ProtectedUntil > d.view.Now()
}

// takeFor names victims for a newcomer's ready bundles until what it lacks is
// covered.
func (d *assignment) takeFor(c *request, kind scheduler.SlotKind, lack int, losers []*loser) {
	d.rank(c, losers)
	some := false
	for b := range c.job.Launchable(kind, 0).All() {
		if lack <= 0 {
			return
		}
		need := gangs.Slots(b, kind)
		// The first bundle may need more than the share, or it would never start.
		if b.SpeculationOffered || need > lack && (some || c.due.Given+c.due.Taken > 0 || c.left < c.due.First) {
			continue
		}
		victims, where := d.victims(c, b, kind, losers)
		if victims == nil {
			d.lacking = true
			return // what does not fit a first time is not tried on the rest
		}
		p := preemption.Stop(scheduler.Preempt{Mode: d.mode(), Grace: d.grace(), For: c.job.ID()}, victims)
		freed := 0 // may exceed the need, because whole bundles lose
		for _, u := range victims {
			freed += u.Slots
		}
		if gangs.Large(b) {
			p.Bundle, p.Placement = b.ID, where
		}
		d.preempts = append(d.preempts, p)
		d.taking[c.job.ID()] = true
		d.change(c.job)
		lack -= max(need, freed)
		some = true
	}
}

func (d *assignment) grace() time.Duration {
	if d.options.Mode == "soft" {
		return min(d.options.Grace, d.limits.GraceMax)
	}
	return 0
}

// victims picks units, one after the other, until a bundle fits, and takes its room. It
// returns none, and takes nothing, when it does not fit.
func (d *assignment) victims(c *request, b *view.Bundle, kind scheduler.SlotKind, losers []*loser) ([]*unit, []scheduler.LauncherID) {
	search := preemption.Search{View: d.view, Bundle: b, Suspend: d.mode() == scheduler.PreemptSuspend, Limits: d.limits, Most: victimsMax}
	return preemption.FindAmong(search, func() (*unit, bool) {
		u := d.pick(c, kind, losers)
		if u != nil {
			u.take(1)
		}
		return u, u != nil
	}, func(u *unit) { u.take(-1) })
}

// take subtracts a unit from its job's slots, or adds it back.
func (u *unit) take(sign int) {
	u.taken = sign > 0
	u.from.held -= sign * u.Slots
	u.from.taken += sign
}

// mode is how victims are stopped: suspended only where launchers can.
func (d *assignment) mode() scheduler.PreemptMode {
	if m := modes[d.options.Mode]; m != scheduler.PreemptSuspend || !d.memory.NoSuspend {
		return m
	}
	return scheduler.PreemptKill
}

// pick returns the unit to lose next, or nil.
func (d *assignment) pick(c *request, kind scheduler.SlotKind, losers []*loser) (found *unit) {
	for _, l := range losers {
		if l.job == c.job.Job || !d.options.mayLose(&l.job.Info, &c.job.Info) {
			continue
		}
		if u := d.first(l, kind); u != nil && (found == nil || d.before(u, found)) {
			found = u
		}
	}
	return found
}

// first is the unit that a job would lose next, or nil when it would be left with
// less than its share, half a slot allowed for rounding. A bundle that is spared is never
// its job's last one: where there are more jobs than slots each of them ends, however many
// newcomers there are.
func (d *assignment) first(l *loser, kind scheduler.SlotKind) *unit {
	for _, u := range l.units {
		switch {
		case u.taken:
		case u.spared && l.held <= u.Slots:
		case d.options.AttemptLoses == newestInCluster:
			return u
		case float64(l.held-u.Slots) >= d.share(kind)-0.5:
			return u
		}
	}
	return nil
}

// before says whether one job loses before another. Where jobs lose in turn and hold the same,
// the one loses whose attempt would go first if both were one job: most jobs hold the same few
// slots.
func (d *assignment) before(u, found *unit) bool {
	l, best := u.from, found.from
	if u.spared != found.spared {
		return found.spared
	}
	if d.options.AttemptLoses == newestInCluster {
		return u.rank < found.rank
	}
	over := cmp.Compare(best.held, l.held)
	switch d.options.JobLoses {
	case evenly:
		return cmp.Or(cmp.Compare(l.taken, best.taken), over, compareUnits(u, found)) < 0
	case lowestPriority:
		return cmp.Or(cmp.Compare(l.job.Info.Priority, best.job.Info.Priority), over) < 0
	}
	return over < 0
}

// compareUnits orders units by loss: spared ones last, and of equals the newest first, which has
// the least to lose.
func compareUnits(a, b *unit) int {
	return cmp.Or(compareBools(a.spared, b.spared), cmp.Compare(a.rank, b.rank), cmp.Compare(b.Attempts[0].AssignedAt, a.Attempts[0].AssignedAt))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rank ranks the units that each job would lose for a newcomer.
func (d *assignment) rank(c *request, losers []*loser) {
	var near map[string]int64
	if d.options.AttemptLoses == newcomerData {
		near = d.inputs(c.job.Job)
	}
	for _, l := range losers {
		for _, u := range l.units {
			u.rank = d.rankOf(c.job.ID(), u, near)
		}
		slices.SortStableFunc(l.units, compareUnits)
	}
}

func (d *assignment) rankOf(newcomer scheduler.JobID, u *unit, near map[string]int64) int64 {
	var rank int64
	switch d.options.AttemptLoses {
	case newest, newestInCluster:
		return -int64(u.Attempts[0].AssignedAt)
	case leastProgress:
		for _, a := range u.Attempts {
			rank = max(rank, int64(a.Progress*1e9))
		}
		return rank
	case newcomerData:
		for _, a := range u.Attempts {
			if l := d.view.Launcher(a.Launcher); l != nil {
				rank -= near[l.Host]
			}
		}
		return rank
	}
	return int64(mix(mix(d.seed^uint64(newcomer)) ^ uint64(u.Attempts[0].ID))) //nolint:gosec // any order will do
}

// inputs sums where the input of a job's ready bundles is.
func (d *assignment) inputs(j *view.Job) map[string]int64 {
	near, n := map[string]int64{}, 0
	for b := range j.Launchable("", 0).All() {
		for i := range b.Groups {
			for _, p := range b.Groups[i].Places {
				near[p.Host] += p.Bytes
			}
		}
		if n++; n == dataMax {
			break
		}
	}
	return near
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a
// number that looks drawn by lot, the same whenever it is asked for.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
