package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	plan func(Options) []act
	calm bool   // nothing happens while the policy thinks
	last replay // the last play of it; 0: all of them
}

// replay is a play of a game: the first, or one of those with its rounds.
type replay int

const (
	firstPlay replay = iota + 1
	playedAgain
	restarted
)

// act is one planned event of a game.
type act struct {
	at   time.Duration // from the beginning of the game
	now  bool          // before the policy's first round, as one with what is planned before it
	unit int           // acts of one unit, such as a drain and its end, are left out together; 0: it is alone
	text string        // in plain words; "": those of job or join
	job  *cluster.Spec // of a submission
	join *join         // of a launcher that joins
	do   func(*cluster.Cluster, Options)
}

// join is a launcher that joins.
type join struct {
	id           scheduler.LauncherID
	memory, swap int64 // bytes
	slots        []scheduler.SlotCount
	resources    scheduler.Resources
	frees        []scheduler.ResourceKind // of these, what suspension frees
	noSuspend    bool
}

// happen makes the event happen.
func (a act) happen(c *cluster.Cluster, o Options) {
	switch {
	case a.job != nil:
		c.Submit(*a.job)
	case a.join != nil:
		c.Swap(a.join.id, a.join.swap)
		c.SetNoSuspend(a.join.id, a.join.noSuspend)
		c.Countable(a.join.id, a.join.resources, a.join.frees...)
		c.Join(a.join.id, cluster.Rack(a.join.id), a.join.memory, a.join.slots...)
	default:
		a.do(c, o)
	}
}

// schedule plans the events of a game.
func schedule(c *cluster.Cluster, o Options, acts []act) {
	for _, a := range acts {
		if a.now {
			a.happen(c, o)
			continue
		}
		c.After(a.at, func() { a.happen(c, o) })
	}
}

// randomGame is the game of a seed.
func randomGame(seed uint64) game {
	return game{name: fmt.Sprintf("seed %d", seed), seed: seed, plan: func(o Options) []act { return random(o, seed) }}
}

// games lists the stories, then the random games.
func games(o Options) []game {
	var all []game
	if !o.NoStories {
		all = stories()
	}
	for i := range max(o.Seeds, 0) {
		all = append(all, randomGame(o.First+uint64(i)))
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
		all = append(all, Game{g.name, g.seed, func(c *cluster.Cluster) { schedule(c, o, g.plan(o)) }})
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
	acts   []act
	unit   int // the last one
	rng    *rand.Rand
	of     *rand.Rand // for values that depend on the policy; other events of a game do not
	has    *rand.Rand // for launchers' properties other than slots and memory
	counts *rand.Rand // for countable resources
	adapts *rand.Rand // for layers whose bundles are chosen by bytes
	o      Options
	seed   uint64
	// special is the second kind of slot in the game.
	special scheduler.SlotKind
	// noSuspend has the launchers that can't suspend attempts.
	noSuspend [launchersMax + 1]bool
	// countable is set for a game with countable resources.
	countable bool
}

func random(o Options, seed uint64) []act {
	p := planner{
		rng: rand.New(rand.NewPCG(seed, 3)), of: rand.New(rand.NewPCG(seed, 4)), has: rand.New(rand.NewPCG(seed, 5)), counts: rand.New(rand.NewPCG(seed, 6)), //nolint:gosec // seeded on purpose
		adapts: rand.New(rand.NewPCG(seed, 14)), //nolint:gosec // seeded on purpose
		o:      o, seed: seed, special: specialKind,
	}
	if others := o.others(); len(others) > 0 {
		p.special = others[p.of.IntN(len(others))]
	}
	p.countable = p.counts.IntN(2) == 0
	p.drawNoSuspend()
	for id := scheduler.LauncherID(1); id <= steady; id++ {
		slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 6}, {Kind: p.special, Count: 3}}
		j := join{id: id, memory: 16 * gib, swap: p.swap(), slots: slots, noSuspend: p.noSuspend[id]}
		p.resources(&j, gangMax)
		p.acts = append(p.acts, act{now: true, join: &j})
	}
	for id := scheduler.LauncherID(steady + 1); int(id) <= steady+p.rng.IntN(launchersMax-steady+1); id++ {
		p.comesAndGoes(id)
	}
	for range 3 + p.rng.IntN(8) {
		spec := p.job()
		p.acts = append(p.acts, act{at: p.when(), job: &spec})
	}
	if p.of.IntN(3) == 0 {
		p.bulk()
	}
	p.trouble()
	p.userLimits()
	return p.acts
}

