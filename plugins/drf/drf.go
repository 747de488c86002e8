package drf

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Options are the policy's settings.
type Options struct {
	CollectAfter time.Duration          `yaml:"collect-after"`
	Pools        map[string]PoolOptions `yaml:"pools"`
}

// PoolOptions are the settings of a pool.
type PoolOptions struct {
	Weight float64 `yaml:"weight"` // 0, as when left out: 1
}

// Bounds of the settings.
const (
	poolsMax    = 10_000
	weightMax   = 1e6
	defaultPool = "default" // of jobs that name none
)

func (o *Options) weight(pool string) float64 { return cmp.Or(o.Pools[pool].Weight, 1) }

type (
	pass = policy.Pass[Options, state]
	look = policy.Look[Options, state]
)

var drf = policy.Policy[Options, state]{
	Name: "drf", Version: "1",
	Options: Options{CollectAfter: settings.CollectAfterDefault},
	Check:   check,
	Start: func(p *pass) error {
		o := p.Options()
		p.State().rebuild(p.View(), &o)
		return nil
	},
	Assign: assign, Explain: explain, Status: status, Ahead: true,
}

// New returns a policy of dominant resource fairness.
func New() scheduler.TaskScheduler { return drf.New() }

func check(o *Options) error {
	if o.CollectAfter < 0 {
		return policy.WrongSetting("collect-after", "it is %v: use 0s for never, or more", o.CollectAfter)
	}
	if len(o.Pools) > poolsMax {
		return policy.WrongSetting("pools", "%d pools, at most %d are possible: leave out those of weight 1", len(o.Pools), poolsMax)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Pools)) {
		p := o.Pools[name]
		if math.IsNaN(p.Weight) || p.Weight < 0 || p.Weight > weightMax {
			return policy.WrongSetting("pools", "pool %q has weight %v: use more than 0, up to %g", name, p.Weight, weightMax)
		}
	}
	return nil
}

// turn is a pool that has ready work, in one pass.
type turn struct {
	*pool
	jobs  []*view.Job // that may still find room, in order
	first *job        // the first of jobs, once it was asked for a bundle
	share float64     // of the pool, with what this pass launched
}

// job is the first job of a turn.
type job struct {
	*view.Job
	all      []scheduler.SlotKind // of which slots are free
	kinds    []scheduler.SlotKind // the rest of them
	launched bool

	next func() (*view.Bundle, bool) // launches the next bundle that fits; nil for a plain job
	stop func()
	// Of a plain job: whether the walk of the first of kinds began, and how many did not fit.
	walks  bool
	walk   view.Walk
	misses int
}

// assignment is the work of one pass.
type assignment struct {
	*pass
	kept    gangs.Holdback
	keptFor *view.Bundle
}

func assign(p *pass) error {
	s := p.State()
	s.apply(p)
	a := assignment{pass: p}
	open := a.turns()
	for {
		if !a.anyOpen() { // only walks that began still have something to do: they end
			open = slices.DeleteFunc(open, func(t turn) bool { return t.first == nil })
		}
		if len(open) == 0 {
			break
		}
		if i := lowest(open); !open[i].launch(&a) {
			open = slices.Delete(open, i, i+1)
		}
	}
	if a.keptFor != nil {
		for _, j := range p.Jobs() {
			if j != a.keptFor.Job && j.LaunchableCount() > 0 {
				p.Waits(j, scheduler.WaitHeld, "free slots and resources are collected for %v of %s", a.keptFor.ID, a.keptFor.Job.ID())
			}
		}
	}
	a.kept.Release(p.View())
	clear(s.turns[:cap(s.turns)])
	return nil
}

// turns lists the pools with ready work, in order of name.
func (a *assignment) turns() []turn {
	s := a.State()
	s.turns = s.turns[:0]
	for _, p := range s.order {
		if p.trim(); len(p.waiting) > 0 {
			s.turns = append(s.turns, turn{pool: p, jobs: p.waiting, share: p.shareOf(&s.total)})
		}
	}
	return s.turns
}

