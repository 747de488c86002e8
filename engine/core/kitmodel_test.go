package core_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

var (
	gamesFlag = flag.Int("games", 25, "how many random games TestKitModel plays")
	gameFlag  = flag.Uint64("game", 1, "seed of the first")
)

// TestKitModel plays the conformance kit's games on its model for the manager and on the
// core at once. Every outcome and refusal is the same, the world as a view mirrors it, with
// all that is free or reserved, and the snapshot for a policy that starts.
//
// The model leads: what happens on it is what launchers and people tell the core, and
// what straggles or was suspended for long there does and was for the core, too. Left out is what the core does not have
// (second attempts of gangs, stages that grow), and what says nothing of work (pages,
// settings, loads).
func TestKitModel(t *testing.T) {
	var all cluster.Tally
	drawn := 0
	reasons := map[scheduler.RefusalReason]int{}
	games := policytest.Games(policytest.Options{Seeds: *gamesFlag, First: *gameFlag})
	for _, g := range games {
		p := newPair(t, g)
		p.play()
		if t.Failed() {
			t.Fatalf("%s, at %s of it", g.Name, p.model.Now().Sub(p.began))
		}
		all.Launches += p.model.Tally.Launches
		all.Victims += p.model.Tally.Victims
		all.Suspensions += p.model.Tally.Suspensions
		all.Resumptions += p.model.Tally.Resumptions
		all.Lost += p.model.Tally.Lost
		all.Failed += p.model.Tally.Failed
		all.Seconds += p.model.Tally.Seconds
		all.ForSuspended += p.model.Tally.ForSuspended
		all.Stuck += p.model.Tally.Stuck
		all.Raced += p.model.Tally.Raced
		drawn += p.drawn
		for r, n := range p.reasons {
			reasons[r] += n
		}
	}
	if all.Launches == 0 || all.Victims == 0 || all.Suspensions == 0 || all.Resumptions == 0 || all.Lost == 0 || all.Failed == 0 || all.Seconds == 0 || all.ForSuspended == 0 || all.Stuck == 0 || all.Raced == 0 || drawn == 0 {
		t.Errorf("the games were too tame: %d resumptions drew on what was kept for them, %+v", drawn, all)
	}
	t.Logf("%d games: %d launches, %d victims, %d suspended, %d resumed, %d second attempts (%d of what was suspended), %d preemptions for what is suspended, of which %d drew on what was kept, %d stuck; refusals %v",
		len(games), all.Launches, all.Victims, all.Suspensions, all.Resumptions, all.Seconds, all.Raced, all.ForSuspended, drawn, all.Stuck, reasons)
}

// fine is how much finer the core's clock is than the model's: its steps each take some
// time, and all of one moment of the model have to come before the next.
const fine = 1000

// roundsMax bounds one game.
const roundsMax = 600

// pair is the two managers.
type pair struct {
	loop.Loop // of the core
	t         *testing.T
	rng       *rand.Rand
	model     *cluster.Cluster
	began     scheduler.Time
	led       view.View // of what the model tells
	view      view.View // of what the core tells
	specs     map[scheduler.JobID]cluster.Spec
	reasons   map[scheduler.RefusalReason]int
	drawn     int // resumptions for which something was kept

	heard    []heard             // on the model, and not told the core
	ledOut   []scheduler.Outcome // of the model, of the answer at hand
	coreOut  []scheduler.Outcome
	round    *core.AskPolicy // in flight at the core
	snapshot *scheduler.Snapshot

	gen      uint64
	lives    map[scheduler.LauncherID]uint64 // incarnations
	up       map[scheduler.LauncherID]bool
	joined   []scheduler.LauncherID                    // on the model, ever
	bundles  map[scheduler.BundleID]scheduler.BundleID // of the model's, the core's
	attempts map[scheduler.AttemptID]scheduler.AttemptID
	firsts   map[scheduler.JobID][2]scheduler.BundleID // of a job's bundles: the model's first, the core's
	runs     map[scheduler.AttemptID]running           // the model's
}

