package resources

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gang is a bundle of a test: all of its groups need the same.
type gang struct {
	id     scheduler.BundleID
	job    scheduler.JobID
	width  int
	demand Request
}

func (g gang) ID() scheduler.BundleID { return g.id }
func (g gang) JobID() scheduler.JobID { return g.job }
func (g gang) Width() int             { return g.width }
func (g gang) Request(int) Request    { return g.demand }

func mapSlots(n int, memory int64) Request { return Request{Kind: "map", Slots: n, Memory: memory} }

// cluster returns resources with launchers of so many map slots, and ten bytes for each slot.
func cluster(slots ...int) (*Resources, []*Launcher) {
	c := New()
	var list []*Launcher
	for i, n := range slots {
		l := &Launcher{ID: scheduler.LauncherID(i + 1), Name: fmt.Sprintf("l%d", i+1)}
		c.Launchers.Add(l)
		c.Join(l, 1, Joining{Slots: Slots{{Kind: "map", Count: n}}, Memory: int64(10 * n)})
		list = append(list, l)
	}
	return c, list
}

func TestSizesNeverLookAlike(t *testing.T) {
	for n, want := range map[int64]string{
		256 << 20: "256 MiB", 7680 << 20: "7.5 GiB", 0: "0 B",
		256<<20 + 1: "256 MiB (268435457 bytes)", 1537 << 20: "1.5 GiB (1611661312 bytes)",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A gang takes slots on all of its launchers or on none, from free and from its reserved ones. If
// slots are missing, it returns what.
func TestAGangTakesAllOrNothing(t *testing.T) {
	c, l := cluster(2, 1)
	victim := Allocation{Request: mapSlots(1, 10), HasSlots: true}
	c.Allocate(gang{id: 1, job: 1, width: 1, demand: victim.Request}, l[:1])
	c.Reservations.AddVictim(c.Reservations.Reserve(Reservation{ID: 1, Job: 1, Expires: 100}), &victim)
	c.ReleaseAllOf(l[0], &victim)
	c.Reservations.VictimDone(&victim)
	before := l[0].Offer()
	g := gang{id: 7, job: 1, width: 2, demand: mapSlots(2, 20)}
	if why, want := c.Allocate(g, l), "group 1 of bundle-7 needs 2 map slots and 20 B of memory, and launcher 2 (l2) has 1 and 10 B for it"; why != want {
		t.Errorf("told: %s\nwant: %s", why, want)
	}
	if got := l[0].Offer(); !sameOffer(got, before) || len(got.Reserved) != 1 || got.Memory != 10 {
		t.Errorf("the first launcher offers %v, before it was %v", got, before)
	}
}

// The slots that a victim frees are reserved for the bundle that it was stopped for, and for no
// other of its job. If that bundle may not start any more, they are free for all.
func TestAReservationIsForItsBundle(t *testing.T) {
	c, l := cluster(1)
	victim := Allocation{Request: mapSlots(1, 10), HasSlots: true}
	if why := c.Allocate(gang{id: 1, job: 1, width: 1, demand: victim.Request}, l); why != "" {
		t.Fatal(why)
	}
	r := c.Reservations.Reserve(Reservation{ID: 1, Job: 2, Bundle: 5, Expires: 100})
	c.Reservations.AddVictim(r, &victim)
	if !c.Reservations.BeingFreed(5) || c.Reservations.BeingFreed(6) {
		t.Error("a slot is being freed for bundle 5, and for no other")
	}
	c.ReleaseAllOf(l[0], &victim)
	c.Reservations.VictimDone(&victim)
	own, other := gang{id: 5, job: 2, width: 1, demand: victim.Request}, gang{id: 6, job: 2, width: 1, demand: victim.Request}
	any := func(*Launcher) bool { return true }
	if c.Launchers.Fits(other, nil, nil, any) || !c.Launchers.Fits(own, nil, nil, any) {
		t.Error("the slot is for bundle 5 alone")
	}
	if got := l[0].Offer().Reserved; !slices.Equal(got, []scheduler.Reservation{{Job: 2, Bundle: 5, Kind: "map", Slots: 1, Memory: 10}}) {
		t.Errorf("the policy is told of %v", got)
	}
	c.Reservations.ReleaseFor(own, 1, 0)
	if !c.Launchers.Fits(other, nil, nil, any) || c.Reservations.Len() != 0 {
		t.Error("the slot is for all when bundle 5 has no use for it")
	}
}

// vote returns the vote of a job that has a user of its own.
func vote(job scheduler.JobID) Vote { return Vote{Job: job, User: job.String()} }

// TestAUsersProgramHasOneVote: jobs of one user that run one program count once, until they succeed
// elsewhere. The votes that are kept are bounded.
func TestAUsersProgramHasOneVote(t *testing.T) {
	limits := ExclusionLimits{Jobs: 3, SharePercent: 50}
	for _, c := range []struct {
		name  string
		votes []Vote
		want  bool
	}{
		{"one user's program", []Vote{{1, "ann", "p", false}, {2, "ann", "p", false}, {3, "ann", "p", false}, {4, "ann", "p", false}}, false},
		{"two users' program", []Vote{{1, "ann", "p", false}, {2, "ann", "p", false}, {3, "bob", "p", false}}, false},
		{"three users", []Vote{{1, "ann", "p", false}, {2, "bob", "p", false}, {3, "eve", "p", false}}, true},
		{"three programs", []Vote{{1, "ann", "p", false}, {2, "ann", "q", false}, {3, "ann", "r", false}}, true},
	} {
		w, l := cluster(1, 1)
		got := false
		for _, v := range c.votes {
			got = w.Exclusions.VoteAgainst(l[0], v, 9, limits)
		}
		if got != c.want {
			t.Errorf("%s: the site avoids the launcher: %t", c.name, got)
		}
	}
	c, l := cluster(1, 1)
	for job := scheduler.JobID(1); job <= 4; job++ {
		c.Exclusions.VoteAgainst(l[0], Vote{Job: job, User: "ann", Program: "p"}, 9, limits)
	}
	for i, want := range []int{0, 1, 0, 0} { // two by themselves, and the others together
		if got := c.Exclusions.ConfirmVotes(scheduler.JobID(i+1), 9, limits); len(got) != want {
			t.Errorf("job %d succeeded elsewhere: %d launchers are avoided, want %d", i+1, len(got), want)
		}
	}
	if jobs, _ := l[0].Exclusion(); len(jobs) != 4 {
		t.Errorf("it is avoided for %v", jobs)
	}
	c, l = cluster(1, 1)
	c.Exclusions.VoteAgainst(l[0], Vote{Job: 1, User: "bob"}, 9, limits)
	for job := scheduler.JobID(2); job <= 3*votesMax; job++ {
		c.Exclusions.VoteAgainst(l[0], Vote{Job: job, User: "ann"}, 9, limits)
	}
	if n := len(l[0].excludedBy); n != votesMax || l[0].excludedBy[0].User != "bob" {
		t.Errorf("%d votes are kept, the first of %s", n, l[0].excludedBy[0].User)
	}
}

// The site excludes a launcher that enough jobs avoid, but never so many launchers that too few are
// left.
func TestNotAllAreAvoided(t *testing.T) {
	c, l := cluster(1, 1, 1, 1)
	limits := ExclusionLimits{Jobs: 2, SharePercent: 25}
	for i, want := range []bool{false, true, false} { // by the first job, the second, the third
		if got := c.Exclusions.VoteAgainst(l[0], vote(scheduler.JobID(i+1)), 9, limits); got != want {
			t.Errorf("job %d avoids it, and the site from now on: %t", i+1, got)
		}
	}
	c.Exclusions.VoteAgainst(l[1], vote(1), 9, limits)
	if c.Exclusions.VoteAgainst(l[1], vote(2), 9, limits) {
		t.Error("half of the launchers are avoided")
	}
	if c.Exclusions.ReadmitDue(l[0].ID, 8) {
		t.Error("it is free before its time")
	}
	c.Exclusions.ReadmitDue(l[0].ID, 9)
	if !l[0].Usable() || !c.Exclusions.VoteAgainst(l[1], vote(3), 9, limits) {
		t.Error("the next is avoided when the first no longer is")
	}
}

// world is resources in a random game, with the holdings that their owner would keep.
type world struct {
	c    *Resources
	all  []*Launcher
	held map[*Launcher][]*Allocation
	now  scheduler.Time
	last uint64 // reservation
}

func (w *world) holdings(id scheduler.LauncherID) iter.Seq[*Allocation] {
	return slices.Values(w.held[w.all[id-1]])
}

func (w *world) up(t *rapid.T) *Launcher {
	var list []*Launcher
	for _, l := range w.all {
		if l.Up {
			list = append(list, l)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(t, "launcher")
}

// some draws a holding on a launcher that has its slots, or one that does not.
func (w *world) some(t *rapid.T, slots bool) (*Launcher, *Allocation) {
	for _, l := range w.all {
		for _, h := range w.held[l] {
			if h.HasSlots == slots && rapid.Bool().Draw(t, "this") {
				return l, h
			}
		}
	}
	return nil, nil
}

func (w *world) end(l *Launcher, h *Allocation) {
	w.c.ReleaseAllOf(l, h)
	w.c.Reservations.VictimDone(h)
	w.held[l] = slices.DeleteFunc(w.held[l], func(x *Allocation) bool { return x == h })
}

// step makes one random move.
func (w *world) step(t *rapid.T) {
	switch rapid.IntRange(0, 12).Draw(t, "do") {
	case 0, 1, 2:
		w.launch(t)
	case 3, 4:
		if l, h := w.some(t, true); h != nil {
			w.end(l, h)
		}
	case 5:
		if l, h := w.some(t, true); h != nil {
			w.c.ReleaseSlots(l, h)
			w.c.Reservations.VictimDone(h)
		}
	case 6:
		w.goOn(t)
	case 7:
		w.preempt(t)
	case 8:
		if l := w.up(t); l != nil {
			w.c.Lose(l)
			for _, h := range slices.Clone(w.held[l]) {
				w.end(l, h)
			}
		}
	case 9:
		for _, l := range w.all {
			if !l.Up {
				w.c.Join(l, w.now, Joining{
					Slots: Slots{{Kind: "map", Count: 3}, {Kind: "reduce", Count: 2}}, Memory: 50, Swap: int64(rapid.SampledFrom([]int{0, 0, 7, 20, 1000}).Draw(t, "swap")),
					Resources: counted(t, 5), SuspensionFrees: [][]scheduler.ResourceKind{nil, {"license"}, {"gpu", "license"}}[rapid.IntRange(0, 2).Draw(t, "frees")],
				})
			}
		}
	case 10:
		l := rapid.SampledFrom(w.all).Draw(t, "drained")
		w.c.Drain(l, !l.Draining)
	case 11:
		if l := w.up(t); l != nil && !w.c.Exclusions.VoteAgainst(l, vote(scheduler.JobID(rapid.IntRange(1, 3).Draw(t, "by"))), 0, ExclusionLimits{2, 50}) {
			w.c.Exclusions.ReadmitDue(l.ID, 0)
		}
	case 12:
		w.now += scheduler.Time(rapid.IntRange(1, 30).Draw(t, "pass"))
		for id := range w.last {
			w.c.Reservations.Expire(id+1, w.now)
		}
	}
}

func (w *world) launch(t *rapid.T) {
	g := gang{
		id: scheduler.BundleID(rapid.IntRange(1, 6).Draw(t, "bundle")), width: rapid.IntRange(1, 2).Draw(t, "width"),
		demand: Request{rapid.SampledFrom([]string{"map", "reduce"}).Draw(t, "kind"), rapid.IntRange(1, 2).Draw(t, "slots"), int64(rapid.IntRange(0, 30).Draw(t, "memory")), counted(t, 2)},
	}
	g.job = scheduler.JobID(g.id%3 + 1)
	var where []*Launcher
	for range g.width {
		l := w.up(t)
		if l == nil {
			return
		}
		where = append(where, l)
	}
	fits := w.c.Launchers.Fits(g, where, nil, func(*Launcher) bool { return true })
	if took := w.c.Allocate(g, where) == ""; took != fits {
		t.Fatalf("it fits: %t, and it was taken: %t", fits, took)
	}
	if fits {
		for _, l := range where {
			w.held[l] = append(w.held[l], &Allocation{Request: g.demand, HasSlots: true})
		}
		w.c.Reservations.ReleaseFor(g, rapid.IntRange(0, 1).Draw(t, "ready"), 0)
	}
}

// goOn lets suspended holdings take their slots again. That succeeds if free slots and those
// reserved for the bundle alone are enough, the latter used first, and if memory and swap have room
// for all running and suspended attempts.
func (w *world) goOn(t *rapid.T) {
	b := scheduler.BundleID(rapid.IntRange(1, 6).Draw(t, "bundle"))
	var list []AllocationOn
	kept, free, needed := map[place]int{}, map[place]int{}, map[place]int{}
	memory := map[*Launcher]int64{} // of the attempts to be resumed
	resources := map[*Launcher]scheduler.Resources{}
	for range 2 {
		l, h := w.some(t, false)
		if h == nil || slices.ContainsFunc(list, func(x AllocationOn) bool { return x.Allocation == h }) {
			continue
		}
		list = append(list, AllocationOn{l, h})
		at := place{l, h.Kind}
		needed[at] += h.Slots
		memory[l] += h.Memory
		resources[l] = resources[l].Plus(h.Resources.FreedBySuspension(l.suspensionFrees))
		kept[at], free[at] = 0, l.Free().Of(h.Kind)
		for _, r := range l.Offer().Reserved {
			if r.Bundle == b && r.Kind == h.Kind {
				kept[at] += r.Slots
			}
		}
	}
	fits := true
	for at, n := range needed {
		fits = fits && kept[at]+free[at] >= n
	}
	for l, n := range memory {
		fits = fits && w.fitsMemory(l, n, b) && w.fitsResources(l, resources[l], b)
	}
	if could, took := w.c.Launchers.FitsForResume(b, list, nil), w.c.TakeForResume(b, list) == ""; could != fits || took != fits {
		t.Fatalf("%v is kept for %v, %v is free, and %v needed: it fits: %t, and it was taken: %t", kept, b, free, needed, could, took)
	}
	for at, n := range needed {
		if want := free[at] - max(0, n-kept[at]); fits && at.on.Free().Of(at.kind) != want {
			t.Fatalf("%v was kept for %v, %v was free, %v needed, and %d are free now, not %d", kept, b, free, needed, at.on.Free().Of(at.kind), want)
		}
	}
	if fits && len(list) > 0 {
		w.c.Reservations.ReleaseForBundle(b)
		for _, l := range w.all {
			if l.ReservedAlone(b, "map")+l.ReservedAlone(b, "reduce") > 0 {
				t.Fatalf("something is kept for %v that goes on", b)
			}
		}
	}
}

// fitsMemory says whether a launcher has the memory when so much of the suspended memory runs
// again, with that reserved for the bundle alone.
func (w *world) fitsMemory(l *Launcher, again int64, b scheduler.BundleID) bool {
	running, suspended := again, -again
	for _, h := range w.held[l] {
		if h.HasSlots {
			running += h.Memory
		} else {
			suspended += h.Memory
		}
	}
	for _, r := range l.Offer().Reserved {
		if r.Bundle != b {
			running += r.Memory
		}
	}
	return running+max(suspended-l.Swap(), 0) <= l.Memory()
}

// fitsResources says whether a launcher has the countable resources when so much that suspension
// freed is held again.
func (w *world) fitsResources(l *Launcher, again scheduler.Resources, b scheduler.BundleID) bool {
	sum := again
	for _, h := range w.held[l] {
		if h.HasSlots {
			sum = sum.Plus(h.Resources)
		} else {
			sum = sum.Plus(h.Resources.Minus(h.Resources.FreedBySuspension(l.suspensionFrees)))
		}
	}
	for _, r := range l.Offer().Reserved {
		if r.Bundle != b {
			sum = sum.Plus(r.Resources)
		}
	}
	return l.Countable().Covers(sum)
}

// counted draws countable resources, of each kind at most so many.
func counted(t *rapid.T, most int) scheduler.Resources {
	return scheduler.NewResources(
		scheduler.ResourceCount{Kind: "gpu", Count: rapid.IntRange(0, most).Draw(t, "gpu")},
		scheduler.ResourceCount{Kind: "license", Count: rapid.IntRange(0, most).Draw(t, "license")},
	)
}

// place is a launcher and a kind of slot.
type place struct {
	on   *Launcher
	kind string
}

func (w *world) preempt(t *rapid.T) {
	w.last++
	job := scheduler.JobID(rapid.IntRange(1, 3).Draw(t, "for"))
	r := w.c.Reservations.Reserve(Reservation{ID: w.last, Job: job, Expires: w.now + 40})
	if rapid.Bool().Draw(t, "one") {
		r.Bundle = scheduler.BundleID(job) + 2
	}
	for range 2 {
		if _, h := w.some(t, rapid.IntRange(0, 3).Draw(t, "suspended") > 0); h != nil {
			w.c.Reservations.AddVictim(r, h)
		}
	}
	w.c.Reservations.ReleaseIfEmpty(r)
}

// Whatever is taken, released, reserved, drained and lost: no slot is lost or doubled, and a state
// restored from a checkpoint continues like the original.
func TestNothingIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{held: map[*Launcher][]*Allocation{}}
		w.c, w.all = cluster(2, 3, 1)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.step(t)
			if err := w.c.Check(w.now, w.holdings); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 9).Draw(t, "read back") == 0 {
				w.readBack(t)
			}
		}
		w.offersAreTold(t)
	})
}

