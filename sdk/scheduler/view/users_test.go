package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// recounted is what a count of everything finds for the users with a limit.
func recounted(v *View) (held map[string]scheduler.Usage, needs map[scheduler.JobID]map[scheduler.Usage]int) {
	held, needs = map[string]scheduler.Usage{}, map[scheduler.JobID]map[scheduler.Usage]int{}
	for _, j := range v.Jobs() {
		if j.UserLimit().IsZero() {
			continue
		}
		for _, a := range j.Attempts() {
			held[j.Info.User] = held[j.Info.User].Plus(a.usage())
		}
		needs[j.ID()] = map[scheduler.Usage]int{}
		for b := range j.launchables() {
			needs[j.ID()][b.need()]++
		}
	}
	return held, needs
}

// allows is the rule in obvious words: no kind that is needed may exceed its bound.
func allows(j *Job, held map[string]scheduler.Usage, need scheduler.Usage) bool {
	limit, sum := j.UserLimit(), held[j.Info.User].Plus(need)
	if limit.Slots > 0 && need.Slots > 0 && sum.Slots > limit.Slots || limit.Memory > 0 && need.Memory > 0 && sum.Memory > limit.Memory {
		return false
	}
	for _, c := range limit.Resources.Counts() {
		if need.Resources.Of(c.Kind) > 0 && sum.Resources.Of(c.Kind) > c.Count {
			return false
		}
	}
	return true
}

func checkUsers(t *testing.T, v *View) {
	t.Helper()
	held, needs := recounted(v)
	for _, j := range v.Jobs() {
		if j.UserHolds() != held[j.Info.User] {
			t.Fatalf("user %s holds %v, counted as %v", j.Info.User, held[j.Info.User], j.UserHolds())
		}
		if want := needs[j.ID()]; !maps.Equal(want, j.launchable.needs) {
			t.Fatalf("%s needs %v, counted as %v", j.ID(), want, j.launchable.needs)
		}
		within := len(needs[j.ID()]) == 0
		for need := range needs[j.ID()] {
			within = within || allows(j, held, need)
		}
		if j.WithinUserLimit() != within {
			t.Fatalf("%s is within its user's limit: %t, and a count of everything says %t", j.ID(), j.WithinUserLimit(), within)
		}
		for b := range j.Launchable("", 0).All() {
			if !allows(j, held, b.need()) {
				t.Fatalf("a walk of %s yields %v, which its user's limit forbids", j.ID(), b.ID)
			}
		}
	}
}

// TestUsersAreCounted plays random histories, in which limits come, change and go, and compares all
// counts for them with a count of everything. A view that starts from a snapshot has the same counts.
func TestUsersAreCounted(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := userGame{t: t, rng: rand.New(rand.NewPCG(seed, 1)), v: &View{}} //nolint:gosec // seeded on purpose
			for n := range scheduler.LauncherID(2) {
				g.tell(scheduler.LauncherJoined{
					Launcher: n + 1, Host: "h", Slots: []scheduler.SlotCount{{Kind: "map", Count: 1000}}, Memory: 1 << 40,
					Resources: scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 1000}, scheduler.ResourceCount{Kind: "cores", Count: 1000}), SuspensionFrees: []scheduler.ResourceKind{"cores"},
				})
			}
			for range 150 {
				g.move()
				g.apply()
				checkUsers(t, g.v)
			}
			again := &View{}
			if err := again.Start(scheduler.Snapshot{Events: g.all}); err != nil {
				t.Fatal(err)
			}
			checkUsers(t, again)
			if got, want := again.World().String(), g.v.World().String(); got != want {
				t.Errorf("a view from the snapshot has\n%s\nand the first one\n%s", got, want)
			}
		})
	}
}

type userGame struct {
	t            *testing.T
	rng          *rand.Rand
	v            *View
	events, all  []scheduler.Event
	round        uint64
	job, attempt uint64
	bundle       uint64
}

func (g *userGame) tell(e scheduler.Event) { g.events = append(g.events, e) }

func (g *userGame) apply() {
	g.round++
	g.all = append(g.all, g.events...)
	apply(g.t, g.v, scheduler.Round{Number: g.round, Events: g.events})
	g.events = nil
}

func (g *userGame) draw(list ...int) scheduler.Resources {
	return scheduler.NewResources(scheduler.ResourceCount{Kind: "cores", Count: g.rng.IntN(list[0])}, scheduler.ResourceCount{Kind: "gpu", Count: g.rng.IntN(list[1])})
}

// move lets something happen.
func (g *userGame) move() {
	user := fmt.Sprint("u", g.rng.IntN(3))
	if g.job < 3 || g.rng.IntN(12) == 0 {
		g.job++
		g.tell(scheduler.JobSubmitted{Job: scheduler.Job{ID: scheduler.JobID(g.job), User: user, Stages: []scheduler.Stage{{Groups: 1000, Kind: "map", Slots: 1}}}})
		return
	}
	if g.rng.IntN(10) == 0 {
		limit := scheduler.UserLimit{Slots: g.rng.IntN(8)}
		if g.rng.IntN(2) == 0 {
			limit.Memory = g.rng.Int64N(20)
		}
		if g.rng.IntN(2) == 0 {
			limit.Resources = g.draw(6, 4)
		}
		g.tell(scheduler.UserLimitSet{User: user, Limit: limit})
		return
	}
	j := g.v.Jobs()[g.rng.IntN(len(g.v.Jobs()))]
	if g.rng.IntN(3) == 0 {
		g.bundle++
		var groups []scheduler.Group
		for range 1 + g.rng.IntN(3) {
			groups = append(groups, scheduler.Group{Kind: "map", Slots: 1 + g.rng.IntN(3), Memory: g.rng.Int64N(4), Resources: g.draw(3, 2)})
		}
		g.tell(scheduler.BundleReady{Job: j.ID(), Bundle: scheduler.BundleID(g.bundle), Groups: groups})
		return
	}
	if g.rng.IntN(3) == 0 {
		g.launch(j)
		return
	}
	g.change(j)
}

