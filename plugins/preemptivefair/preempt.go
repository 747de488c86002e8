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

// dataMax bounds how many of a newcomer's ready bundles are asked where their input is.
const dataMax = 64

// unit is what is preempted at once: one launch of a bundle, with all its groups.
type unit struct {
	bundle   *view.Bundle
	attempts []*view.Attempt
	slots    int // of the kind in question
	rank     int64
	spent    bool
	spared   bool // it was preempted as often as times-max says: it loses after all others
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
	free := max(0, d.view.FreeSlots(kind)-d.keep[kind])
	var losers []*loser
	for _, c := range d.requests[kind] {
		id := c.job.ID()
		coming := d.coming[id][kind] + d.view.ReservedTotal(id, kind)
		if coming > 0 {
			d.taking[id] = true
		}
		if c.left == 0 || !d.options.mayTake(&c.job.Info) {
			continue
		}
		// Its share may have shrunk since it came: nothing is taken beyond what it is now.
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

// losers lists the jobs that hold slots of a kind, with what could be taken from them.
func (d *assignment) losers(kind scheduler.SlotKind) []*loser {
	all := []*loser{}
	for _, j := range d.view.Jobs() {
		l := &loser{job: j, held: d.held(j, kind)}
		l.units = slices.DeleteFunc(units(j, kind, d.gone), func(u *unit) bool {
			return d.launchesSpeculatively(u.bundle) || d.protected(u.bundle) || d.mode() == scheduler.PreemptSuspend && u.bundle.NoSuspend()
		})
		for _, u := range l.units {
			u.spared = d.spared(u.bundle)
		}
		if len(l.units) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// launchesSpeculatively says whether the round launches a second attempt of a bundle: none is started beside
// one that is taken off.
func (d *assignment) launchesSpeculatively(b *view.Bundle) bool {
	return b.SpeculationOffered && slices.ContainsFunc(d.launches, func(l scheduler.Launch) bool { return l.Bundle == b.ID })
}

// protected says whether the manager would refuse to preempt a bundle, and notes until when.
func (d *assignment) protected(b *view.Bundle) bool {
	until := b.ProtectedUntil
	if until <= d.view.Now() {
		return false
	}
	if d.protectedTill == 0 || until < d.protectedTill {
		d.protectedTill = until
	}
	return true
}

// units groups a job's attempts by launch.
func units(j *view.Job, kind scheduler.SlotKind, gone map[scheduler.AttemptID]bool) []*unit {
	type launch struct {
		bundle      *view.Bundle
		speculative bool
	}
	at := map[launch]*unit{}
	var all []*unit
	for _, a := range j.Attempts() {
		k := launch{a.Bundle, a.Speculative}
		u := at[k]
		if u == nil {
			u = &unit{bundle: a.Bundle}
			at[k] = u
			all = append(all, u)
		}
		u.attempts = append(u.attempts, a)
		if a.Need.Kind == kind {
			u.slots += a.Need.Slots
		}
		if a.State != view.Running || gone[a.ID] || a.Bundle.State != view.Launched {
			u.spent = true
		}
	}
	return slices.DeleteFunc(all, func(u *unit) bool { return u.spent || u.slots == 0 })
}

// takeFor names victims for a newcomer's ready bundles until what it lacks is
// covered.
func (d *assignment) takeFor(c *request, kind scheduler.SlotKind, lack int, losers []*loser) {
	d.rank(c, losers)
	some := false
	for b := range d.view.ReadyOfKind(c.job.Job, kind, 0) {
		if lack <= 0 {
			return
		}
		need := gangs.Slots(b, kind)
		// The first bundle may need more than the share, or would never start.
		if b.SpeculationOffered || need > lack && (some || c.due.Given+c.due.Taken > 0 || c.left < c.due.First) {
			continue
		}
		victims, where := d.victims(c, b, kind, losers)
		if victims == nil {
			d.lacking = true
			return // what does not fit a first time is not tried on the rest
		}
		p := scheduler.Preempt{Mode: d.mode(), Grace: d.grace(), For: c.job.ID()}
		freed := 0 // more than needed, when whole bundles lose
		for _, u := range victims {
			freed += u.slots
			for _, a := range u.attempts {
				p.Victims = append(p.Victims, a.ID)
			}
		}
		if len(b.Groups) > 1 || b.Groups[0].Slots > 1 {
			p.Bundle, p.Placement = b.ID, where
		}
		d.preempts = append(d.preempts, p)
		d.taking[c.job.ID()] = true
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
	var picked []*unit
	var from []*loser
	search := preemption.Search{View: d.view, Bundle: b, Suspend: d.mode() == scheduler.PreemptSuspend, Limits: d.limits, Most: victimsMax}
	places, where := search.Find(func() []*view.Attempt {
		u, l := d.pick(c, kind, losers)
		if u == nil {
			return nil
		}
		u.spent = true
		l.held -= u.slots
		l.taken++
		picked, from = append(picked, u), append(from, l)
		return u.attempts
	}, func(place int) {
		picked[place].spent = false
		from[place].held += picked[place].slots
		from[place].taken--
	})
	var victims []*unit
	for _, place := range places {
		victims = append(victims, picked[place])
	}
	return victims, where
}

// mode is how victims are stopped: suspended only where launchers can.
func (d *assignment) mode() scheduler.PreemptMode {
	if m := modes[d.options.Mode]; m != scheduler.PreemptSuspend || !d.memory.NoSuspend {
		return m
	}
	return scheduler.PreemptKill
}

// pick chooses the job that loses next, and what it loses.
func (d *assignment) pick(c *request, kind scheduler.SlotKind, losers []*loser) (*unit, *loser) {
	var best *loser
	var found *unit
	for _, l := range losers {
		if l.job == c.job.Job || !d.options.mayLose(&l.job.Info, &c.job.Info) {
			continue
		}
		u := d.first(l, kind)
		if u == nil {
			continue
		}
		if best == nil || d.before(u, l, found, best) {
			best, found = l, u
		}
	}
	return found, best
}

// first is the unit that a job would lose next, or nil when it would be left with
// less than its share, half a slot allowed for rounding. A bundle that is spared is never
// its job's last one: where there are more jobs than slots each of them ends, however many
// newcomers there are.
func (d *assignment) first(l *loser, kind scheduler.SlotKind) *unit {
	for _, u := range l.units {
		switch {
		case u.spent:
		case u.spared && l.held <= u.slots:
		case d.options.AttemptLoses == newestInCluster:
			return u
		case float64(l.held-u.slots) >= d.share(kind)-0.5:
			return u
		}
	}
	return nil
}

// before says whether the one job is to lose before the other. Where they lose in turn, of jobs
// that hold the same it is the one whose attempt would go first, were they one job: most jobs
// hold the same few slots.
func (d *assignment) before(u *unit, l *loser, found *unit, best *loser) bool {
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

// compareUnits orders what would be lost: what is spared last, of equals the newest first,
// which has least to lose.
func compareUnits(a, b *unit) int {
	return cmp.Or(compareBools(a.spared, b.spared), cmp.Compare(a.rank, b.rank), cmp.Compare(b.attempts[0].AssignedAt, a.attempts[0].AssignedAt))
}

// compareBools orders no before yes.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rank orders what each job would lose for a newcomer.
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
		return -int64(u.attempts[0].AssignedAt)
	case leastProgress:
		for _, a := range u.attempts {
			rank = max(rank, int64(a.Progress*1e9))
		}
		return rank
	case newcomerData:
		for _, a := range u.attempts {
			if l := d.view.Launcher(a.Launcher); l != nil {
				rank -= near[l.Host]
			}
		}
		return rank
	}
	return int64(mix(mix(d.seed^uint64(newcomer)) ^ uint64(u.attempts[0].ID))) //nolint:gosec // any order will do
}

// inputs adds up where the input of a job's ready bundles lies.
func (d *assignment) inputs(j *view.Job) map[string]int64 {
	near, n := map[string]int64{}, 0
	for b := range d.view.ReadyOf(j) {
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