type heard struct {
	at    scheduler.Time
	event scheduler.Event
}

// running is where an attempt of the model runs, and what it is of.
type running struct {
	job      scheduler.JobID
	bundle   scheduler.BundleID
	group    int
	launcher scheduler.LauncherID
}

func newPair(t *testing.T, g policytest.Game) *pair {
	p := &pair{
		t: t, rng: rand.New(rand.NewPCG(g.Seed, 5)), model: cluster.New(g.Seed),
		specs: map[scheduler.JobID]cluster.Spec{}, reasons: map[scheduler.RefusalReason]int{}, lives: map[scheduler.LauncherID]uint64{}, up: map[scheduler.LauncherID]bool{},
		bundles: map[scheduler.BundleID]scheduler.BundleID{}, attempts: map[scheduler.AttemptID]scheduler.AttemptID{},
		firsts: map[scheduler.JobID][2]scheduler.BundleID{}, runs: map[scheduler.AttemptID]running{},
	}
	p.Core, p.Act, p.Decide = core.New(settings()), p.act, p.checked
	p.began = p.model.Now()
	p.model.Plain = true
	p.model.OnEvent = p.hear
	p.model.Submitted = func(id scheduler.JobID, s cluster.Spec) { p.specs[id] = s }
	if g.Seed%2 == 1 {
		p.model.Abilities = scheduler.AbilityResume
	}
	p.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	for id := scheduler.LauncherID(1); id <= launchersKnown; id++ { // so that they have the same ids
		p.step(p.join(scheduler.LauncherJoined{Launcher: id, Name: fmt.Sprint("launcher-", id)}))
		p.step(p.lose(id))
	}
	p.start()
	p.step(wire.NewInput(&wire.PolicyStarted{
		Generation: p.gen, Name: "p", Version: "1", Abilities: uint32(p.model.Abilities),
	}))
	g.Plan(p.model)
	return p
}

// launchersKnown is more than any of the kit's games has.
const launchersKnown = 12

// settings are the model's rules. What lasts for a time ends a moment sooner, so that
// what the model does at its end comes after it.
func settings() core.Settings {
	const never = 1 << 60
	lasts := func(d time.Duration) time.Duration { return d*fine - fine/2 }
	s := core.DefaultSettings()
	s.ReserveMax, s.ProtectFor, s.SuspendMax = lasts(cluster.ReserveMax), lasts(cluster.ProtectFor), lasts(cluster.SuspendMax)
	s.PolicyLimits.GraceMax *= fine
	s.SuspendedMax, s.SuspendedPercent = cluster.SuspendedMax, cluster.SuspendedPercent
	s.RoundGap, s.RefusedGapMax, s.StepWork = 1, 1, 1<<30
	s.CommandTimeout, s.CommandTimeoutMax, s.ReclaimAfter, s.UnplaceableAfter = never, never, never, never
	s.Speculation, s.PolicyStallAfter, s.ExcludeAfter, s.LostMax, s.MemoryDefault = false, 0, 1<<30, 1<<30, 0
	return s
}

// play plays the game to its end.
func (p *pair) play() {
	for n := 0; n < roundsMax && p.model.Step(); n++ {
		r := p.model.Round()
		if err := p.led.Apply(r); err != nil {
			p.t.Errorf("the model's round: %v", err)
		}
		p.catchUp()
		p.drain()
		p.compare(n%7 == 0)
		if p.t.Failed() {
			return
		}
		d := p.decide()
		p.step(wire.NewInput(&wire.Note{Name: "decide"}))
		if p.rng.IntN(8) == 0 {
			p.model.Race()
			p.catchUp()
		}
		p.ledOut, p.coreOut = nil, nil
		p.model.Apply(r.Number, d)
		p.answer(d)
		p.drain()
		p.outcomes(d)
		p.catchUp()
		if p.t.Failed() {
			return
		}
	}
}