// anyOpen reports whether a slot is free for any job, or reserved for one.
func (a *assignment) anyOpen() bool {
	c := &a.View().Capacity
	return c.AnyReserved() || slices.ContainsFunc(a.State().kinds, func(k scheduler.SlotKind) bool { return c.FreeSlots(k) > 0 })
}

// lowest returns the index of the pool with the lowest share, the first by name of equal ones.
func lowest(open []turn) (at int) {
	least := math.Inf(1)
	for i := range open {
		if open[i].share < least {
			at, least = i, open[i].share
		}
	}
	return at
}

// launch launches one bundle of the pool's first job for which one fits.
func (t *turn) launch(a *assignment) bool {
	for len(t.jobs) > 0 {
		if b, ok := t.launchFirst(a); ok {
			t.count(b, &a.State().total)
			return true
		}
		t.jobs = t.jobs[1:]
	}
	return false
}

// count counts a launch of this pass at once. The state has it when it is accepted.
func (t *turn) count(b *view.Bundle, total *amounts) {
	if !t.planned {
		t.pool = t.plan()
	}
	for i := range b.Groups {
		t.used.add(&b.Groups[i], 1)
	}
	t.known = false
	t.share = t.shareOf(total)
}

// launchFirst launches the first job's next bundle that fits.
func (t *turn) launchFirst(a *assignment) (b *view.Bundle, ok bool) {
	if t.first == nil {
		j := t.jobs[0]
		if j.LaunchableCount() == 0 {
			return nil, false
		}
		a.kept.ResetTries()
		if t.first = t.begin(a, j); t.first == nil {
			return nil, false
		}
	}
	if t.first.next == nil {
		b, ok = a.nextPlain(t.first)
	} else if b, ok = t.first.next(); !ok {
		t.first.stop()
	}
	if !ok {
		t.first = nil
	}
	return b, ok
}

// begin begins the walk of a job's bundles; nil: no slot is free for it. The walk of most jobs has one list for each
// kind: they are plain. Others need a coroutine.
func (t *turn) begin(a *assignment, j *view.Job) *job {
	if t.last == nil {
		t.last = &job{}
	}
	x := t.last
	*x = job{Job: j, kinds: a.open(j, x.all[:0])}
	if x.all = x.kinds; len(x.kinds) == 0 {
		return nil
	}
	if j.GangCount() > 0 || j.Located() || j.ReadyCount() != j.LaunchableCount() {
		x.next, x.stop = iter.Pull(a.launches(x))
	}
	return x
}

// nextPlain launches the next bundle of a plain job that fits.
func (a *assignment) nextPlain(j *job) (*view.Bundle, bool) {
	for ; len(j.kinds) > 0; j.kinds, j.walks, j.misses = j.kinds[1:], false, 0 {
		for b := a.nextBundle(j); b != nil; b = j.walk.Next() {
			if a.start(j, b) {
				return b, true
			}
			if j.misses++; j.misses == locality.MissesMax {
				break
			}
		}
	}
	return nil, false
}

// nextBundle returns the bundle of a plain job to be tried next, of the first of its kinds.
func (a *assignment) nextBundle(j *job) *view.Bundle {
	if j.walks {
		return j.walk.Next()
	}
	for b := range a.Ready(policy.Filter{Job: j.Job, Kind: j.kinds[0]}) {
		j.walks, j.walk = true, j.Launchable(j.kinds[0], b.ID)
		return b
	}
	return nil
}

// start launches a bundle of a job, anywhere or on a launcher. While none of the job fits, it may be time to collect
// slots for it.
func (a *assignment) start(j *job, b *view.Bundle, on ...scheduler.LauncherID) bool {
	if a.Launch(b, on...) {
		j.launched = true
		return true
	}
	if len(on) == 0 && !j.launched && a.kept.Collect(a.View(), b, a.Options().CollectAfter) {
		a.keptFor = b
	}
	return false
}

