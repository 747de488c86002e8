package policyhost

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"hash"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

var (
	shadowSeeds = flag.Int("shadowseeds", 3, "random games of shadows for each policy")
	shadowFrom  = flag.Uint64("shadowfrom", 1, "the first seed of these")
)

var shadowPolicies = map[string]func() scheduler.TaskScheduler{
	"fifo": fifo.New, "fair": fair.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, "dynamic-priority": dynamicpriority.New, "drf": drf.New,
}

// settingsOf are settings under which a policy takes the jobs of the games.
func settingsOf(name string) scheduler.Config {
	if name == "fair" {
		return scheduler.Config{Text: []byte("placement: {undeclared: create}\n")}
	}
	return scheduler.Config{}
}

// gameShadow is a shadow in a game.
type gameShadow struct {
	t         *testing.T
	name      string
	policy    scheduler.TaskScheduler
	queue     *shadowQueue
	rounds    *shadowRounds
	agreement *agreement
	plain     plainAgreement
	asked     uint64
	awaited   []scheduler.Outcome // refusals that the next round must have
	last      string              // what it decided in its last round
	joined    int                 // rounds that it got with a later one
	overflows int
	refused   bool // the core refused a preemption in force, which the shadow was not told of
}

// start starts the shadow from a copy of the core.
func (x *gameShadow) start(c *cluster.Cluster) {
	x.queue.restart()
	start := core.ShadowStart(c.ShadowStart(x.name))
	x.policy = shadowPolicies[x.name]()
	d, err := x.policy.Start(settingsOf(x.name), start.Snapshot, policytest.Environment())
	if err != nil {
		x.t.Fatal(x.name, err)
	}
	x.rounds, x.asked, x.awaited = newShadowRounds(&start, d.Abilities), start.Round, nil
	x.agreement.restarted()
	x.plain.restarted()
}

// follow has the shadow decide on all rounds of its queue as one.
func (x *gameShadow) follow(c *cluster.Cluster) {
	if !x.queue.lost && len(x.queue.list) == 0 {
		return
	}
	list, err := x.queue.take(x.t.Context(), x.queue.roundsMax)
	if err != nil { // too many rounds have waited
		x.overflows++
		x.queue.pause()
		x.start(c)
		return
	}
	last := uint64(0)
	for _, q := range list {
		if q.round.Number <= x.asked {
			continue
		}
		fresh, whole := x.rounds.join(q.round)
		if !whole {
			x.t.Fatalf("%s misses a round before %d", x.name, q.round.Number)
		}
		x.agreement.happened(q.round.Number, fresh)
		x.plain.happened(q.round.Number, fresh)
		last = q.round.Number
	}
	if last > 0 {
		x.decide(last)
		x.joined += len(list) - 1
	}
}

// decide has the shadow decide on the rounds that were joined, up to one of the policy in force.
func (x *gameShadow) decide(round uint64) {
	own := x.rounds.next()
	x.checkOutcomes(own)
	data, err := schedwire.EncodeRound(own)
	if err != nil {
		x.t.Fatal(x.name, err)
	}
	received, err := schedwire.DecodeRound(data)
	if err != nil {
		x.t.Fatal(x.name, err)
	}
	d, err := x.policy.AssignTasks(received)
	if err != nil {
		x.t.Fatalf("%s, round %d: %v", x.name, round, err)
	}
	x.rounds.decided(own, &d)
	x.agreement.shadowDecided(round, &d)
	x.plain.decided(round, &d)
	x.await(own.Number, &d)
	x.last = decisionsText(&d)
}

// decisionsText is what a policy decided of bundles and attempts.
func decisionsText(d *scheduler.Decisions) string {
	return fmt.Sprintf("preempt %+v, resume %+v, launch %+v, reserve %+v", d.Preempt, d.Resume, d.Launch, d.Reserve)
}

// await notes the outcomes that all of these decisions must have.
func (x *gameShadow) await(round uint64, d *scheduler.Decisions) {
	for kind, n := range map[scheduler.DecisionKind]int{
		scheduler.DecisionRefuse: len(d.Refuse), scheduler.DecisionAdmit: len(d.Admit), scheduler.DecisionPreempt: len(d.Preempt),
		scheduler.DecisionResume: len(d.Resume), scheduler.DecisionLaunch: len(d.Launch), scheduler.DecisionReserve: len(d.Reserve),
	} {
		for i := range n {
			x.awaited = append(x.awaited, scheduler.Outcome{Round: round, Kind: kind, Index: i})
		}
	}
}