// hear takes an event of the model.
func (p *pair) hear(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.Outcome:
		p.ledOut = append(p.ledOut, e)
		return
	case scheduler.BundleReady:
		p.pairUp(e.Job, e.Bundle, 0)
	case scheduler.LauncherJoined:
		p.joined = append(p.joined, e.Launcher)
	}
	p.heard = append(p.heard, heard{p.model.Now(), e})
}

// pairUp notes the first bundles of a job: both number them by stage, then by index.
func (p *pair) pairUp(j scheduler.JobID, led, own scheduler.BundleID) {
	f := p.firsts[j]
	if f[0] == 0 {
		f[0] = led
	}
	if f[1] == 0 {
		f[1] = own
	}
	p.firsts[j] = f
	if f[0] == 0 || f[1] == 0 || p.bundles[f[0]] != 0 {
		return
	}
	n := 0
	for _, l := range p.specs[j].Layers {
		n += l.Bundles
	}
	for i := range n {
		p.bundles[f[0]+scheduler.BundleID(i)] = f[1] + scheduler.BundleID(i)
	}
}

// catchUp has the core live through what the model did.
func (p *pair) catchUp() {
	for len(p.heard) > 0 {
		at := p.heard[0].at
		n := 0
		for n < len(p.heard) && p.heard[n].at == at {
			n++
		}
		p.Pass(at * fine)
		moment := p.heard[:n]
		for len(moment) > 0 {
			n := 0
			for kindOf(moment[0]) == kindOf(moment[min(n, len(moment)-1)]) && n < len(moment) {
				n++
			}
			p.offerSpeculation(moment[:n])
			p.exclude(moment[:n])
			p.Step(p.inputs(moment[:n]))
			moment = moment[n:]
		}
		p.heard = p.heard[n:]
	}
	p.Pass(p.model.Now() * fine)
}

// kindOf tells apart what can't stand in one step: what is resumed was told so after what
// came before, and what is wanted twice is not because of an input.
func kindOf(h heard) int {
	switch h.event.(type) {
	case scheduler.AttemptResumed:
		return 1
	case scheduler.SpeculationOffered:
		return 2
	case scheduler.LauncherExcluded:
		return 3
	}
	return 0
}

func (p *pair) exclude(moment []heard) {
	for _, h := range moment {
		if e, is := h.event.(scheduler.LauncherExcluded); is {
			p.Core.SetExcluded(e.Launcher, e.Excluded)
		}
	}
}

func (p *pair) offerSpeculation(moment []heard) {
	for _, h := range moment {
		if e, is := h.event.(scheduler.SpeculationOffered); is && !p.Core.OfferSpeculation(p.bundles[e.Bundle]) {
			p.t.Errorf("the core starts no second attempt of %v", e.Bundle)
		}
	}
}

func (p *pair) step(inputs ...*wire.Input) {
	p.Pass(p.model.Now() * fine)
	p.Step(inputs)
}

// checked steps the core, which is to hold together then.
func (p *pair) checked(b *wire.Batch) []core.Action {
	actions := p.Core.Step(b)
	if err := p.Core.Check(); err != nil {
		p.t.Errorf("the core: %v", err)
	}
	return actions
}

func (p *pair) act(a core.Action) {
	switch a := a.(type) {
	case core.AskPolicy:
		p.round = &a
		p.take(a.Round)
	case core.StartPolicy:
		s := a.Snapshot()
		p.snapshot = &s
	case core.Reply:
		if a.Failure != nil {
			p.t.Errorf("the core refused: %s", a.Failure.Message)
		}
	}
}

func (p *pair) take(r *scheduler.Round) {
	if err := p.view.Apply(*r); err != nil {
		p.t.Errorf("the core's round: %v", err)
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.Outcome:
			p.coreOut = append(p.coreOut, e)
		case scheduler.BundleReady:
			p.pairUp(e.Job, 0, e.Bundle)
		}
	}
}