// launches launches bundles of a job that need some kinds of slots, one by one, as the caller pulls them, while some
// fit.
func (a *assignment) launches(x *job) iter.Seq[*view.Bundle] {
	return func(yield func(*view.Bundle) bool) {
		j := x.Job
		start := func(b *view.Bundle, on ...scheduler.LauncherID) (started, more bool) {
			if !a.start(x, b, on...) {
				return false, true
			}
			return true, yield(b)
		}
		if j.GangCount() > 0 && !each(a.Ready(policy.Filter{Job: j, Gang: true}), start) || !a.near(j, x.kinds, start) {
			return
		}
		for _, kind := range x.kinds {
			if !each(a.Ready(policy.Filter{Job: j, Kind: kind}), start) {
				return
			}
		}
		each(a.Seconds(policy.Filter{Job: j}), start)
	}
}

// open appends the kinds of free slots that the job uses, in order of stage, each once.
func (a *assignment) open(j *view.Job, kinds []scheduler.SlotKind) []scheduler.SlotKind {
	v := a.View()
	reserved := v.Capacity.Reserved(j.ID())
	for i := range j.Info.Stages {
		if kind := j.Info.Stages[i].Kind; (reserved || v.Capacity.FreeSlots(kind) > 0) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// starter launches a bundle, anywhere or on a launcher. It says whether it did, and whether to go on.
type starter func(b *view.Bundle, on ...scheduler.LauncherID) (started, more bool)

// each launches bundles until too many did not fit. It reports whether to go on.
func each(bundles iter.Seq[*view.Bundle], start starter) bool {
	misses := 0
	for b := range bundles {
		started, more := start(b)
		if !more {
			return false
		}
		if !started {
			if misses++; misses == locality.MissesMax {
				return true
			}
		}
	}
	return true
}

// near launches single groups on launchers that hold their input, then in racks that do.
func (a *assignment) near(j *view.Job, kinds []scheduler.SlotKind, start starter) bool {
	if !j.Located() {
		return true
	}
	v := a.View()
	for _, kind := range kinds {
		if first := j.Launchable(kind, 0); first.Next() == nil {
			continue // the walks by host and rack would pass over all work of other kinds
		}
		may := func(b *view.Bundle) bool { return b.Groups[0].Kind == kind }
		on, racks := v.NearRoom(j, kind)
		for _, l := range on {
			at := func(b *view.Bundle, _ ...scheduler.LauncherID) (bool, bool) { return start(b, l.ID) }
			if !each(only(j.ReadyAt(l.Host), may), at) {
				return false
			}
		}
		for _, rack := range racks {
			if !each(only(j.ReadyIn(rack), may), a.inRack(start)) {
				return false
			}
		}
	}
	return true
}

// inRack launches on a launcher in a rack with the bundle's input.
func (a *assignment) inRack(start starter) starter {
	v := a.View()
	return func(b *view.Bundle, _ ...scheduler.LauncherID) (bool, bool) {
		mark := v.Capacity.Mark()
		where, fits := v.FitNear(b, scheduler.RackLocal)
		v.Capacity.Undo(mark) // Launch takes it again
		if !fits {
			return false, true
		}
		return start(b, where...)
	}
}

// only walks the bundles that may start.
func only(bundles iter.Seq[*view.Bundle], may func(*view.Bundle) bool) iter.Seq[*view.Bundle] {
	return func(yield func(*view.Bundle) bool) {
		for b := range bundles {
			if may(b) && !yield(b) {
				return
			}
		}
	}
}

// explain adds the pool's share to the reason of the last pass.
func explain(l look, j *view.Job) scheduler.Explanation {
	x, s, o := l.Explain(j), l.State(), l.Options()
	p := &pool{name: poolOf(j), weight: o.weight(poolOf(j))}
	if known := s.pools[p.name]; known != nil {
		p = known
	}
	x.Detail += fmt.Sprintf("; pool %s has %s", scheduler.Printable(p.name), p.describe(&s.total))
	x.AddFact("pool", p.name)
	share, _ := p.used.dominant(&s.total)
	x.AddFact("share", fmt.Sprintf("%.3f", share/p.weight))
	return x
}