// checkOutcomes requires one refusal for each decision of the round before, and no other outcome
// of a decision that is the shadow's.
func (x *gameShadow) checkOutcomes(own *scheduler.Round) {
	for _, e := range own.Events {
		o, is := e.(scheduler.Outcome)
		if !is || o.Round == 0 {
			if is && !o.Accepted {
				x.t.Fatalf("%s was told of a refusal of the policy in force: %+v", x.name, o)
			}
			continue
		}
		i := slices.IndexFunc(x.awaited, func(a scheduler.Outcome) bool { return a.Round == o.Round && a.Kind == o.Kind && a.Index == o.Index })
		if i < 0 || o.Accepted || o.Reason != scheduler.Shadowed {
			x.t.Fatalf("%s, round %d: not awaited: %+v", x.name, own.Number, o)
		}
		x.awaited = slices.Delete(x.awaited, i, i+1)
	}
	if len(x.awaited) > 0 {
		x.t.Fatalf("%s, round %d: no outcomes of %+v", x.name, own.Number, x.awaited)
	}
}

// plainAgreement has all that a shadow decided and was told, in order.
type plainAgreement struct {
	launches map[scheduler.BundleID][]plainEntry
	victims  map[scheduler.AttemptID][]plainEntry
	asked    map[uint64]bool // rounds that the shadow decided on, since it started
	last     uint64          // the last round that it was told of
}

// plainEntry is a decision of the shadow, or an event that ends what it decided before.
type plainEntry struct {
	what  plainKind
	round uint64 // that it was decided in, or told in
	on    []scheduler.LauncherID
}

type plainKind uint8

const (
	plainDecided     plainKind = iota // by the shadow
	plainInForce                      // by the policy in force, in a round that the shadow decided on
	plainNotCompared                  // by the policy in force, in another round
	plainGone                         // the bundle or the attempt can't be decided on any more
	plainRestarted                    // the shadow was, and round is the last one told before
)

func newPlainAgreement() plainAgreement {
	return plainAgreement{launches: map[scheduler.BundleID][]plainEntry{}, victims: map[scheduler.AttemptID][]plainEntry{}, asked: map[uint64]bool{}}
}

func (p *plainAgreement) restarted() {
	for b := range p.launches {
		p.launches[b] = append(p.launches[b], plainEntry{what: plainRestarted, round: p.last})
	}
	for a := range p.victims {
		p.victims[a] = append(p.victims[a], plainEntry{what: plainRestarted, round: p.last})
	}
	clear(p.asked)
}

func (p *plainAgreement) happened(round uint64, events []scheduler.Event) {
	p.last = round
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.Outcome:
			what := plainNotCompared
			if p.asked[e.Round] {
				what = plainInForce
			}
			switch {
			case !e.Accepted:
			case e.Kind == scheduler.DecisionLaunch:
				p.launches[e.Launch.Bundle] = append(p.launches[e.Launch.Bundle], plainEntry{what, e.Round, e.Launch.Launchers})
			case e.Kind == scheduler.DecisionPreempt:
				for _, a := range e.Preempt.Victims {
					p.victims[a] = append(p.victims[a], plainEntry{what: what})
				}
			}
		case scheduler.BundleWithdrawn:
			p.launches[e.Bundle] = append(p.launches[e.Bundle], plainEntry{what: plainGone, round: round})
		case scheduler.SpeculationWithdrawn:
			p.launches[e.Bundle] = append(p.launches[e.Bundle], plainEntry{what: plainGone, round: round})
		case scheduler.AttemptEnded:
			p.victims[e.Attempt] = append(p.victims[e.Attempt], plainEntry{what: plainGone, round: round})
		}
	}
}

func (p *plainAgreement) decided(round uint64, d *scheduler.Decisions) {
	p.asked[round] = true
	for _, l := range d.Launch {
		p.launches[l.Bundle] = append(p.launches[l.Bundle], plainEntry{plainDecided, round, l.Launchers})
	}
	for _, x := range d.Preempt {
		for _, a := range x.Victims {
			p.victims[a] = append(p.victims[a], plainEntry{what: plainDecided, round: round})
		}
	}
}