// answer answers the core's round.
func (p *pair) answer(d scheduler.Decisions) {
	own := p.own(d)
	data, err := schedwire.EncodeDecisions(&own)
	if err != nil {
		p.t.Fatal(err)
	}
	a := &wire.PolicyAnswer{Generation: p.round.Generation, Round: p.round.Round.Number, Decisions: data}
	p.round = nil
	p.step(wire.NewInput(a))
}

// drain answers rounds of the core with nothing, until it has told all.
func (p *pair) drain() {
	for p.Pass(p.model.Now() * fine); p.round != nil; {
		p.answer(scheduler.Decisions{})
	}
}

// start has the core start a policy, which gives a snapshot.
func (p *pair) start() {
	p.gen++
	p.snapshot = nil
	p.step(wire.NewInput(&wire.PolicyStart{Generation: p.gen, Policy: "p"}))
}

// outcomes holds what became of an answer against each other.
func (p *pair) outcomes(d scheduler.Decisions) {
	if len(p.ledOut) != len(p.coreOut) {
		p.t.Fatalf("the model tells %d outcomes, and the core %d, of %+v", len(p.ledOut), len(p.coreOut), d)
	}
	for i, led := range p.ledOut {
		own := p.coreOut[i]
		if led.Kind != own.Kind || led.Index != own.Index || led.Accepted != own.Accepted || led.Reason != own.Reason {
			p.t.Errorf("%s %d of %+v\nthe model says %s, and the core %s: %s", led.Kind, led.Index, d, led.Reason, own.Reason, own.Detail)
			return
		}
		p.reasons[led.Reason]++
		if led.Kind == scheduler.DecisionResume && led.Accepted {
			p.resumed(led.Attempts, own.Attempts)
			continue
		}
		for g, id := range led.Attempts {
			p.attempts[id] = own.Attempts[g]
			b := p.led.Bundle(led.Launch.Bundle)
			p.runs[id] = running{b.Job.ID(), b.ID, g, led.Launch.Launchers[g]}
		}
	}
}

// resumed holds those against each other that a resumption has go on, and counts one for
// which something was kept when it was decided.
func (p *pair) resumed(led, own []scheduler.AttemptID) {
	var want []scheduler.AttemptID
	for _, id := range led {
		want = append(want, p.attempts[id])
	}
	if !slices.Equal(want, own) {
		p.t.Errorf("the model has attempts %d go on, and the core %d", want, own)
	}
	a := p.led.Attempt(led[0])
	if a == nil || p.led.Launcher(a.Launcher) == nil {
		return // it came and went while the policy thought
	}
	if slices.ContainsFunc(p.led.Launcher(a.Launcher).Offer.Reserved, func(r scheduler.Reservation) bool { return r.Bundle == a.Bundle.ID }) {
		p.drawn++
	}
}

// compare holds the worlds against each other, and now and then the snapshots.
func (p *pair) compare(snapshots bool) {
	want := p.translated(p.led.World()).String()
	if got := p.coarse(p.view.World()).String(); got != want {
		p.t.Errorf("the model's world\n%sthe core's\n%s", want, got)
		return
	}
	for _, j := range p.led.Jobs() {
		for i, s := range p.view.Job(j.ID()).Info.Stages[:len(j.Info.Stages)] {
			if led := j.Info.Stages[i]; s.NoSuspend != led.NoSuspend || !slices.Equal(s.After, led.After) {
				p.t.Errorf("of %s the model tells %+v, and the core %+v", j.ID(), led, s)
			}
		}
	}
	if !snapshots {
		return
	}
	var led, own view.View
	p.start()
	if p.snapshot == nil {
		p.t.Error("the core makes no snapshot")
		return
	}
	for name, err := range map[string]error{"model": led.Start(p.model.Snapshot(nil, 0)), "core": own.Start(*p.snapshot)} {
		if err != nil {
			p.t.Errorf("snapshot of the %s: %v", name, err)
			return
		}
	}
	want = assigned(p.translated(led.World())).String() + p.leaving(&led, true)
	got := assigned(p.coarse(own.World())).String() + p.leaving(&own, false)
	if got != want {
		p.t.Errorf("the model's snapshot\n%sthe core's\n%s", want, got)
	}
}

