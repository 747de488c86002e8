package policytest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// specialKind is a second kind of slot, so that gangs mix kinds.
	specialKind scheduler.SlotKind = "special"
	// rareKind is a kind that comes and goes with launchers; stages prefer it and can do without.
	rareKind scheduler.SlotKind = "rare"
)

// game plans a cluster's events, which do not depend on the policy.
type game struct {
	name string
	seed uint64
	plan func(*cluster.Cluster, Options)
}

// games lists the stories, then the random games.
func games(o Options) []game {
	var all []game
	if !o.NoStories {
		all = stories()
	}
	for i := range max(o.Seeds, 0) {
		seed := o.First + uint64(i)
		all = append(all, game{fmt.Sprintf("seed %d", seed), seed, func(c *cluster.Cluster, o Options) { random(c, o, seed) }})
	}
	return all
}

// Game is one of the kit's games, for tests that play them in other ways.
type Game struct {
	Name string
	Seed uint64
	Plan func(*cluster.Cluster) // plans the events, which do not depend on the policy
}

// Games lists the kit's games.
func Games(o Options) []Game {
	o = o.filled()
	var all []Game
	for _, g := range games(o) {
		all = append(all, Game{g.name, g.seed, func(c *cluster.Cluster) { g.plan(c, o) }})
	}
	return all
}

const (
	gib = int64(1) << 30
	// Two launchers are never lost, and each alone can hold any bundle, so that every job can end.
	steady       = 2
	launchersMax = 7
	span         = 40 * time.Second // all planned events are within it
)

// planner draws a random game.
type planner struct {
	*cluster.Cluster
	rng    *rand.Rand
	of     *rand.Rand // for values that depend on the policy; other events of a game do not
	has    *rand.Rand // for launchers' properties other than slots and memory
	counts *rand.Rand // for countable resources
	o      Options
	seed   uint64
	// special is the second kind of slot in the game.
	special scheduler.SlotKind
	// countable is set for a game with countable resources.
	countable bool
}

func random(c *cluster.Cluster, o Options, seed uint64) {
	p := planner{c, rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4)), rand.New(rand.NewPCG(seed, 5)), rand.New(rand.NewPCG(seed, 6)), o, seed, specialKind, false} //nolint:gosec // seeded on purpose
	if others := o.others(); len(others) > 0 {
		p.special = others[p.of.IntN(len(others))]
	}
	p.countable = p.counts.IntN(2) == 0
	p.noSuspend()
	for id := scheduler.LauncherID(1); id <= steady; id++ {
		p.swap(id)
		p.resources(id, gangMax)
		c.Join(id, cluster.Rack(id), 16*gib, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 6}, scheduler.SlotCount{Kind: p.special, Count: 3})
	}
	for id := scheduler.LauncherID(steady + 1); int(id) <= steady+p.rng.IntN(launchersMax-steady+1); id++ {
		p.comesAndGoes(id)
	}
	for range 3 + p.rng.IntN(8) {
		spec := p.job()
		p.at(func() { c.Submit(spec) })
	}
	if p.of.IntN(3) == 0 {
		p.bulk()
	}
	p.trouble()
}

func (p *planner) at(do func()) { p.After(p.when(), do) }

func (p *planner) when() time.Duration { return time.Duration(p.rng.Int64N(int64(span))) }

// swap gives a launcher some swap, or none, or more than needed.
func (p *planner) swap(id scheduler.LauncherID) {
	p.Swap(id, []int64{0, p.has.Int64N(4 * gib), 1 << 40}[p.has.IntN(3)])
}

// Countable resources of a game. A gang of gangMax groups with one of each fits on the steady
// launchers, which have twice as many cores as groups ask for.
const gangMax = 3

// resources gives a launcher countable resources in a game that has them. Suspension frees licenses
// on some launchers.
func (p *planner) resources(id scheduler.LauncherID, n int) {
	if !p.countable {
		return
	}
	frees := []scheduler.ResourceKind{scheduler.CoresKind}
	if p.counts.IntN(2) == 0 {
		frees = append(frees, "license")
	}
	p.Countable(id, scheduler.NewResources(
		scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: 4 * n}, scheduler.ResourceCount{Kind: "gpu", Count: n}, scheduler.ResourceCount{Kind: "license", Count: n},
	), frees...)
}

// asks draws what a group asks for of countable resources.
func (p *planner) asks() (r scheduler.Resources) {
	if !p.countable {
		return r
	}
	list := []scheduler.ResourceCount{
		{Kind: scheduler.CoresKind, Count: p.counts.IntN(3)}, {Kind: "gpu", Count: p.counts.IntN(2)}, {Kind: "license", Count: max(p.counts.IntN(4)-2, 0)},
	}
	return scheduler.NewResources(list...)
}

// noSuspend makes some launchers unable to suspend attempts: in one game of eight none can, and in
// another each may lack it.
func (p *planner) noSuspend() {
	kind := rand.New(rand.NewPCG(p.seed, 8)) //nolint:gosec // seeded on purpose
	how := kind.IntN(8)
	for id := scheduler.LauncherID(1); id <= launchersMax; id++ {
		p.SetNoSuspend(id, how == 0 || how == 1 && kind.IntN(2) == 0)
	}
}

