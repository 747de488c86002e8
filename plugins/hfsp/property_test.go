package hfsp

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestWhatHoldsInEveryRound runs random workloads and checks every round against its own view. No
// slot stays free that a ready or suspended launch could use. Nothing is launched or resumed twice.
// No stage is preempted below its entitlement. Samples are not killed. Suspensions on a launcher
// stay within their bound. Every job ends.
func TestWhatHoldsInEveryRound(t *testing.T) {
	tally := cluster.Tally{}
	for seed := range uint64(20 * *seeds) { //nolint:gosec // a small number
		o := observer{t: t, seed: seed}
		o.play()
		tally.Add(o.tally)
		if t.Failed() {
			t.Fatalf("seed %d, %q", seed, o.settings())
		}
	}
	if tally.Suspensions < 50 || tally.Victims-tally.Suspensions < 20 || tally.Resumptions < 50 {
		t.Errorf("the games show little: %+v", tally)
	}
}

const observedSuspendedMax = 2

type observer struct {
	t     *testing.T
	seed  uint64
	view  view.View
	p     Policy
	tally cluster.Tally
}

func (o *observer) settings() string {
	s := "locality: {mode: nearest}\ncollect-after: 0s\ntask-default: 2s\nsuspended-max: 2\n"
	switch o.seed % 4 {
	case 0:
		return s + "preempt-maps: suspend\n"
	case 1:
		return s + "preempt-maps: kill\npreempt-reduces: kill\nsamples: 2\n"
	case 2:
		return s + "preempt-maps: kill\nsamples: 1\nlate: plain\n"
	}
	return s + "preempt-maps: suspend\nxi: .inf\ntraining-part: 0.4\n"
}

func (o *observer) play() {
	rng := rand.New(rand.NewPCG(o.seed, 9)) //nolint:gosec // seeded on purpose
	c := cluster.New(o.seed)
	about, err := o.p.Start(scheduler.Config{Text: []byte(o.settings())}, c.Snapshot(), policytest.Environment())
	if err != nil {
		o.t.Fatal(err)
	}
	c.Started(about)
	for id := scheduler.LauncherID(1); id <= 4; id++ {
		c.Join(id, cluster.Rack(id), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1 + rng.IntN(4)})
	}
	jobs := 2 + rng.IntN(8)
	for range jobs {
		m, r := maps(1+rng.IntN(20), time.Duration(1+rng.IntN(90))*time.Second), reduces(1+rng.IntN(6), time.Duration(1+rng.IntN(120))*time.Second)
		if rng.IntN(4) == 0 {
			m.Groups[0].Slots = 1 // each launcher has one at least
			r.Groups = append(r.Groups, r.Groups[0])
		}
		r.After = []int{0}
		c.After(time.Duration(rng.IntN(90))*time.Second, func() { c.Submit(cluster.Spec{Name: "random", Layers: []cluster.Layer{m, r}}) })
	}
	ended := 0
	for c.Step() {
		r := c.Round()
		if err := o.view.Apply(r); err != nil {
			o.t.Fatal(err)
		}
		for _, e := range r.Events {
			if _, ok := e.(scheduler.JobFinished); ok {
				ended++
			}
		}
		d, err := o.p.AssignTasks(r)
		if err != nil {
			o.t.Fatal(err)
		}
		o.judge(d)
		c.Apply(r.Number, d)
	}
	o.tally = c.Tally
	if len(c.Faults) > 0 || ended != jobs {
		o.t.Errorf("faults %v, %d of %d jobs ended", c.Faults, ended, jobs)
	}
}

// judge checks a round's decisions.
func (o *observer) judge(d scheduler.Decisions) {
	once := map[any]bool{}
	for _, x := range d.Resume {
		a := o.view.Attempt(x.Attempt)
		if once[a.Bundle.ID] || !o.view.Capacity.TakeForResume(a) {
			o.t.Errorf("attempt %d is resumed and can't be", x.Attempt)
		}
		once[a.Bundle.ID] = true
	}
	for _, x := range d.Launch {
		b := o.view.Bundle(x.Bundle)
		if once[b.ID] || !b.Launchable() {
			o.t.Errorf("%v is launched twice, or is not ready", b.ID)
		}
		once[b.ID] = true
		for i, id := range x.Launchers {
			if !o.view.Capacity.TakeFor(o.view.Launcher(id), b, &b.Groups[i]) {
				o.t.Errorf("%v does not fit on launcher %d", b.ID, id)
			}
		}
	}
	for b := range o.view.Launchable() {
		mark := o.view.Capacity.Mark()
		if where, ok := o.view.Fit(b); ok && !once[b.ID] {
			o.t.Errorf("%v of %s could run on %v, and does not", b.ID, b.Job.ID(), where)
		}
		o.view.Capacity.Undo(mark)
	}
	for _, j := range o.view.Jobs() {
		for _, a := range j.Attempts() {
			mark := o.view.Capacity.Mark()
			if a.State == view.Suspended && !once[a.Bundle.ID] && o.view.Capacity.TakeForResume(a) {
				o.t.Errorf("attempt %d of %s could go on, and does not", a.ID, j.ID())
			}
			o.view.Capacity.Undo(mark)
		}
	}
	o.victims(d)
}

// victims checks the preempted attempts.
func (o *observer) victims(d scheduler.Decisions) {
	more := map[scheduler.LauncherID]int{}
	lost := map[*stage]int{}
	for _, x := range d.Preempt {
		for _, id := range x.Victims {
			a := o.view.Attempt(id)
			s := of(o.p.index.Unit(o.p.view.Attempt(id)).Stage)
			if lost[s] += a.Need.Slots; s.Held-lost[s] < s.entitled {
				o.t.Errorf("%s is left with %d slots of %d that are due to it", a.Job().ID(), s.Held-lost[s], s.entitled)
			}
			if x.Mode == scheduler.PreemptSuspend {
				more[a.Launcher]++
				continue
			}
			if u := o.p.index.Unit(o.p.view.Attempt(id)); s.trains && (&assignment{Policy: &o.p}).isSample(u, s) {
				o.t.Errorf("attempt %d is a sample and killed", id)
			}
		}
	}
	for id, n := range more {
		if l := o.view.Launcher(id); l.Offer.Suspended+n > observedSuspendedMax {
			o.t.Errorf("%d attempts are suspended on launcher %d, and %d more", l.Offer.Suspended, id, n)
		}
	}
}