// counts counts over each bundle's and each attempt's entries alone.
func (p *plainAgreement) counts() (n agreementCounts) {
	for _, entries := range p.launches {
		var open []plainEntry // what the shadow decided, and nothing has ended
		for _, e := range append(entries, plainEntry{what: plainRestarted, round: p.last}) {
			switch e.what {
			case plainDecided:
				open = append(open, e)
				continue
			case plainInForce:
				n.launches++
				if len(open) > 0 && open[0].round+agreeRounds >= e.round {
					n.same++
					if open[0].round == e.round {
						n.sameRound++
					}
					if slices.Equal(open[len(open)-1].on, e.on) {
						n.samePlace++
					}
				}
			case plainGone:
				n.only += uint64(min(len(open), 1))
			case plainNotCompared, plainRestarted:
				if len(open) > 0 && open[0].round+agreeRounds < e.round {
					n.only++
				}
			}
			open = nil
		}
	}
	for _, entries := range p.victims {
		open := false
		for _, e := range append(entries, plainEntry{what: plainGone}) {
			switch {
			case e.what == plainDecided:
				open = true
				continue
			case e.what == plainInForce:
				n.victims++
				if open {
					n.victimsSame++
				}
			case open && e.what != plainNotCompared:
				n.victimsOnly++
			}
			open = false
		}
	}
	return n
}

// gameIdleMax rounds without an event of an attempt or job end a game.
const gameIdleMax = 300

// gameKind says how shadows follow a game.
type gameKind struct {
	wild bool // the world moves on while the policy thinks, and shadows start again
	same bool // a shadow of the same policy must decide what that decides
	join int  // a shadow decides after one of so many rounds, at random moments, on those that came since
}

var (
	eachRound = gameKind{same: true, join: 1}
	wild      = gameKind{wild: true, join: 3} // at times it is behind by more than its queue holds
)

// playShadows plays a game and returns a sum of all rounds and answers. Shadows decide beside it.
func playShadows(t *testing.T, g policytest.Game, name string, shadows []*gameShadow, kind gameKind) [sha256.Size]byte {
	t.Helper()
	c := cluster.New(g.Seed)
	rng := rand.New(rand.NewPCG(g.Seed, 17)) //nolint:gosec // seeded on purpose
	inForce := shadowPolicies[name]()
	d, err := inForce.Start(settingsOf(name), c.Snapshot(), policytest.Environment())
	if err != nil {
		t.Fatal(err)
	}
	c.Config = settingsOf(name)
	c.Started(d)
	g.Plan(c)
	sum := sha256.New()
	paces := rand.New(rand.NewPCG(g.Seed, 19)) //nolint:gosec // seeded on purpose
	idle, last := 0, 0
	for c.Step() && idle < gameIdleMax {
		r := c.Round()
		d, err := inForce.AssignTasks(r)
		if err != nil {
			t.Fatal(err)
		}
		note(t, sum, &r, &d)
		race, restart := rng.IntN(8) == 0, rng.IntN(40) == 0
		if race && kind.wild {
			c.Race()
		}
		for i, x := range shadows {
			if x.policy == nil || kind.wild && restart && i == int(r.Number)%len(shadows) {
				x.start(c)
			}
			x.queue.add(1, &r)
			x.refused = x.refused || slices.ContainsFunc(r.Events, isRefusedPreemption)
			if paces.IntN(kind.join) > 0 {
				continue
			}
			x.follow(c)
			if want := decisionsText(&d); x.name == name && kind.same && !x.refused && r.Number > x.asked && x.last != want {
				t.Fatalf("round %d: the shadow decides\n%s\nand the policy in force\n%s", r.Number, x.last, want)
			}
		}
		c.Apply(r.Number, d)
		idle++
		if n := c.Tally; n.Launches+n.Finished+n.Ended+n.Suspensions+n.Submitted != last {
			last, idle = n.Launches+n.Finished+n.Ended+n.Suspensions+n.Submitted, 0
		}
	}
	for _, x := range shadows {
		x.follow(c)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

func isRefusedPreemption(e scheduler.Event) bool {
	o, is := e.(scheduler.Outcome)
	return is && o.Kind == scheduler.DecisionPreempt && !o.Accepted
}

// note adds a round and its answer to a sum.
func note(t *testing.T, sum hash.Hash, r *scheduler.Round, d *scheduler.Decisions) {
	t.Helper()
	round, err := schedwire.EncodeRound(r)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := schedwire.EncodeDecisions(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{round, answer} {
		sum.Write(binary.AppendUvarint(nil, uint64(len(b))))
		sum.Write(b)
	}
}

// newGameShadow is a shadow that has not started.
func newGameShadow(t *testing.T, name string) *gameShadow {
	queue := newShadowQueue()
	queue.roundsMax = 10
	return &gameShadow{t: t, name: name, queue: queue, agreement: newAgreement(), plain: newPlainAgreement()}
}

// A shadow of the same policy decides in each round what the policy in force does, until the core
// refuses that one a preemption: it may wait before it decides that again, and the shadow need not.
func TestShadowsOfTheSamePolicyAgree(t *testing.T) {
	for name := range shadowPolicies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireAgreement(t, name, eachRound)
		})
	}
}

