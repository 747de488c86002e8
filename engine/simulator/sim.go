package simulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/loop/machines"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"google.golang.org/protobuf/proto"
)

// Options say what is simulated.
type Options struct {
	Seed uint64
	// Policies are what generations of the policy are drawn from. Those that are
	// Bad may err, and are replaced when the faults end.
	Policies []Policy
	// Trace, when not nil, is told every batch and action, for a person.
	Trace func(format string, args ...any)
	// ReplayEvery is how many steps of the log are replayed together; default 150.
	// With 1 a difference is found in the step that made it.
	ReplayEvery int
	// Replayed, when not nil, is told of each replay: the checkpoint at its beginning,
	// the batches of its log, and the checkpoint that they come to. Its error is the run's.
	Replayed func(from []byte, batches [][]byte, to []byte) error
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
	stepsMax  = 400_000 // a run that takes more goes round in circles
)

// Sim is one simulated history.
type Sim struct {
	loop.Loop
	opt  Options
	rand *rand.Rand

	steps   int
	err     error
	calm    bool // the faults have ended
	dying   bool // the manager logs what it decides, and ends before it acts, with the next batch
	log     [][]byte
	logged  []int // actions of each batch
	base    []byte
	history history
	given   map[uint64]given // what each attempt's id stands for
	frozen  *core.Frozen     // of the same moment, to be written when the core is far from it
	clients uint64
	waiting map[uint64]string // replies not there yet
	prepare map[uint64]*fakeJob

	cluster   machines.Cluster
	launchers []*fake
	byID      map[scheduler.LauncherID]*fake
	jobs      []*fakeJob
	byJob     map[uint64]*fakeJob
	policy    policyDriver
	ledger    *ledger
	storage   storage

	// Seen counts what happened, so that tests can tell that it happens.
	Seen map[string]int
}

// New makes a simulation.
func New(o Options) *Sim {
	s := &Sim{
		opt: o, rand: rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15)),
		waiting: map[uint64]string{}, prepare: map[uint64]*fakeJob{},
		given: map[uint64]given{}, byID: map[scheduler.LauncherID]*fake{}, byJob: map[uint64]*fakeJob{},
		Seen: map[string]int{}, storage: newStorage(), ledger: newLedger(),
	}
	s.cluster = machines.Cluster{
		Loop: &s.Loop, Job: s.runs, Seen: s.Seen, Wrong: func(err error) { s.fail("%v", err) },
		Ended: func(_ *machines.Attempt, e *wire.AttemptEnded) { s.Seen["end "+e.End.String()]++ },
	}
	s.At(start, func() {})
	s.Next()
	s.Gather = func() time.Duration { return s.upTo(2 * time.Millisecond) }
	s.Decide, s.Act = s.decide, s.act
	if s.opt.ReplayEvery == 0 {
		s.opt.ReplayEvery = 150
	}
	s.Core = core.New(s.settings())
	s.base, s.frozen = s.Core.Checkpoint(), s.Core.Freeze()
	s.history.keep(s.base)
	return s
}

// settings are short times, so that all of them pass in a run.
func (s *Sim) settings() core.Settings {
	c := core.DefaultSettings()
	c.TokenSeed, c.Simulated = identity, true
	c.LostMax = 100_000
	c.MemoryDefault = 64 << 20
	c.ReserveMax, c.ProtectFor, c.SuspendMax = 20*time.Second, 5*time.Second, 40*time.Second
	c.CommandTimeout, c.CommandTimeoutMax, c.CommandTries = 3*time.Second, 10*time.Second, 5
	c.SpeculationMin, c.SpeculationAfterPercent = 4*time.Second, 30
	c.UnplaceableAfter = time.Hour
	c.AdmissionMax, c.RequestTimeout, c.SettingsTimeout = 20*time.Second, 8*time.Second, 8*time.Second
	c.BlameAfter, c.BlameJobs, c.BlameFor = 2, 2, 30*time.Second
	c.PublishTries, c.PublishRetryMax, c.CleanTries, c.CleanMax = 1000, 5*time.Second, 1000, time.Hour
	c.AttemptsKept, c.NotesKept = 20, 5
	if few := []int{1, 300}; s.opt.Seed%4 < 2 { // so that lists come in several commands
		c.CommandBytes = few[s.opt.Seed%4]
	}
	c.StepWork, c.RoundEvents = 20, 8 // so that much is left to later steps
	return c
}

// Run plays the whole history. The error names what went wrong first.
func (s *Sim) Run() error {
	s.startManager()
	s.makeLaunchers()
	s.startPolicy()
	s.planJobs()
	s.planFaults()
	s.After(faultsFor, s.calmDown)
	for s.err == nil && !s.over() {
		if s.steps > stepsMax {
			s.fail("%d steps and no end", s.steps)
		}
		if s.Now() > start.Add(faultsFor+endWithin) {
			s.fail("jobs hang: %s", s.unfinished())
		}
		if !s.Next() {
			s.fail("nothing will ever happen any more: %s", s.unfinished())
		}
	}
	s.settleDown()
	s.replay()
	s.Seen["taken back"] += int(s.Core.Stats().TakenBack)
	return s.err
}

// over says whether all jobs have ended, those too whose end the log lost.
func (s *Sim) over() bool {
	return s.calm && !slices.ContainsFunc(s.jobs, func(j *fakeJob) bool { return !j.over }) && (!s.history.lost || s.Core.Stats().JobsLive == 0)
}

// settleDown lets all messages arrive, and looks for what is left.
func (s *Sim) settleDown() {
	end := s.Now().Add(settleFor)
	for at, ok := s.Upcoming(); s.err == nil && ok && at <= end; at, ok = s.Upcoming() {
		s.Next()
	}
	if s.err == nil {
		s.checkNothingLeft()
	}
}

