package faultsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"google.golang.org/protobuf/proto"
)

// Options configure a simulation.
type Options struct {
	Seed uint64
	// Policies are drawn for the generations of the policy. Bad ones may err, and are replaced when
	// the faults end.
	Policies []Policy
	// Trace, when not nil, gets every batch and action, for a person.
	Trace func(format string, args ...any)
	// ReplayEvery is how many steps of the log are replayed together; default 150.
	// With 1 a difference is found in the step that made it.
	ReplayEvery int
	// Replayed, when not nil, gets each replay: the checkpoint at its beginning, the batches of its
	// log, and the checkpoint at its end. Its error is the run's.
	Replayed func(from []byte, batches [][]byte, to []byte) error
	// OnFacts, when not nil, is called with the facts of each step and their core: another one
	// after a restart. Its error is the run's.
	OnFacts func(c *core.Core, f core.Changes) error

	settings func(*core.Settings)   // for tests, has the core follow other rules than are checked; nil: it does not
	tamper   func(*scheduler.Round) // likewise, has it send something wrong
	forge    func(*wire.Input)      // likewise, has it get something else than was sent
}

// Policy is one kind of policy to draw.
type Policy struct {
	Name string
	New  func() scheduler.TaskScheduler
	Bad  bool // it may break the contract, or starve jobs
}

// The bounds of a run, in virtual time.
const (
	faultsFor = 4 * time.Minute  // after that nothing new goes wrong
	endWithin = 4 * time.Hour    // after that all jobs must have ended
	settleFor = 10 * time.Minute // after the last end, until nothing may be left
	start     = scheduler.Time(1_000_000_000_000)
	stepsMax  = 400_000 // a longer run is an endless loop
)

// Sim is one simulated history. It joins the parts of it, and is the manager's shell: it steps the
// core, logs, carries out actions, crashes, and restarts.
type Sim struct {
	*play
	opt       Options
	clients   *clients
	fleet     *fleet
	policy    *driver
	records   *records
	ledger    *ledger
	schedules *schedules
	shown     *shown
	site      *site
	jobsGiven uint64 // the largest job number that a client got
	limits    *rand.Rand
	dying     bool // the manager logs its decisions, and ends before it acts, with the next batch
}

// New makes a simulation.
func New(o Options) *Sim {
	s := &Sim{play: newPlay(o), opt: o}
	s.At(start, func() {})
	s.Next()
	s.Gather = func() time.Duration { return s.upTo(2 * time.Millisecond) }
	s.Decide, s.Act = s.decide, s.act
	first := s.settings()
	first.UserLimits = s.drawUserLimits()
	s.site = newSite(first, o.settings)
	s.Core = core.New(s.site.given())
	s.Core.TokensFrom(token)
	s.shown = newShown(s.Core)
	s.records = newRecords(s.play, o)
	s.clients = newClients(s.play)
	s.fleet = newFleet(s.play, s.clients)
	s.policy = newDriver(s.play, o.Policies, s.site, o.tamper)
	s.ledger = newLedger(s.clients, func() core.Settings { return s.site.now })
	s.schedules = newSchedules(s.play, o.Seed, s.clients, func() *runAccount { return s.ledger.scheduled })
	s.clients.ofRuns = s.schedules
	return s
}

