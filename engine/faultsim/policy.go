package faultsim

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const jobSucceeded = wire.JobState_JOB_STATE_SUCCEEDED

const jobKilled = wire.JobState_JOB_STATE_KILLED

// driver is the shell's part of the policy. It starts generations, calls them with the time they
// take, and starts them again when they fail. It checks their input against the contract and the
// core.
type driver struct {
	*play
	policies   []Policy // to draw from
	generation uint64   // the last requested one
	kinds      map[uint64]Policy
	lives      map[uint64]*life // started and not ended
	everBad    bool
	told       scheduler.Time // of the last round
	site       *site
	rules      core.Settings          // of the site, at first
	distort    func(*scheduler.Round) // for tests, has the core send something wrong; nil: it does not
}

func newDriver(p *play, policies []Policy, at *site, tell func(*scheduler.Round)) *driver {
	return &driver{play: p, policies: policies, site: at, rules: at.now, distort: tell, kinds: map[uint64]Policy{}, lives: map[uint64]*life{}}
}

// life is one generation, with its view, which is compared with the core.
type life struct {
	number  uint64
	kind    Policy
	policy  scheduler.TaskScheduler
	mirror  view.View
	dead    bool
	round   uint64
	fit     map[scheduler.BundleID]bool // launches of the last answer that fit the state it was sent
	pending map[decision]string         // decisions without an outcome, in words
	woken   scheduler.Time              // when it was told last that time passed
	refused map[scheduler.BundleID]int  // how often in a row a bundle found no capacity

	promises promises
}

type decision struct {
	kind  scheduler.DecisionKind
	index int
}

// startNext requests a new generation from the core.
func (d *driver) startNext() {
	d.generation++
	kind := d.draw()
	d.kinds[d.generation] = kind
	d.Push(wire.NewInput(&wire.PolicyStart{Generation: d.generation, Policy: kind.Name}))
}

// draw picks the next generation's kind: a good one when the faults have ended.
func (d *driver) draw() Policy {
	for {
		p := d.policies[d.rand.IntN(len(d.policies))]
		if !p.Bad || !d.calm {
			return p
		}
	}
}

func (d *driver) forget() {
	for _, l := range d.lives {
		l.dead = true
	}
	clear(d.lives)
}

func (d *driver) start(a core.StartPolicy) {
	l := &life{number: a.Generation, kind: d.kinds[a.Generation], promises: promises{d.rules, d.site, map[beneficiary]scheduler.Time{}}}
	l.policy = l.kind.New()
	d.everBad = d.everBad || l.kind.Bad
	d.lives[a.Generation] = l
	d.Seen["policy "+l.kind.Name]++
	snapshot := a.Snapshot()
	if err := l.mirror.Start(snapshot); err != nil {
		d.fail("the snapshot for generation %d: %v", a.Generation, err)
		return
	}
	if d.chance(200) {
		pages, err := schedwire.EncodeSnapshot(&snapshot)
		if err == nil {
			_, err = schedwire.DecodeSnapshot(pages)
		}
		if err != nil {
			d.fail("the snapshot for generation %d: %v", a.Generation, err)
			return
		}
	}
	d.After(d.upTo(500*time.Millisecond), func() { d.begin(l, snapshot, a.Environment) })
}

// begin starts the policy; some do not.
func (d *driver) begin(l *life, snapshot scheduler.Snapshot, env scheduler.Environment) {
	if l.dead {
		return
	}
	about, err := l.policy.Start(scheduler.Config{}, snapshot, env)
	if err != nil && !l.kind.Bad {
		d.fail("policy %s does not start: %v", l.kind.Name, err)
		return
	}
	if err != nil || !d.calm && d.chance(50) {
		d.failed(l, "it did not start")
		return
	}
	d.Push(wire.NewPolicyStarted(l.number, about))
}

// failed reports a generation's end, and starts another.
func (d *driver) failed(l *life, why string) {
	if l.dead {
		return
	}
	l.dead = true
	delete(d.lives, l.number)
	d.Seen["policy failures"]++
	d.Push(wire.NewInput(&wire.PolicyFailed{Generation: l.number, Reason: why}))
	d.After(d.between(10*time.Millisecond, 2*time.Second), func() {
		if len(d.lives) == 0 {
			d.startNext()
		}
	})
}

func (d *driver) gone(a core.PolicyGone) {
	l := d.lives[a.Generation]
	if l == nil {
		return
	}
	l.dead = true
	l.policy.Terminate()
	delete(d.lives, a.Generation)
	if a.Breach != "" {
		d.Seen["breaches"]++
		if !l.kind.Bad {
			d.fail("policy %s: %s", l.kind.Name, a.Breach)
		}
	}
	if len(d.lives) == 0 {
		d.After(d.upTo(time.Second), func() {
			if len(d.lives) == 0 {
				d.startNext()
			}
		})
	}
}