// at plans an event; a unit's events are left out together (0: it is alone).
func (p *planner) at(at time.Duration, unit int, text string, do func(*cluster.Cluster, Options)) {
	p.acts = append(p.acts, act{at: at, unit: unit, text: text, do: do})
}

func (p *planner) newUnit() int {
	p.unit++
	return p.unit
}

func (p *planner) when() time.Duration { return time.Duration(p.rng.Int64N(int64(span))) }

// moment is a time in the game that depends on the policy's settings.
func (p *planner) moment(most time.Duration) time.Duration {
	return time.Duration(p.of.Int64N(int64(most)))
}

// swap is some swap of a launcher, or none, or more than needed.
func (p *planner) swap() int64 {
	return []int64{0, p.has.Int64N(4 * gib), 1 << 40}[p.has.IntN(3)]
}

// Countable resources of a game. A gang of gangMax groups with one of each fits on the steady
// launchers, which have twice as many cores as groups ask for.
const gangMax = 3

// resources gives a launcher countable resources in a game that has them. Suspension frees licenses
// on some launchers.
func (p *planner) resources(j *join, n int) {
	if !p.countable {
		return
	}
	j.frees = []scheduler.ResourceKind{scheduler.CoresKind}
	if p.counts.IntN(2) == 0 {
		j.frees = append(j.frees, "license")
	}
	j.resources = scheduler.NewResources(
		scheduler.ResourceCount{Kind: scheduler.CoresKind, Count: 4 * n}, scheduler.ResourceCount{Kind: "gpu", Count: n}, scheduler.ResourceCount{Kind: "license", Count: n},
	)
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

// drawNoSuspend makes some launchers unable to suspend attempts: in one game of eight none can, and in
// another each may lack it.
func (p *planner) drawNoSuspend() {
	kind := rand.New(rand.NewPCG(p.seed, 8)) //nolint:gosec // seeded on purpose
	how := kind.IntN(8)
	for id := scheduler.LauncherID(1); id <= launchersMax; id++ {
		p.noSuspend[id] = how == 0 || how == 1 && kind.IntN(2) == 0
	}
}

func (p *planner) comesAndGoes(id scheduler.LauncherID) {
	j := join{id: id, swap: p.swap(), noSuspend: p.noSuspend[id]}
	p.resources(&j, 1+p.counts.IntN(gangMax))
	slots, memory := 1+p.rng.IntN(3), (2+p.rng.Int64N(6))*gib
	all := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: slots}}
	if n := p.has.IntN(3); n > 0 {
		all = append(all, scheduler.SlotCount{Kind: rareKind, Count: n})
	}
	j.memory, j.slots = memory, all
	p.acts = append(p.acts, act{at: p.when() / 4, join: &j})
	if p.rng.IntN(2) == 0 {
		p.at(p.when(), 0, fmt.Sprintf("launcher %d is lost", id), func(c *cluster.Cluster, _ Options) { c.Lose(id) })
		p.acts = append(p.acts, act{at: p.when(), join: &j})
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
	p.adapt(&s)
	return s
}

// adapt makes some layers' bundles be chosen when the layer before them has finished.
func (p *planner) adapt(s *cluster.Spec) {
	for n := range s.Layers {
		l := &s.Layers[n]
		followed := slices.ContainsFunc(s.Layers, func(x cluster.Layer) bool { return slices.Contains(x.After, n) })
		if len(l.After) == 1 && len(l.Groups) == 1 && len(s.Layers[l.After[0]].Groups) == 1 && !followed && p.adapts.IntN(2) == 0 {
			l.Adapted, l.Hosts, l.Bundles = true, nil, 2*l.Bundles
		}
	}
}

