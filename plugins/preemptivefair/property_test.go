package preemptivefair

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestPreemptionIsBounded runs random workloads and checks every preemption against its own view.
// No job is left with less than its share, half a slot allowed. No job loses slots for one that is
// alone, or that holds its share. In all, a job preempts no more than its largest share, rounded.
// Every job ends.
func TestPreemptionIsBounded(t *testing.T) {
	preempted := 0
	for seed := range uint64(60) {
		o := observer{t: t, seed: seed, taken: map[scheduler.JobID]int{}, first: map[scheduler.JobID]float64{}}
		o.play()
		preempted += o.count
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if preempted < 50 {
		t.Errorf("only %d attempts were preempted: the games show nothing", preempted)
	}
}

type observer struct {
	t     *testing.T
	seed  uint64
	view  view.View
	taken map[scheduler.JobID]int
	first map[scheduler.JobID]float64 // the largest share a job ever had
	count int
}

func (o *observer) play() {
	rng := rand.New(rand.NewPCG(o.seed, 9)) //nolint:gosec // seeded on purpose
	c := cluster.New(o.seed)
	p := newTested()
	about, err := p.Start(scheduler.Config{}, c.Snapshot(), scheduler.Environment{Seed: o.seed})
	if err != nil {
		o.t.Fatal(err)
	}
	c.Started(about)
	for id := scheduler.LauncherID(1); id <= 4; id++ {
		c.Join(id, cluster.Rack(id), 1<<34, slotsOf(1+rng.IntN(4))...)
	}
	jobs := 2 + rng.IntN(8)
	for range jobs {
		spec := cluster.Spec{Name: "random", Layers: []cluster.Layer{
			{Bundles: 1 + rng.IntN(20), Groups: groupsOf(1), Run: time.Duration(1+rng.IntN(30)) * time.Second},
			{Bundles: 1 + rng.IntN(3), Groups: groupsOf(1 + rng.IntN(2)), Run: time.Second, After: []int{0}, Shuffles: true},
		}}
		c.After(time.Duration(rng.IntN(60))*time.Second, func() { c.Submit(spec) })
	}
	ended := 0
	for c.Step() {
		r := c.Round()
		if err := o.view.Apply(r); err != nil {
			o.t.Fatal(err)
		}
		for _, e := range r.Events {
			switch e := e.(type) {
			case scheduler.JobFinished:
				ended++
			case scheduler.Outcome:
				if e.Kind == scheduler.DecisionPreempt && e.Accepted {
					o.accepted(e.Preempt)
				}
			}
		}
		d, err := p.AssignTasks(r)
		if err != nil {
			o.t.Fatal(err)
		}
		o.judge(d)
		c.Apply(r.Number, d)
	}
	if len(c.Faults) > 0 || ended != jobs {
		o.t.Errorf("faults %v, %d of %d jobs ended", c.Faults, ended, jobs)
	}
}

func groupsOf(n int) []cluster.GroupSpec {
	all := make([]cluster.GroupSpec, n)
	for i := range all {
		all[i] = cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1}
	}
	return all
}

// judge checks a round's preemptions, one slot for each attempt.
func (o *observer) judge(d scheduler.Decisions) {
	total := 0
	for _, l := range o.view.Launchers() {
		total += l.Total(scheduler.DefaultKind)
	}
	share := float64(total) / float64(max(len(o.view.Jobs()), 1))
	held := map[scheduler.JobID]int{}
	for _, j := range o.view.Jobs() {
		o.first[j.ID()] = max(o.first[j.ID()], share)
		for _, a := range j.Attempts() {
			if a.Leaving == 0 {
				held[j.ID()]++
			}
		}
	}
	for _, x := range d.Preempt {
		if len(o.view.Jobs()) < 2 || float64(held[x.For]) >= share+0.5 {
			o.t.Errorf("preempts for %s, which has %d slots of a share of %.1f among %d jobs", x.For, held[x.For], share, len(o.view.Jobs()))
		}
		for _, id := range x.Victims {
			from := o.view.Attempt(id).Job().ID()
			held[from]--
			if from == x.For || float64(held[from]) < share-0.5 {
				o.t.Errorf("%s is left with %d slots of a share of %.1f, for %s", from, held[from], share, x.For)
			}
		}
	}
}

func (o *observer) accepted(x scheduler.Preempt) {
	o.taken[x.For] += len(x.Victims)
	o.count += len(x.Victims)
	// A first bundle of two groups may be more than the share.
	if got := o.taken[x.For]; float64(got) > max(2, o.first[x.For]+0.5) {
		o.t.Errorf("%d slots were taken for %s, its share was at most %.1f", got, x.For, o.first[x.For])
	}
}