// stalls notes that a policy leaves a job without attempts. A good one does not.
func (d *driver) stalls(a core.PolicyStalls) {
	d.Seen["stalls"]++
	if l := d.lives[a.Generation]; l != nil && !l.kind.Bad {
		d.fail("policy %s %s", l.kind.Name, a.Problem)
	}
}

// ask gives a round to a generation, and returns its answer after the time it thinks.
func (d *driver) ask(a core.AskPolicy) {
	l := d.lives[a.Generation]
	if l == nil {
		if d.everBad || d.Seen["policy failures"] > 0 || d.Seen["manager restarts"] > 0 {
			return // it died a moment ago; the core is being notified
		}
		d.fail("generation %d is asked and not there", a.Generation)
		return
	}
	d.Seen["rounds"]++
	d.checkRound(l, a.Round)
	if d.err != nil {
		return
	}
	answer, err := l.answer(*a.Round)
	if err != nil {
		if !l.kind.Bad {
			d.fail("policy %s: %v", l.kind.Name, err)
		}
		d.failed(l, err.Error())
		return
	}
	if !d.calm && d.chance(3) {
		d.failed(l, "it crashed")
		return
	}
	think := d.upTo(20 * time.Millisecond)
	if !d.calm && d.chance(10) {
		think = d.upTo(3 * time.Second)
	}
	if !d.calm && d.chance(2) {
		d.Seen["hung policies"]++
		think = roundDeadline + d.upTo(3*time.Second)
		d.After(roundDeadline, func() { d.failed(l, "no answer in time") })
	}
	d.After(think, func() { d.answered(l, a.Round.Number, answer) })
}

// checkNothingLeft finds generations whose last known state has leftovers.
func (d *driver) checkNothingLeft() {
	for _, l := range d.lives {
		if err := idle(l.mirror.World()); !l.dead && err != nil {
			d.fail("to generation %d: %v", l.number, err)
		}
	}
}

// roundDeadline is how long a policy may think.
const roundDeadline = 5 * time.Second

// answered forwards an answer, now and then twice. The answer of an ended generation may still
// come, too late.
func (d *driver) answered(l *life, round uint64, data []byte) {
	m := &wire.PolicyAnswer{Generation: l.number, Round: round, Decisions: data}
	if l.dead {
		if d.calm || d.chance(500) {
			return
		}
		d.Seen["late answers"]++
	}
	d.Push(wire.NewInput(m))
	if !d.calm && d.chance(5) {
		d.Seen["doubled answers"]++
		d.After(d.upTo(time.Second), func() { d.Push(wire.NewInput(m)) })
	}
}

// answer has the policy decide. A panic is a crash of its process.
func (l *life) answer(r scheduler.Round) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	d, err := l.policy.AssignTasks(r)
	if err != nil {
		return nil, err
	}
	l.round = r.Number
	l.fit = l.fitting(&d)
	l.pending = map[decision]string{}
	await(l.pending, scheduler.DecisionRefuse, d.Refuse)
	await(l.pending, scheduler.DecisionAdmit, d.Admit)
	await(l.pending, scheduler.DecisionPreempt, d.Preempt)
	await(l.pending, scheduler.DecisionResume, d.Resume)
	await(l.pending, scheduler.DecisionLaunch, d.Launch)
	await(l.pending, scheduler.DecisionReserve, d.Reserve)
	await(l.pending, scheduler.DecisionSpeculate, d.Speculate)
	return schedwire.EncodeDecisions(&d)
}

// await adds the decisions of a kind, which await their outcomes.
func await[D any](pending map[decision]string, kind scheduler.DecisionKind, list []D) {
	for i := range list {
		pending[decision{kind, i}] = fmt.Sprint(list[i])
	}
}

// decided returns the decision of an outcome in words.
func decided(o scheduler.Outcome) string {
	switch o.Kind {
	case scheduler.DecisionRefuse:
		return fmt.Sprint(o.Refuse)
	case scheduler.DecisionAdmit:
		return fmt.Sprint(o.Admit)
	case scheduler.DecisionPreempt:
		return fmt.Sprint(o.Preempt)
	case scheduler.DecisionResume:
		return fmt.Sprint(o.Resume)
	case scheduler.DecisionReserve:
		return fmt.Sprint(o.Reserve)
	case scheduler.DecisionSpeculate:
		return fmt.Sprint(o.Speculate)
	}
	return fmt.Sprint(o.Launch)
}