func (s *Sim) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("at %v, step %d: %s", time.Duration(s.Now()-start), s.steps, fmt.Sprintf(format, args...))
	}
}

func (s *Sim) trace(format string, args ...any) {
	if s.opt.Trace != nil {
		s.opt.Trace("%v "+format, append([]any{time.Duration(s.Now() - start)}, args...)...)
	}
}

// expectAnswers gives the core what it finds in the policy's answers, as the manager does,
// in every other step; a replay reads the answers itself.
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
	s.steps++
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
	s.log, s.logged = append(s.log, data), append(s.logged, len(actions))
	s.history.add(data, actions)
	if s.Core.Now() <= before {
		s.fail("the core's time went from %d to %d", before, s.Core.Now())
	}
	if err := s.Core.Check(); err != nil {
		s.fail("%v", err)
	}
	if err := s.ledger.step(s, b.Inputs, actions); err != nil {
		s.fail("%v", err)
	}
	if len(s.log) >= s.opt.ReplayEvery {
		s.replay()
	}
	if s.dying {
		s.Seen["actions lost with the manager"]++
		s.dying = false
		s.restart()
		return nil
	}
	return actions
}

// replay restores the last checkpoint, steps it through the log since, and holds
// the result against the core, to the byte.
func (s *Sim) replay() {
	if s.err != nil {
		return
	}
	c, err := core.Restore(s.base)
	if err != nil {
		s.fail("a checkpoint can't be restored: %v", err)
		return
	}
	if !bytes.Equal(c.Checkpoint(), s.base) {
		s.fail("a restored checkpoint is not the same when it is written again")
		return
	}
	var frozen bytes.Buffer
	if err := s.frozen.Write(&frozen); err != nil || !bytes.Equal(frozen.Bytes(), s.base) {
		s.fail("a frozen state has changed with the core (%v)", err)
		return
	}
	for i, data := range s.log {
		b := &wire.Batch{}
		if err := proto.Unmarshal(data, b); err != nil {
			s.fail("a logged batch can't be read: %v", err)
			return
		}
		if n := len(c.Step(b)); n != s.logged[i] {
			s.fail("replay of batch %d of %d gives %d actions, and gave %d", i, len(s.log), n, s.logged[i])
			return
		}
	}
	now := s.Core.Checkpoint()
	if !bytes.Equal(c.Checkpoint(), now) {
		s.fail("the log of %d batches replays to another state", len(s.log))
		return
	}
	if s.opt.Replayed != nil {
		if err := s.opt.Replayed(s.base, s.log, now); err != nil {
			s.fail("%v", err)
			return
		}
	}
	s.base, s.frozen, s.log, s.logged = now, s.Core.Freeze(), nil, nil
	s.history.keep(now)
	s.Seen["replays"]++
}

// restart ends the manager and starts it again from its log.
func (s *Sim) restart() {
	s.replay()
	s.Seen["taken back"] += int(s.Core.Stats().TakenBack)
	if s.chance(250) && !s.calm {
		s.loseEnd()
	}
	c, err := core.Restore(s.base)
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.Seen["manager restarts"]++
	s.dying = false
	s.Restart(c)
	clear(s.waiting)
	clear(s.prepare)
	s.policy.forget()
	for _, f := range s.launchers {
		f.disconnect()
	}
	s.startManager()
	s.expectAll()
	s.startPolicy()
	// What the last life was told and did not log, clients ask again.
	for _, j := range s.jobs {
		if !j.over {
			s.submitAgain(j)
			s.jobChanged(j.id)
		}
	}
}

// startManager opens a life of the manager, before it hears of anything else.
func (s *Sim) startManager() {
	m := &wire.ManagerStart{Term: core.Term(s.Core.Term(), s.age()), AgeNs: int64(s.age())}
	s.Step([]*wire.Input{wire.NewInput(m)})
}

// act carries out an action.
func (s *Sim) act(a core.Action) {
	if s.opt.Trace != nil {
		s.trace("  %T %v", a, a)
	}
	switch a := a.(type) {
	case core.ToLauncher:
		s.deliver(a)
	case core.Welcome:
		s.welcome(a)
	case core.CutLauncher:
		s.Seen["cut launchers"]++
		if f := s.byID[a.Launcher]; f != nil {
			f.disconnect()
		}
	case core.AskPolicy:
		s.policy.ask(s, a)
	case core.StartPolicy:
		s.policy.start(s, a)
	case core.PolicyGone:
		s.policy.gone(s, a)
	case core.Reply:
		s.replied(a)
	case core.JobsChanged:
		s.checkEnded(a)
		for _, j := range a.Jobs {
			s.jobChanged(uint64(j))
		}
	case core.LogLine:
		s.Seen["log: "+a.Message]++
	}
}

// client makes the name of a caller who waits for a reply.
func (s *Sim) client(what string) uint64 {
	s.clients++
	s.waiting[s.clients] = what
	return s.clients
}

func (s *Sim) replied(r core.Reply) {
	what, ok := s.waiting[r.Client]
	if !ok {
		s.fail("client %d was answered and did not wait", r.Client)
		return
	}
	delete(s.waiting, r.Client)
	if j := s.prepare[r.Client]; j != nil {
		delete(s.prepare, r.Client)
		s.prepared(j, r)
		return
	}
	if what == "submit" {
		s.submitted(r)
	}
}

// upTo draws a duration below d.
func (s *Sim) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

// between draws a duration.
func (s *Sim) between(low, high time.Duration) time.Duration { return low + s.upTo(high-low) }

// chance is true in so many of a thousand cases.
func (s *Sim) chance(perMille int) bool { return s.rand.IntN(1000) < perMille }