// offersAreTold takes all changed offers, and then finds none, as nothing changes.
func (w *world) offersAreTold(t *rapid.T) {
	w.c.Offers.Send(0, false, nil)
	for _, l := range w.all {
		if l.Up && !sameOffer(l.LastOffer(), l.Offer()) {
			t.Fatalf("the policy was told %v, and it is %v", l.LastOffer(), l.Offer())
		}
	}
	if list := w.c.Offers.Send(0, false, nil); len(list) > 0 || w.c.Offers.AnyChanged() {
		t.Fatalf("nothing changed, and this is told: %v", list)
	}
}

// readBack continues with a state restored from a checkpoint.
func (w *world) readBack(t *rapid.T) {
	code := func(c *Resources, all []*Launcher) func(*checkpoint.Codec) {
		return func(x *checkpoint.Codec) {
			for _, l := range all {
				l.CodeName(x)
				l.CodeHas(x)
				l.CodeOffer(x)
				if x.Reading {
					c.Launchers.Adopt(l)
				}
			}
			c.Reservations.Code(x)
			c.Offers.CodeChanged(x)
			c.Offers.CodeFreedAndTopology(x)
			c.Launchers.CodeLoads(x)
		}
	}
	back, launchers := New(), make([]*Launcher, len(w.all))
	for i, l := range w.all {
		launchers[i] = &Launcher{ID: l.ID}
	}
	frozen := w.c.Clone(func(id scheduler.LauncherID) *Launcher {
		l := w.all[id-1].Clone()
		return &l
	})
	bytes := codectest.Bytes(t, code(frozen, w.all))
	codectest.Read(t, bytes, code(back, launchers))
	held := map[*Launcher][]*Allocation{}
	for i, l := range launchers {
		held[l] = w.held[w.all[i]]
		for _, h := range held[l] {
			l.Adopt(h)
		}
	}
	w.c, w.all, w.held = back, launchers, held
}