// So it does in rounds that are joined, where a policy's decisions depend on the state alone. Those of
// the others depend on the times of their rounds, too: from a round on they wait for slots near the
// input, or before they preempt. Rounds of games are seconds apart, where real ones that are joined
// are within the interval.
func TestShadowsOfTheSamePolicyAgreeOnJoinedRounds(t *testing.T) {
	for name, least := range map[string]float64{"fifo": 1, "drf": 1, "dynamic-priority": 0.9, "fair": 0.8, "preemptive-fair": 0.8, "hfsp": 0.6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := requireAgreement(t, name, gameKind{same: least == 1, join: 4})
			if agreed := float64(n.same) / float64(n.launches+n.only); agreed < least {
				t.Errorf("agreement is %.3f, want %v: %+v", agreed, least, n)
			}
			t.Logf("%+v", n)
		})
	}
}

// seedsCompared is the least number of games where agreement is a share: three have some 60 launches.
const seedsCompared = 30

// requireAgreement plays games with a shadow of the same policy, and fails where it decides
// something else and must not. It returns the counts of all games.
func requireAgreement(t *testing.T, name string, kind gameKind) (all agreementCounts) {
	t.Helper()
	together := 0
	seeds := *shadowSeeds
	if !kind.same {
		seeds = max(seeds, seedsCompared)
	}
	for _, g := range policytest.Games(policytest.Options{NoStories: true, Seeds: seeds, First: *shadowFrom}) {
		same := newGameShadow(t, name)
		playShadows(t, g, name, []*gameShadow{same}, kind)
		n := same.agreement.counts
		together += same.joined
		if same.refused {
			continue
		}
		all.launches, all.same, all.only = all.launches+n.launches, all.same+n.same, all.only+n.only
		if kind.same && (n.same != n.launches || n.sameRound < n.same || n.samePlace < n.same || n.victimsSame != n.victims || n.only > 0 || n.victimsOnly > 0) {
			t.Errorf("%s: %+v", g.Name, n)
		}
	}
	if all.launches == 0 || kind.join > 1 && together == 0 {
		t.Errorf("%d launches, %d joined rounds", all.launches, together)
	}
	return all
}

// Shadows that start again in the middle, or are behind until their queues overflow, change nothing
// of a game. Each of their decisions is refused once, and their counts are those of the whole lists.
func TestShadowsInGames(t *testing.T) {
	names := slices.Sorted(maps.Keys(shadowPolicies))
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overflows := 0
			for k, g := range policytest.Games(policytest.Options{NoStories: true, Seeds: *shadowSeeds, First: *shadowFrom}) {
				same, other := newGameShadow(t, name), newGameShadow(t, names[(i+1+k%(len(names)-1))%len(names)])
				alone := playShadows(t, g, name, nil, wild)
				if playShadows(t, g, name, []*gameShadow{same, other}, wild) != alone {
					t.Errorf("%s: the shadows changed the game", g.Name)
				}
				for _, x := range []*gameShadow{same, other} {
					overflows += x.overflows
					if got, want := x.agreement.counts, x.plain.counts(); got != want {
						t.Errorf("%s, shadow %s: %+v, want %+v", g.Name, x.name, got, want)
					} else if n := x.queue.droppedRounds(); x.overflows > 0 && n <= uint64(x.overflows*x.queue.roundsMax) {
						t.Errorf("%s, shadow %s: %d rounds were dropped in %d overflows", g.Name, x.name, n, x.overflows)
					}
				}
				t.Logf("%s: same policy %+v; %s %+v", g.Name, same.agreement.counts, other.name, other.agreement.counts)
			}
			if overflows == 0 {
				t.Error("no queue overflowed")
			}
		})
	}
}