// bulk is a low-priority job that holds many slots for long, so that there are victims for later
// jobs.
func (p *planner) bulk() {
	s := cluster.Spec{Name: "bulk", User: "user-0", Pool: "pool-0", Priority: scheduler.VeryLow, Layers: []cluster.Layer{{
		Bundles: 12 + p.of.IntN(12), Run: span/4 + time.Duration(p.of.Int64N(int64(span))),
		Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: p.of.Int64N(gib)}},
	}}}
	p.acts = append(p.acts, act{at: p.moment(span / 8), job: &s})
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
		p.at(p.when(), 0, "a running bundle is offered for a second attempt", func(c *cluster.Cluster, _ Options) { c.Straggle(n) })
	}
	for range 2 {
		n := p.of.IntN(8)
		p.at(p.moment(span), 0, "a suspended attempt can't be resumed any more", func(c *cluster.Cluster, _ Options) { c.Stick(n) })
	}
	p.kills()
	p.closings()
	job, other := scheduler.JobID(1+p.rng.IntN(4)), scheduler.JobID(1+p.rng.IntN(8))
	p.at(p.when(), 0, fmt.Sprintf("%s goes to pool-1, with priority HIGH", job), func(c *cluster.Cluster, _ Options) { c.Update(job, "pool-1", scheduler.High) })
	if p.rng.IntN(3) == 0 {
		p.at(p.when(), 0, fmt.Sprintf("%s is killed", other), func(c *cluster.Cluster, _ Options) { c.Kill(other) })
	}
	p.at(p.when(), 0, "a note of a stranger comes", func(c *cluster.Cluster, _ Options) {
		c.Note(scheduler.Note{Name: "stranger", Body: []byte("to be ignored")})
	})
	p.at(p.when(), 0, "GET / is requested", func(c *cluster.Cluster, _ Options) { c.Request("GET", "/", nil) })
	p.at(p.when(), 0, "POST /no/such/page is requested", func(c *cluster.Cluster, _ Options) { c.Request("POST", "/no/such/page", []byte("x")) })
	p.at(p.when(), 0, "wrong settings come", func(c *cluster.Cluster, o Options) { c.Settings(o.Bad[0], cluster.MustReject) })
	p.at(p.when(), 0, "the first settings come again", func(c *cluster.Cluster, o Options) { c.Settings(o.Config, cluster.MustAccept) })
	for range min(len(p.o.valid), changesMax) {
		v := p.o.valid[p.of.IntN(len(p.o.valid))]
		p.at(p.moment(span), 0, fmt.Sprintf("the settings become %.200q", v.Text), func(c *cluster.Cluster, _ Options) { c.Settings(v, cluster.MayJudge) })
	}
	p.loads()
	p.requests()
	for range 12 {
		n := p.of.IntN(8)
		p.at(p.moment(2*span), 0, "a suspended bundle is offered for a second attempt", func(c *cluster.Cluster, _ Options) { c.Overdue(n) })
	}
}

// kills kill jobs with suspended attempts, in one game of three. Suspended attempts of a job that ends can't be resumed,
// and take a while to end.
func (p *planner) kills() {
	kills := rand.New(rand.NewPCG(p.seed, 10)) //nolint:gosec // seeded on purpose
	if kills.IntN(3) > 0 {
		return
	}
	for range 3 {
		n := kills.IntN(8)
		p.at(time.Duration(kills.Int64N(int64(span))), 0, "the job of a suspended attempt is killed", func(c *cluster.Cluster, _ Options) { c.KillSuspended(n) })
	}
}

// closings close launchers for a while: one is drained, one is excluded.
func (p *planner) closings() {
	drained := scheduler.LauncherID(1 + p.rng.IntN(launchersMax))
	from, unit := p.when(), p.newUnit()
	p.at(from, unit, fmt.Sprintf("launcher %d is drained", drained), func(c *cluster.Cluster, _ Options) { c.Drain(drained, true) })
	p.at(from+3*time.Second, unit, fmt.Sprintf("launcher %d is drained no more", drained), func(c *cluster.Cluster, _ Options) { c.Drain(drained, false) })
	excluded := scheduler.LauncherID(1 + p.of.IntN(launchersMax))
	from, unit = p.moment(span), p.newUnit()
	p.at(from, unit, fmt.Sprintf("launcher %d is excluded", excluded), func(c *cluster.Cluster, _ Options) { c.SetExcluded(excluded, true) })
	p.at(from+5*time.Second, unit, fmt.Sprintf("launcher %d is readmitted", excluded), func(c *cluster.Cluster, _ Options) { c.SetExcluded(excluded, false) })
}

// loads makes machines busy with other work for a while, and now and then makes their load unknown.
func (p *planner) loads() {
	for id := scheduler.LauncherID(1); id <= launchersMax; id++ {
		unit := p.newUnit()
		for range 3 {
			cpu, memory := p.rng.Float64(), p.rng.Float64()
			if p.rng.IntN(5) == 0 {
				cpu = scheduler.LoadUnknown
			}
			p.at(p.when(), unit, fmt.Sprintf("the machine of launcher %d has load %.2f, and %.2f of its memory used", id, cpu, memory), func(c *cluster.Cluster, _ Options) { c.Load(id, cpu, memory) })
		}
		p.at(span, unit, fmt.Sprintf("the machine of launcher %d has no other load", id), func(c *cluster.Cluster, _ Options) { c.Load(id, 0, 0) }) // so that every job can end
	}
}