func (p *planner) comesAndGoes(id scheduler.LauncherID) {
	p.swap(id)
	p.resources(id, 1+p.counts.IntN(gangMax))
	slots, memory := 1+p.rng.IntN(3), (2+p.rng.Int64N(6))*gib
	all := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: slots}}
	if n := p.has.IntN(3); n > 0 {
		all = append(all, scheduler.SlotCount{Kind: rareKind, Count: n})
	}
	join := func() { p.Join(id, cluster.Rack(id), memory, all...) }
	p.After(p.when()/4, join)
	if p.rng.IntN(2) == 0 {
		p.at(func() { p.Lose(id) })
		p.at(join)
	}
}

func (p *planner) job() cluster.Spec {
	s := cluster.Spec{
		Name: "random", User: fmt.Sprint("user-", p.rng.IntN(3)), Pool: fmt.Sprint("pool-", p.rng.IntN(2)),
		Priority: scheduler.Priority(p.rng.IntN(5) - 2),
	}
	p.named(&s)
	for n := range 1 + p.rng.IntN(3) {
		l := cluster.Layer{
			Bundles: 1 + p.rng.IntN(6), Run: 100*time.Millisecond + time.Duration(p.rng.Int64N(int64(4*time.Second))),
			Shuffles: n > 0 && p.rng.IntN(2) == 0, FailOnce: p.rng.IntN(5) == 0,
		}
		for range max(1, p.rng.IntN(8)-4) { // mostly single groups, gangs of up to 3
			l.Groups = append(l.Groups, p.group())
		}
		if n > 0 {
			l.After = []int{p.rng.IntN(n)}
		}
		l.NoSuspend = p.of.IntN(6) == 0
		for range p.rng.IntN(3) {
			l.Hosts = append(l.Hosts, scheduler.LauncherID(1+p.rng.IntN(launchersMax)))
		}
		if g := l.Groups[0]; len(l.Groups) == 1 && g.Slots == 1 && g.Memory < gib && p.has.IntN(2) == 0 {
			l.Prefers = rareKind
		}
		s.Layers = append(s.Layers, l)
	}
	return s
}

// bulk is a low-priority job that holds many slots for long, so that there are victims for later
// jobs.
func (p *planner) bulk() {
	s := cluster.Spec{Name: "bulk", User: "user-0", Pool: "pool-0", Priority: scheduler.VeryLow, Layers: []cluster.Layer{{
		Bundles: 12 + p.of.IntN(12), Run: span/4 + time.Duration(p.of.Int64N(int64(span))),
		Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: p.of.Int64N(gib)}},
	}}}
	p.After(time.Duration(p.of.Int64N(int64(span/8))), func() { p.Submit(s) })
}

func (p *planner) group() cluster.GroupSpec {
	g := cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1, Memory: p.rng.Int64N(3 * gib)}
	switch p.rng.IntN(6) {
	case 0:
		g.Kind = p.special
		g.Memory /= 4
	case 1:
		g.Slots = 1 + p.rng.IntN(2)
		if g.Slots == 2 {
			g.Memory /= 2
		}
	}
	g.Resources = p.asks()
	return g
}

// trouble plans disturbances of work and settings.
func (p *planner) trouble() {
	for range 4 {
		n := p.rng.IntN(8)
		p.at(func() { p.Straggle(n) })
	}
	for range 2 {
		n := p.of.IntN(8)
		p.After(time.Duration(p.of.Int64N(int64(span))), func() { p.Stick(n) })
	}
	drained := scheduler.LauncherID(1 + p.rng.IntN(launchersMax))
	from := p.when()
	p.After(from, func() { p.Drain(drained, true) })
	p.After(from+3*time.Second, func() { p.Drain(drained, false) })
	excluded := scheduler.LauncherID(1 + p.of.IntN(launchersMax))
	since := time.Duration(p.of.Int64N(int64(span)))
	p.After(since, func() { p.SetExcluded(excluded, true) })
	p.After(since+5*time.Second, func() { p.SetExcluded(excluded, false) })
	job, other := scheduler.JobID(1+p.rng.IntN(4)), scheduler.JobID(1+p.rng.IntN(8))
	p.at(func() { p.Update(job, "pool-1", scheduler.High) })
	if p.rng.IntN(3) == 0 {
		p.at(func() { p.Kill(other) })
	}
	p.at(func() { p.Note(scheduler.Note{Name: "stranger", Body: []byte("to be ignored")}) })
	p.at(func() { p.Request("GET", "/", nil) })
	p.at(func() { p.Request("POST", "/no/such/page", []byte("x")) })
	p.at(func() { p.Settings(p.o.Bad[0], cluster.MustReject) })
	p.at(func() { p.Settings(p.o.Config, cluster.MustAccept) })
	for range min(len(p.o.valid), changesMax) {
		c := p.o.valid[p.of.IntN(len(p.o.valid))]
		p.After(time.Duration(p.of.Int64N(int64(span))), func() { p.Settings(c, cluster.MayJudge) })
	}
	p.loads()
	p.requests()
	for range 12 {
		n := p.of.IntN(8)
		p.After(time.Duration(p.of.Int64N(int64(2*span))), func() { p.Overdue(n) })
	}
}

// loads makes machines busy with other work for a while, and now and then makes their load unknown.
func (p *planner) loads() {
	for id := scheduler.LauncherID(1); id <= launchersMax; id++ {
		for range 3 {
			cpu, memory := p.rng.Float64(), p.rng.Float64()
			if p.rng.IntN(5) == 0 {
				cpu = scheduler.LoadUnknown
			}
			p.at(func() { p.Load(id, cpu, memory) })
		}
		p.After(span, func() { p.Load(id, 0, 0) }) // so that every job can end
	}
}