// settings are short times, so that all of them pass in a run.
func (s *Sim) settings() core.Settings {
	c := core.DefaultSettings()
	c.Identity, c.Simulated = identity, true
	c.LostMax = 100_000
	c.MemoryDefault = 64 << 20
	c.ReserveMax, c.ProtectFor, c.SuspendMax = 20*time.Second, 5*time.Second, 40*time.Second
	c.CommandTimeout, c.CommandTimeoutMax, c.CommandTries = 3*time.Second, 10*time.Second, 5
	c.SpeculationMin, c.SpeculationAfterPercent = 4*time.Second, 30
	if s.opt.Seed%3 == 0 {
		c.SpeculationSuspended = 5 * time.Second
	}
	c.SuspendedMax, c.SuspendedPercent = 1+int(s.opt.Seed%5), []int{20, 50, 100}[s.opt.Seed%3]
	c.AheadMax, c.AheadBelow, c.AheadFor = 1+int(s.opt.Seed%2), 20*time.Second, 10*time.Second
	c.UnplaceableAfter = time.Hour
	c.AdmissionMax, c.RequestTimeout, c.SettingsTimeout = 20*time.Second, 8*time.Second, 8*time.Second
	c.ExcludeAfter, c.ExcludeJobs, c.ExcludeFor = 2, 2, 30*time.Second
	c.PublishTries, c.PublishRetryMax, c.CleanTries, c.CleanMax = 1000, 5*time.Second, 1000, time.Hour
	c.AttemptsKept, c.NotesKept = 20, 5
	c.Schedules.Lease, c.Schedules.RunsKept, c.Schedules.RunsMax, c.Schedules.TriesMax = runLease, 3, 3, 3
	if few := []int{1, 300}; s.opt.Seed%4 < 2 { // so that lists come in several commands
		c.CommandBytes = few[s.opt.Seed%4]
	}
	c.StepWork, c.RoundEvents = 20, 8 // so that much is left to later steps
	return c
}

// Run plays the whole history. The error names what went wrong first.
func (s *Sim) Run() error {
	s.startManager()
	s.fleet.make()
	s.policy.startNext()
	d := &drawing{s.play, s.fleet.first(), wire.ResourcesOf(s.fleet.list[0].Resources)}
	s.clients.plan(d)
	s.clients.drawDependencies(rand.New(rand.NewPCG(s.opt.Seed, dependencyStream)))
	s.clients.drawArrays(rand.New(rand.NewPCG(s.opt.Seed, elementStream)))
	s.clients.drawAdapted(rand.New(rand.NewPCG(s.opt.Seed, adaptStream)))
	s.clients.drawAggregated(rand.New(rand.NewPCG(s.opt.Seed, aggregateStream)))
	s.schedules.plan(d)
	s.planFaults()
	s.After(faultsFor, s.endFaults)
	for s.err == nil && (!s.clients.over() || !s.schedules.over()) {
		if s.steps > stepsMax {
			s.fail("%d steps and no end", s.steps)
		}
		if s.Now() > start.Add(faultsFor+endWithin) {
			s.fail("jobs or runs hang: %s%v", s.clients.unfinished(), s.ledger.scheduled.unfinished())
		}
		if !s.Next() {
			s.fail("nothing will ever happen any more: %s%v", s.clients.unfinished(), s.ledger.scheduled.unfinished())
		}
	}
	s.drain()
	s.records.replay()
	s.Seen["taken back"] += int(s.Core.Stats().Reclaimed)
	return s.err
}

// drain lets all messages arrive, and looks for leftovers.
func (s *Sim) drain() {
	s.schedules.end()
	end := s.Now().Add(settleFor)
	for at, ok := s.Upcoming(); s.err == nil && ok && at <= end; at, ok = s.Upcoming() {
		s.Next()
	}
	if s.err == nil {
		s.checkNothingLeft()
	}
}

// expectAnswers gives the core the decoded decisions of the policy's answers, as the manager does,
// in every other step; a replay decodes the answers itself.
func (s *Sim) expectAnswers(inputs []*wire.Input) {
	for _, in := range inputs {
		if m := in.GetPolicyAnswer(); m != nil && s.steps%2 == 0 {
			if d, err := schedwire.DecodeDecisions(m.Decisions); err == nil {
				s.Core.ExpectAnswer(m, d)
			}
		}
	}
}