// leaving lists the attempts that a preemption takes off their slots, and for whom, and
// those that are to go on.
func (p *pair) leaving(v *view.View, translate bool) (text string) {
	all := map[scheduler.AttemptID]scheduler.JobID{}
	var resuming []scheduler.AttemptID
	for _, j := range v.Jobs() {
		for _, a := range j.Attempts() {
			id := a.ID
			if translate {
				id = p.attempts[id]
			}
			if a.Leaving != 0 {
				all[id] = a.Leaving
			}
			if a.Resuming {
				resuming = append(resuming, id)
			}
		}
	}
	slices.Sort(resuming)
	return fmt.Sprintln("leaving:", all, "resuming:", resuming)
}

// coarse is a world of the core with the times of the model: what lasts there ends half
// a moment sooner, and what begins because of that does so as much sooner.
func (p *pair) coarse(w view.World) view.World {
	for i := range w.Jobs {
		for k := range w.Jobs[i].Attempts {
			if a := &w.Jobs[i].Attempts[k]; a.Protected != 0 {
				a.Protected = (a.Protected + fine) / fine
			}
		}
	}
	return w
}

// assigned leaves out which attempts that have not started are the second of two: the
// core's snapshots tell that when they start.
func assigned(w view.World) view.World {
	for i := range w.Jobs {
		for k := range w.Jobs[i].Attempts {
			if a := &w.Jobs[i].Attempts[k]; a.State == view.Assigned {
				a.Speculative = false
			}
		}
	}
	return w
}

// translated is a world of the model with the core's ids.
func (p *pair) translated(w view.World) view.World {
	for i := range w.Launchers {
		o := &w.Launchers[i].Offer
		o.Reserved = slices.Clone(o.Reserved)
		for k := range o.Reserved {
			o.Reserved[k].Bundle = p.bundles[o.Reserved[k].Bundle]
		}
		if o.Free == nil && o.Memory == 0 && reflect.DeepEqual(*o, scheduler.Offer{}) {
			o.Launcher = 0
		}
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		for k := range j.Ready {
			j.Ready[k] = p.bundles[j.Ready[k]]
		}
		slices.Sort(j.Ready)
		for k := range j.SpeculationOffered {
			j.SpeculationOffered[k] = p.bundles[j.SpeculationOffered[k]]
		}
		slices.Sort(j.SpeculationOffered)
		for k := range j.Attempts {
			a := &j.Attempts[k]
			a.ID, a.Bundle = p.attempts[a.ID], p.bundles[a.Bundle]
		}
		slices.SortFunc(j.Attempts, func(x, y view.WorldAttempt) int { return int(int64(x.ID) - int64(y.ID)) })
	}
	return w
}

// own are decisions with the core's ids, and its time.
func (p *pair) own(d scheduler.Decisions) (own scheduler.Decisions) {
	bundle := func(id scheduler.BundleID) scheduler.BundleID {
		if id == never {
			return never
		}
		return p.bundles[id]
	}
	attempt := func(id scheduler.AttemptID) scheduler.AttemptID {
		if id == never {
			return never
		}
		return p.attempts[id]
	}
	for _, x := range d.Preempt {
		x.Victims = slices.Clone(x.Victims)
		for i, v := range x.Victims {
			x.Victims[i] = attempt(v)
		}
		x.Grace *= fine
		if x.Bundle != 0 {
			x.Bundle = bundle(x.Bundle)
		}
		own.Preempt = append(own.Preempt, x)
	}
	for _, x := range d.Resume {
		own.Resume = append(own.Resume, scheduler.Resume{Attempt: attempt(x.Attempt)})
	}
	for _, x := range d.Launch {
		own.Launch = append(own.Launch, scheduler.Launch{Bundle: bundle(x.Bundle), Launchers: x.Launchers})
	}
	return own
}