func (g *userGame) launch(j *Job) {
	for b := range j.launchables() {
		o := scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b.ID}}
		for range b.Groups {
			g.attempt++
			o.Attempts, o.Launch.Launchers = append(o.Attempts, scheduler.AttemptID(g.attempt)), append(o.Launch.Launchers, scheduler.LauncherID(1+g.rng.IntN(2)))
		}
		g.tell(o)
		for i, id := range o.Attempts {
			g.tell(scheduler.AttemptStarted{Attempt: id, Job: j.ID(), Bundle: b.ID, Group: i, Launcher: o.Launch.Launchers[i], Speculative: b.State == Launched})
		}
		return
	}
}

// change changes an attempt or a bundle of a job.
func (g *userGame) change(j *Job) {
	list := j.Attempts()
	if len(list) == 0 {
		for b := range j.launchables() {
			g.tell(scheduler.BundleWithdrawn{Job: j.ID(), Bundle: b.ID})
			return
		}
		return
	}
	a := list[g.rng.IntN(len(list))]
	switch n := g.rng.IntN(6); {
	case n == 0 && a.Bundle.State == Launched && !a.Bundle.SpeculationOffered && len(a.Bundle.Attempts()) == 1 && len(a.Bundle.Groups) == 1:
		more := []scheduler.Group{{Kind: "map", Slots: 1 + g.rng.IntN(3), Resources: g.draw(3, 2)}}
		g.tell(scheduler.SpeculationOffered{Job: j.ID(), Bundle: a.Bundle.ID, Groups: more})
	case n < 3 && a.State == Running:
		g.tell(scheduler.AttemptSuspended{Attempt: a.ID})
	case n < 3 && a.State == Suspended && a.Resuming:
		g.tell(scheduler.AttemptResumed{Attempt: a.ID})
	case n < 3 && a.State == Suspended:
		g.tell(scheduler.Outcome{Kind: scheduler.DecisionResume, Accepted: true, Attempts: []scheduler.AttemptID{a.ID}})
	case n == 3:
		g.tell(scheduler.AttemptEnded{Attempt: a.ID, Outcome: scheduler.Lost})
	case n == 4:
		g.tell(scheduler.AttemptEnded{Attempt: a.ID, Outcome: scheduler.Finished})
	}
}

// TestTakenForUsers: what a policy takes tentatively counts for the limit, for bundles of all jobs of
// the user, and Undo gives it back.
func TestTakenForUsers(t *testing.T) {
	v := &View{}
	two := []scheduler.Group{{Kind: "map", Slots: 2}}
	apply(t, v, scheduler.Round{
		Number: 1,
		Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Host: "h1", Slots: []scheduler.SlotCount{{Kind: "map", Count: 9}}},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, User: "ann", Stages: make([]scheduler.Stage, 1)}},
			scheduler.UserLimitSet{User: "ann", Limit: scheduler.UserLimit{Slots: 5}},
			scheduler.BundleReady{Job: 1, Bundle: 1, Groups: two},
			scheduler.BundleReady{Job: 1, Bundle: 2, Groups: two},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, User: "ann", Stages: make([]scheduler.Stage, 1)}},
			scheduler.UserLimitSet{User: "ann", Limit: scheduler.UserLimit{Slots: 5}},
			scheduler.BundleReady{Job: 2, Bundle: 3, Groups: two},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 3, User: "bob", Stages: make([]scheduler.Stage, 1)}},
			scheduler.BundleReady{Job: 3, Bundle: 4, Groups: two},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "map", Count: 9}}}},
	})
	fits := func(b scheduler.BundleID, want bool) {
		t.Helper()
		if _, got := v.Fit(v.Bundle(b)); got != want {
			t.Errorf("bundle %d fits: %t, want %t", b, got, want)
		}
	}
	fits(1, true)
	mark := v.Capacity.Mark()
	fits(2, true)
	fits(3, false)
	fits(4, true)
	if v.Job(2).WithinUserLimit() || v.Job(2).AtUserLimit() != "user ann is at the limit of 5 slots (core.userLimits)" {
		t.Errorf("job-2 is told %q", v.Job(2).AtUserLimit())
	}
	if _, empty := v.FitIfEmpty(v.Bundle(3)); !empty {
		t.Error("it does not fit if nothing runs")
	}
	for b := range v.Ready() {
		if b.Job.Info.User == "ann" {
			t.Errorf("a walk yields %v of a user at the limit", b.ID)
		}
	}
	v.Capacity.Undo(mark)
	fits(3, true)
	fits(2, false)
	apply(t, v, scheduler.Round{Number: 2, Events: []scheduler.Event{scheduler.UserLimitSet{User: "ann"}}})
	for _, b := range []scheduler.BundleID{1, 2, 3} {
		fits(b, true)
	}
}