// decide is the manager's shell: it steps the core, logs the batch, and returns the
// actions to be carried out; none when the manager dies before it does.
func (s *Sim) decide(b *wire.Batch) []core.Action {
	if s.err != nil {
		return nil
	}
	s.step()
	sent := b
	if s.opt.forge != nil {
		b = proto.CloneOf(b)
		for _, in := range b.Inputs {
			s.opt.forge(in)
		}
	}
	data, err := proto.Marshal(b)
	if err != nil {
		s.fail("a batch can't be logged: %v", err)
		return nil
	}
	before := s.Core.Now()
	if s.opt.Trace != nil {
		s.trace("batch %v", b)
	}
	s.expectAnswers(b.Inputs)
	actions := s.Core.Step(b)
	if slices.ContainsFunc(b.Inputs, func(in *wire.Input) bool { return in.GetSite() != nil }) {
		s.site.inForce(s.Core.Now())
	}
	s.records.add(data, actions)
	if s.Core.Now() <= before {
		s.fail("the core's time went from %d to %d", before, s.Core.Now())
	}
	if err := s.Core.Check(); err != nil {
		s.fail("%v", err)
	}
	if err := s.told(actions); err != nil {
		s.fail("%v", err)
	}
	if err := s.ledger.step(sent, actions); err != nil {
		s.fail("%v", err)
	}
	if s.records.long() {
		s.records.replay()
	}
	if s.dying {
		s.Seen["actions lost with the manager"]++
		s.dying = false
		s.restart()
		return nil
	}
	return actions
}

// told compares a step's changes with the core's state.
func (s *Sim) told(actions []core.Action) error {
	f, err := factsOf(actions)
	if err != nil {
		return err
	}
	if err := s.shown.step(s.Core, f, s.steps%shownEvery == 0); err != nil || s.opt.OnFacts == nil {
		return err
	}
	return s.opt.OnFacts(s.Core, f)
}

// restart ends the manager and starts it again from its log.
func (s *Sim) restart() {
	s.records.replay()
	s.Seen["taken back"] += int(s.Core.Stats().Reclaimed)
	if s.chance(250) && !s.calm {
		s.loseEnd()
	}
	c, err := s.records.restored()
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.Seen["manager restarts"]++
	s.dying = false
	s.Restart(c)
	s.shown = newShown(c)
	s.clients.forget()
	s.policy.forget()
	s.fleet.disconnect()
	s.schedules.forget()
	s.startManager()
	s.fleet.expectAll()
	s.policy.startNext()
	s.clients.askAgain()
}

// loseEnd has the log forget its last batches. The ledger is restored with it.
func (s *Sim) loseEnd() {
	s.clients.lost()
	s.schedules.lost()
	if !s.records.loseEnd() {
		return
	}
	s.ledger = s.ledger.again()
	for b, actions := range s.records.all() {
		if err := s.ledger.step(b, actions); err != nil {
			s.fail("on the way back: %v", err)
			return
		}
	}
}

// startManager opens a life of the manager, before its first other input, with the site's settings.
func (s *Sim) startManager() {
	m := &wire.ManagerStart{Term: core.Term(s.Core.Term(), s.age()), AgeNs: int64(s.age())}
	if s.chance(700) { // the file that says so is there, and no copy
		m.JobsKnown, m.JobsGiven = true, s.jobsGiven+uint64(s.rand.IntN(100))
	}
	s.Step([]*wire.Input{s.site.input(), wire.NewInput(m)})
}

// act carries out an action.
func (s *Sim) act(a core.Action) {
	if s.opt.Trace != nil {
		s.trace("  %T %v", a, a)
	}
	switch a := a.(type) {
	case core.ToLauncher:
		s.fleet.deliver(a)
	case core.Welcome:
		s.fleet.welcome(a)
	case core.AskPolicy:
		s.policy.ask(a)
	case core.StartPolicy:
		s.policy.start(a)
	case core.PolicyGone:
		s.policy.gone(a)
	case core.PolicyStalls:
		s.policy.stalls(a)
	case core.Reply:
		s.jobsGiven = max(s.jobsGiven, uint64(a.Job))
		s.clients.replied(a)
	case core.SchedulesChanged:
		s.schedules.changed(a)
	case core.JobsChanged:
		s.clients.checkEnded(a)
		for _, j := range a.Jobs {
			s.clients.jobChanged(uint64(j))
		}
	case core.LogLine:
		s.Seen["log: "+a.Message]++
	}
}
