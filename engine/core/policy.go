package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// policyState is what the core knows of its policy: the generation that decides,
// and one that is being started beside it.
type policyState struct {
	current, next *generation

	inFlight  bool
	deciding  *deciding      // the answer to the round in flight, which is being applied; nil: none is
	asked     uint64         // number of the round in flight, or of the last
	askedAt   scheduler.Time // its time
	rounds    uint64         // number of the last round made
	lastRound scheduler.Time

	known   bool // some generation said what it can in this life of the manager
	admits  bool // the last one to say so admits jobs
	resumes bool // and resumes what it suspends

	checkpoints map[string]*policyCheckpoint // by name in the configuration
	dropped     uint64                       // answers of another round or generation
	problem     string                       // the last one
	restarts    int
}

// generation is one life of a policy.
type generation struct {
	number        uint64
	policy        string // name in the configuration
	name, version string // as it says itself
	abilities     scheduler.Ability
	progressEvery time.Duration
	ready         bool // started, and waits for the cut-over
	fresh         bool // it was told no offers yet
	wakeAt        scheduler.Time
	gathering     *gathering        // the snapshot that it is started with; nil: it is made
	events        []scheduler.Event // for its next round, or that follow what was gathered
	notes         int               // how many of them are notes
}

// policyCheckpoint is what a policy returned last, and the time of the round it
// returned it for.
type policyCheckpoint struct {
	at         scheduler.Time
	checkpoint scheduler.Checkpoint
}

// emitLauncher tells an event about a launcher to the policy, and to one that is being
// started, unless that will see it when its snapshot comes to the launcher.
func (c *Core) emitLauncher(l *launcher, e scheduler.Event) {
	c.tell(c.policy.current, e)
	if n := c.policy.next; n != nil && n.gathering.hasLauncher(l.id) {
		c.tell(n, e)
	}
}

// emitJob is the same for an event about a job.
func (c *Core) emitJob(j *job, e scheduler.Event) {
	c.tell(c.policy.current, e)
	if n := c.policy.next; n != nil && n.gathering.hasJob(j.id) {
		c.tell(n, e)
	}
}

// emit is the same for an event about a bundle.
func (c *Core) emit(b *bundle, e scheduler.Event) {
	c.tell(c.policy.current, e)
	if n := c.policy.next; n != nil && n.gathering.hasBundle(b) {
		c.tell(n, e)
	}
}

// tell tells an event to one generation.
func (c *Core) tell(g *generation, e scheduler.Event) {
	if g != nil {
		g.events = append(g.events, e)
	}
}

// policyStart has a snapshot made for a new generation, beside what runs: see gather.
func (c *Core) policyStart(m *wire.PolicyStart) {
	p := &c.policy
	if p.next != nil {
		c.act(PolicyGone{Generation: p.next.number})
	}
	p.next = &generation{number: m.GetGeneration(), policy: m.GetPolicy(), fresh: true, gathering: &gathering{}}
}

func (c *Core) environment() scheduler.Environment {
	e := scheduler.Environment{
		Heartbeat: c.set.Heartbeat, Seed: c.set.Seed, Limits: c.set.PolicyLimits, Simulated: c.set.Simulated,
		Kinds: slices.Clone(c.set.Kinds),
	}
	if len(e.Kinds) == 0 {
		e.Kinds = []scheduler.SlotKind{scheduler.DefaultKind}
	}
	return e
}

// policyStarted has a generation take over between two rounds.
func (c *Core) policyStarted(m *wire.PolicyStarted) {
	p := &c.policy
	if p.next == nil || p.next.number != m.GetGeneration() {
		c.act(PolicyGone{Generation: m.GetGeneration()})
		return
	}
	g := p.next
	g.name, g.version, g.abilities = m.GetName(), m.GetVersion(), scheduler.Ability(m.GetAbilities())
	g.progressEvery = max(time.Duration(m.GetProgressEveryNs()), progressEveryMin)
	g.ready = true
	if !p.inFlight {
		c.cutOver()
	}
}

// progressEveryMin is the least interval at which a policy may ask for progress.
const progressEveryMin = 100 * time.Millisecond