// fitting lists the launches of an answer that fit the offers. It lists none if the answer has
// other decisions, which come first.
func (l *life) fitting(d *scheduler.Decisions) map[scheduler.BundleID]bool {
	fit := map[scheduler.BundleID]bool{}
	if len(d.Preempt)+len(d.Resume)+len(d.Reserve) > 0 {
		return fit
	}
	mark := l.mirror.Capacity.Mark()
	defer l.mirror.Capacity.Undo(mark)
	for _, x := range d.Launch {
		b := l.mirror.Bundle(x.Bundle)
		if b == nil || len(x.Launchers) != len(b.Groups) {
			continue
		}
		all := true
		for i, id := range x.Launchers {
			at := l.mirror.Launcher(id)
			all = all && at != nil && l.mirror.Capacity.TakeFor(at, b, &b.Groups[i])
		}
		fit[x.Bundle] = all
	}
	return fit
}

// refusedMax bounds how often in a row a policy may find no capacity for a bundle
// where it expected some. State may change while a policy decides, but the state that it was
// sent must have been true.
const refusedMax = 10

// checkCapacity counts refusals that a policy should not get repeatedly.
func (d *driver) checkCapacity(l *life, o scheduler.Outcome) {
	b := o.Launch.Bundle
	if o.Kind != scheduler.DecisionLaunch || !l.fit[b] {
		return
	}
	if o.Accepted || o.Reason != scheduler.NoCapacity {
		delete(l.refused, b)
		return
	}
	if l.refused == nil {
		l.refused = map[scheduler.BundleID]int{}
	}
	if l.refused[b]++; l.refused[b] > refusedMax {
		d.fail("policy %s finds no capacity for %v, %d times in a row: %s", l.kind.Name, b, l.refused[b], o.Detail)
	}
}

// checkRound compares a round with the contract and the core's own state.
func (d *driver) checkRound(l *life, r *scheduler.Round) {
	if d.distort != nil {
		d.distort(r)
	}
	for _, e := range r.Events {
		o, ok := e.(scheduler.Outcome)
		if !ok || o.Round != l.round || o.Round == 0 {
			continue // a generation may receive outcomes of its predecessor's launches, and of the manager's resumptions
		}
		key := decision{o.Kind, o.Index}
		switch want, awaited := l.pending[key]; {
		case !awaited:
			d.fail("round %d: decision %v has an outcome it was not waited for: %+v", r.Number, key, o)
		case decided(o) != want:
			d.fail("round %d: the outcome of %s %d is of %s, and the policy decided %s", r.Number, key.kind, key.index, decided(o), want)
		}
		delete(l.pending, key)
		d.checkCapacity(l, o)
		if err := l.promises.outcome(&l.mirror, o, r); err != nil {
			d.fail("round %d: %v", r.Number, err)
		}
		if o.Accepted {
			d.Seen["accepted "+o.Kind.String()]++
			if b := l.mirror.Bundle(o.Preempt.Bundle); b != nil && b.State == view.Launched {
				d.Seen["preempted for the suspended"]++
			}
		} else {
			d.Seen["refused: "+o.Reason.String()]++
		}
	}
	if r.Now <= d.told {
		d.fail("round %d is at %d, and the one before was at %d", r.Number, r.Now, d.told)
	}
	d.told = r.Now
	if len(l.pending) > 0 {
		d.fail("round %d: %d decisions of round %d have no outcome", r.Number, len(l.pending), l.round)
	}
	for _, e := range r.Events {
		if e, is := e.(scheduler.TimePassed); is {
			if least := l.woken.Add(d.Core.Settings().WakeMin); l.woken != 0 && e.At < least {
				d.fail("round %d: the policy is woken at %d, and not before %d", r.Number, e.At, least)
			}
			l.woken = e.At
		}
		d.Seen[strings.TrimPrefix(fmt.Sprintf("%T", e), "scheduler.")]++
		if e.When() > r.Now {
			d.fail("round %d of %d tells what happens at %d", r.Number, r.Now, e.When())
		}
	}
	if err := l.mirror.Apply(*r); err != nil {
		d.fail("%v", err)
		return
	}
	d.checkPromises(l, r)
	if got, want := l.mirror.World(), d.Core.World(); d.distort == nil && !sameWorld(got, want) {
		d.fail("round %d: the view is not the state:\nview\n%s\nstate\n%s", r.Number, got, want)
	}
	if d.chance(100) {
		data, err := schedwire.EncodeRound(r)
		if err == nil {
			_, err = schedwire.DecodeRound(data)
		}
		if err != nil {
			d.fail("round %d can't be sent: %v", r.Number, err)
		}
	}
}

// checkPromises compares a policy's view after a round with the site's rules.
func (d *driver) checkPromises(l *life, r *scheduler.Round) {
	if err := l.promises.round(&l.mirror); err != nil {
		d.fail("round %d: %v", r.Number, err)
	}
	if err := userLimits(&l.mirror, r); err != nil {
		d.fail("round %d: %v", r.Number, err)
	}
}