// cutOver hands the deciding to the generation that waits for it.
func (c *Core) cutOver() {
	p := &c.policy
	if p.next == nil || !p.next.ready {
		return
	}
	old := p.current
	p.current, p.next = p.next, nil
	p.known, p.problem = true, ""
	c.able()
	c.releaseAllClaims()
	if old != nil {
		c.act(PolicyGone{Generation: old.number})
		c.answerSettings("another policy took over before it answered")
	}
	c.limitSuspensions()
	c.roomier = true
	c.tellLoads(false)
	c.askAll()
	c.passRequests()
	c.log(Info, "a policy took over", "policy", p.current.name, "version", p.current.version, "generation", fmt.Sprint(p.current.number))
	for j := range c.jobs.all() {
		j.policyWait = scheduler.Waiting{}
	}
}

// able takes over what the policy that runs says it can do.
func (c *Core) able() {
	p := &c.policy
	p.admits = p.current.abilities.Has(scheduler.AbilityAdmission)
	p.resumes = p.current.abilities.Has(scheduler.AbilityResume)
}

// limitSuspensions sees that what the policy that ran before was to resume is not
// suspended for ever.
func (c *Core) limitSuspensions() {
	for r := range c.suspended.all() {
		if !c.policy.resumes {
			c.after(c.set.SuspendMax, timerSuspend, r.id)
		}
	}
}

func (c *Core) releaseAllClaims() {
	for k := range c.claims.all() {
		c.releaseClaim(k)
	}
}

// policyFailed takes in that a generation is gone. What runs goes on; rounds
// wait for the next.
func (c *Core) policyFailed(number uint64, reason string) {
	p := &c.policy
	switch {
	case p.next != nil && p.next.number == number:
		p.next = nil
		p.problem = reason
		c.log(Warn, "a policy did not start", "generation", fmt.Sprint(number), "reason", reason)
	case p.current != nil && p.current.number == number:
		c.log(Warn, "the policy failed", "policy", p.current.name, "generation", fmt.Sprint(number), "reason", reason)
		p.current, p.inFlight, p.deciding = nil, false, nil
		p.problem = reason
		p.restarts++
		c.releaseAllClaims()
		c.answerSettings("the policy failed before it answered: " + reason)
		c.cutOver()
	}
}

// breach ends a generation that broke the contract. The shell starts another.
func (c *Core) breach(reason string) {
	number := c.policy.current.number
	c.act(PolicyGone{Generation: number, Breach: reason})
	c.policyFailed(number, reason)
}

// dropPolicies forgets the generations of the manager's last life.
func (c *Core) dropPolicies() {
	p := &c.policy
	p.current, p.next, p.inFlight, p.deciding, p.known = nil, nil, false, nil, false
	c.releaseAllClaims()
}

// PolicyState is what status shows of the policy's rounds.
type PolicyState struct {
	Generation uint64 // 0: none runs
	Starting   uint64 // 0: none is being started
	Policy     string // name in the configuration
	Name       string // as it says itself
	Version    string
	Abilities  scheduler.Ability
	// ProgressEvery is how often it wants progress; 0 when it wants none.
	ProgressEvery time.Duration
	Rounds        uint64
	Dropped       uint64 // answers of another round or generation
	Refusals      uint64 // decisions refused
	Restarts      int    // how often one failed
	Problem       string // the last; "" when one took over since
	InFlight      bool
}

// PolicyState returns the state of the policy's rounds.
func (c *Core) PolicyState() PolicyState {
	p := &c.policy
	s := PolicyState{
		Rounds: p.rounds, Dropped: p.dropped, Refusals: c.stats.refusals(), Restarts: p.restarts, Problem: p.problem, InFlight: p.inFlight,
	}
	if g := p.next; g != nil {
		s.Starting = g.number
	}
	if g := p.current; g != nil {
		s.Generation, s.Policy, s.Name, s.Version, s.Abilities = g.number, g.policy, g.name, g.version, g.abilities
		if g.abilities.Has(scheduler.AbilityProgress) {
			s.ProgressEvery = g.progressEvery
		}
	}
	return s
}
