// Package policyhost keeps a policy running. It starts plug-ins, sends them rounds, and asks them
// about new settings. It restarts one that failed, and swaps policies between two rounds. The
// fallback, which is the FIFO in this process, replaces one that keeps failing.
//
// A policy has one name everywhere: the one in the configuration (Policy.Name). What a program
// calls itself (scheduler.Description.Name) is not shown. The name of the fallback is Fallback.
//
// # Invariants
//
// At most one generation decides, and at most one is being started beside it. A generation that has
// ended does not come back: its successor has another number. The file's settings are in force, or
// were rejected, or status says why they are not in force.
//
// # Failures
//
// A policy that crashes, passes its deadline or breaks the protocol is restarted with a fresh
// snapshot. After repeated failures the fallback takes over, and status says so. Running work
// never stops for it. An invalid configuration is never retried. A panic in any call ends the
// plug-in at once, and the message names the call. A plug-in's children end with it. Plug-ins that
// a killed manager left behind end when the next manager starts.
//
// The memory of a plug-in and its children is watched (policy.memory, half of the machine's by
// default). A round longer than policy.slowRound is reported in status, log and metrics. Each
// problem has a time, and goes when it is over.
//
// # New settings
//
// The running policy is asked about new settings, and may reject them. A policy that failed or
// timed out with new settings may have failed because of them. The old settings stay, and people
// are told how to ask again. When no policy got them, or another took over before it answered, they
// have no verdict. Then the next policy is asked. When the fallback takes over, a policy whose
// settings were not rejected is started beside it. So settings that break a policy leave the old
// ones in force. Right settings repair a policy that fails for another reason, in whichever order
// it happens.
//
// # Accepted configuration
//
// The configuration with which a policy has run is kept beside the event log
// (configuration.accepted). A manager that restarts while its file has mistakes, or names settings
// that the policy rejects, continues with that one. If it ended instead, running work would be lost
// with the lease. It reports that in its log, status and hamadryad_config_wrong, and takes the file
// when it is right.
//
// A configuration takes effect as a whole. The policy accepts its settings first, then
// Policy.InForce is called for everything else. That is when settings were accepted, or when
// another program has taken over. It is at once when nothing changes for the policy.
//
// # Calls beside rounds
//
// Pages, explanations, status and proofs are asked for one by one. After each, the manager waits
// nine times as long as it took. So however many callers there are, a round waits for one call at
// most, and rounds keep nine tenths of the time. At most 1,000 callers wait; others get an error
// that asks them to retry. Proofs of submissions have a queue of their own, so that a flood of
// requests blocks no job. Connections for pages are bounded, and idle ones are closed
// (webConnectionsMax, pageTimeout). BenchmarkRoundsUnderAttack measures rounds with and without a
// thousand clients.
//
// When an authenticator can't judge, the error's detail says so, and that nothing was done. A
// client reports the reason of its wait at once, and signs again. A change whose answer was lost is
// sent again under the same signature, which counts once. So it is made once, or the client says
// that the result is not known.
//
// # Notes
//
// A shell gets the confirmation of a note when the policy got it and the log has that round on disk
// (Durable), in order. So it can write the note's effect to a file or database, and no restart
// takes it back. Posts are delayed, and never dropped, while a thousand notes or 16 MiB of them are
// in flight to the policy.
//
// # Shadows
//
// A shadow is another policy's program that decides on the rounds of the deciding policy. It starts
// from a copy of the core, and the log has nothing of it. Its decisions are compared with those in
// force, and end as Shadowed. A round reaches the shadows after the policy has answered it, so none
// delays the policy. Asking costs as much as asking the deciding policy does, so the rounds within
// Policy.ShadowInterval are joined: a shadow gets all events, and decides once. Their queues are
// bounded; a shadow that is behind starts again.
//
// # Conditions
//
// Conditions has the current problems of policy and configuration, for status and metrics.
//
// # Pools
//
// PoolCache keeps the policy's last status of its pools, and the time since when each pool has been
// below its due share. That time survives restarts of the same policy. Views never ask the policy:
// all show the same last status, which has its time.
//
// The supervisor asks the policy once a second. Then it waits at least a hundred times as long as
// the answer took. So views cost at most 1 % of round time, whatever the number of readers. A policy
// that ends while it is asked is not asked again for ten minutes.
//
// The queue is in the policy's order (scheduler.Status.Queue), or by waiting time when it gives
// none. Policies that share slots compute it on a copy of the waiting work
// (algorithms/queueorder). With 10,000 waiting jobs that takes some 20 ms under fair, and no round
// waits for it.
package policyhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

const (
	// explainTimeout bounds the calls that status makes to a policy.
	explainTimeout = 2 * time.Second
	// startForgotten is for how long status shows a start without an answer, unless it is answered
	// before. A start is given up sooner.
	startForgotten = 2 * time.Minute
	// stallForgotten is for how much longer than the core's checks status shows that a policy stalls.
	stallForgotten = 5 * time.Second
)

// States of the policy, as PolicyReply names them. Fallback is also the name of the policy in this
// process.
const (
	Starting = "starting"
	Running  = "running"
	Fallback = "fallback"
	Failed   = "failed"
)

// Needs are the dependencies of a supervisor.
type Needs struct {
	Inbox      *inbox.Inbox
	Data       string // folder
	Plugin     func(context.Context, policy.Options) (policy.Host, error)
	Fallback   func() scheduler.TaskScheduler // makes the fallback
	Last       *Policy                        // accepted before this life; nil: none, or it was used
	Term       uint64
	NotesMax   int // bound of the core's notes for a policy
	Log        *slog.Logger
	Stats      *metrics.Metrics
	Conditions *Conditions
	Fatal      func(error) // ends the manager
	// Looked is called with the status of a policy's pools, about once a second; nil: no calls.
	Looked func(name string, generation uint64, at time.Time, s scheduler.Status)
	// Missing returns those of some jobs that are not live, as far as the manager's views show; nil:
	// jobs in a status are not checked.
	Missing func(ctx context.Context, jobs []scheduler.JobID) ([]scheduler.JobID, error)
}

// problem sets and counts a problem of the policy with a name in the configuration. The text names
// it. The problem ends by itself after a while; 0: when it is cleared.
func (n *Needs) problem(kind, policy string, after time.Duration, text string) {
	n.Conditions.Set(kind, text, after)
	n.Stats.PolicyProblem(kind, policy)
}

// New returns a supervisor that ends with ctx, and runs no policy yet.
func New(ctx context.Context, of Needs) *Supervisor {
	s := &Supervisor{needs: of, ctx: ctx, accepted: acceptance{folder: of.Data}, live: map[uint64]*policyProcess{}, state: Starting}
	s.shadows = &shadows{needs: &s.needs, ctx: ctx}
	s.rounds = rounds{needs: &s.needs, ctx: ctx, slow: slow{needs: &s.needs}, shadows: s.shadows}
	s.poll = statusPoll{needs: &s.needs, ctx: ctx}
	return s
}

// Supervisor keeps a policy running. It starts plug-ins, restarts them when they fail, and swaps
// them. When a plug-in keeps failing, the fallback takes over. Its parts carry rounds (rounds), ask
// for the policy's status (statusPoll), and keep shadows (shadows). Its methods may be called from
// any goroutine and do not block; long work runs in goroutines that end with ctx or with their host.
type Supervisor struct {
	needs    Needs
	ctx      context.Context
	accepted acceptance
	rounds   rounds
	poll     statusPoll
	shadows  *shadows

	mu       sync.Mutex
	starts   uint32                    // generations begun in this life
	spec     Policy                    // the policy to run
	live     map[uint64]*policyProcess // all that have not ended
	current  *policyProcess            // the newest started one
	incoming *policyProcess            // being started; beside current when this is a swap
	failures failureHistory
	state    string
	since    time.Time // when current took over
	restarts uint32
	changes  changes
	everRan  bool
	closed   bool
	wait     sync.WaitGroup

	sending sync.Mutex // held while settings are sent
}

// policyProcess is one generation of a policy.
type policyProcess struct {
	generation uint64
	name       string // of the policy in the configuration
	spec       Policy
	inProcess  bool
	host       policy.Host // nil until it is launched
	described  scheduler.Description
	announced  bool // the core knows the generation
	known      bool // the core knows that it has started
	mends      bool // it was requested: when it runs, earlier problems are over
	ended      bool
	rounds     chan *scheduler.Round // capacity 1: one round is in flight at a time
	inFlight   *inFlightNotes
	durable    chan uint64   // capacity 1: the last round with notes that is on the disk
	end        chan struct{} // closed when ended
	latency    latency
	outcomes   []outcome // nil when it has taken over, or why it did not
	listed     listedJobs
	wakeMin    time.Duration // least time between two wakes; set before its first round
	hurried    atomic.Bool   // its last answer asked for a wake sooner than wakeMin
}

// config are the settings for its start; with the supervisor's lock held.
func (h *policyProcess) config() scheduler.Config {
	if h.inProcess {
		return scheduler.Config{} // the settings of spec are another policy's
	}
	return h.spec.Config
}

// await returns its outcome; with the supervisor's lock held.
func (h *policyProcess) await() <-chan error {
	o := newOutcome()
	h.outcomes = append(h.outcomes, o)
	return o
}

// resolve sends its outcome to all waiters; with the supervisor's lock held.
func (h *policyProcess) resolve(err error) {
	for _, o := range h.outcomes {
		o.set(err)
	}
}

// BeginWith starts the policy that the configuration names. The outcome comes once: nil when it has
// taken over.
func (s *Supervisor) BeginWith(spec Policy) <-chan error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.launch(spec, false); h != nil {
		return h.await()
	}
	return outcomeOf(inbox.ErrStopping)
}

// launch starts a generation; with mu held. Numbers grow over restarts of the
// manager too.
func (s *Supervisor) launch(spec Policy, inProcess bool) *policyProcess {
	if s.closed {
		return nil
	}
	s.starts++
	name := spec.Name
	if inProcess {
		name = Fallback
	}
	s.needs.Stats.CountProblems(name, policyConditions...)
	h := &policyProcess{
		generation: wire.NewEpochID(s.needs.Term, uint64(s.starts)), name: name, spec: spec, inProcess: inProcess,
		inFlight: newInFlightNotes(s.needs.NotesMax), rounds: make(chan *scheduler.Round, 1), durable: make(chan uint64, 1), end: make(chan struct{}),
	}
	s.spec, s.incoming, s.live[h.generation] = spec, h, h
	if s.current == nil {
		s.state = Starting
	}
	s.wait.Go(func() {
		host, err := s.needs.open(s.ctx, spec, inProcess)
		if err != nil {
			s.failed(h, err)
			return
		}
		s.launched(h, host)
	})
	return h
}

// open starts the process and lets it check its settings. The spec is the one at the launch: a
// configuration that changes nothing for the policy may replace the process's own meanwhile.
func (n *Needs) open(ctx context.Context, spec Policy, inProcess bool) (policy.Host, error) {
	if inProcess {
		return policy.InProcess(n.Fallback()), nil
	}
	return checked(ctx, n.Plugin, spec, policy.Options{Dir: SocketFolder(n.Data), Log: n.Log.With("policy", spec.Name), Mark: pluginMark(n.Data)})
}

// checked starts a policy's program and has it check its settings. The policy's spec gives the
// other options.
func checked(ctx context.Context, launch func(context.Context, policy.Options) (policy.Host, error), spec Policy, o policy.Options) (policy.Host, error) {
	o.Path, o.Checksum, o.StartTimeout, o.Memory, o.Environment = spec.Path, spec.Checksum, spec.StartTimeout, spec.Memory, spec.Environment
	o.Transport = spec.Transport
	host, err := launch(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := host.Check(ctx, spec.Config); err != nil {
		host.Close()
		return nil, err
	}
	return host, nil
}

// Validate has the programs of a policy and of its shadows check their settings, each in a process
// of its own beside the running ones. The error is in the policy's own words. data is the folder of
// the manager that owns the processes; "": none.
func Validate(ctx context.Context, spec Policy, data string) error {
	for _, s := range append([]Policy{spec}, spec.Shadows...) {
		if err := validate(ctx, s, data); err != nil {
			return err
		}
	}
	return nil
}

func validate(ctx context.Context, spec Policy, data string) error {
	o := policy.Options{Dir: SocketFolder(data), Log: slog.New(slog.DiscardHandler)}
	if data != "" {
		o.Mark = pluginMark(data)
	}
	host, err := checked(ctx, policy.Launch, spec, o)
	if err != nil {
		return spec.placed(err)
	}
	host.Close()
	return nil
}

// Pools are the pools that a policy has under its settings without any job. A policy process
// started for that alone lists them, without its store and with one launcher. False: the policy
// does not list all its pools.
func Pools(ctx context.Context, spec Policy, kinds []scheduler.SlotKind, limits scheduler.Limits) (names []string, all bool, err error) {
	host, err := checked(ctx, policy.Launch, spec, policy.Options{Dir: SocketFolder(""), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, false, spec.placed(err)
	}
	defer host.Close()
	if len(kinds) == 0 {
		kinds = []scheduler.SlotKind{scheduler.DefaultKind}
	}
	joined := scheduler.LauncherJoined{Launcher: 1, Name: "launcher"}
	for _, k := range kinds {
		joined.Slots = append(joined.Slots, scheduler.SlotCount{Kind: k, Count: 1})
	}
	if _, err := host.Start(ctx, spec.Config, scheduler.Snapshot{Events: []scheduler.Event{joined}}, scheduler.Environment{Heartbeat: time.Second, Kinds: kinds, Limits: limits, Simulated: true}); err != nil {
		return nil, false, spec.placed(err)
	}
	shown, err := host.Status(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, p := range shown.Pools {
		names = append(names, p.Name)
	}
	return names, shown.AllPools, nil
}

// placed gives each mistake of a policy a place, if the policy named none: that of its settings, or
// of the key that names it.
func (p *Policy) placed(err error) error {
	var list scheduler.Problems
	if !errors.As(err, &list) {
		if p.Place != "" {
			err = fmt.Errorf("%s: %w", p.Place, err)
		}
		return shortened(err)
	}
	list = slices.Clone(list)
	for i := range list {
		x := &list[i]
		switch at := p.Config; {
		case x.Line != 0 || x.File != "" && x.File != at.File:
		case at.Line != 0:
			x.File, x.Line = at.File, at.Line
		case p.Place != "":
			x.File, x.Message = "", p.Place+": "+x.Message
		}
	}
	return shortened(list)
}

func (s *Supervisor) launched(h *policyProcess, host policy.Host) {
	s.mu.Lock()
	if h.ended { // a newer generation replaced it
		s.mu.Unlock()
		host.Close()
		return
	}
	h.host, h.announced = host, true
	for _, run := range []func() error{h.watch, func() error { return s.rounds.carry(h, func() time.Duration { return s.slowRound(h) }) }} {
		s.wait.Go(func() {
			if err := run(); err != nil {
				s.failed(h, err)
			}
		})
	}
	s.wait.Go(func() { h.forwardNotes(s.ctx, s.input) })
	s.wait.Go(func() { h.notifyDurable(s.ctx) })
	config := h.config()
	s.mu.Unlock()
	s.input(wire.NewPolicyStart(&wire.PolicyStart{Generation: h.generation, Policy: h.name, Fallback: h.inProcess}, config))
}

// input hands an input to the core; it fails only when the manager ends.
func (s *Supervisor) input(in *wire.Input) { _ = s.needs.Inbox.Input(s.ctx, in) }

// Start gives the core's snapshot to a generation.
func (s *Supervisor) Start(a core.StartPolicy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.live[a.Generation]
	if h == nil {
		s.wait.Go(func() { s.reportFailed(a.Generation, "it has ended") })
		return
	}
	env := a.Environment
	env.Store, env.Trace = h.spec.Store, h.spec.Trace
	h.wakeMin = env.WakeMin
	config := h.config()
	s.wait.Go(func() {
		answered := s.needs.watchStart(h, s.slowRound(h))
		d, err := h.host.Start(s.ctx, config, a.Snapshot(), env)
		answered()
		if err != nil {
			s.failed(h, err)
			return
		}
		s.started(h, d)
	})
}

func (s *Supervisor) started(h *policyProcess, d scheduler.Description) {
	d.Name, d.Version = limits.Cut(d.Name, limits.TextBytesMax), limits.Cut(d.Version, limits.TextBytesMax)
	s.mu.Lock()
	if h.ended {
		s.mu.Unlock()
		return
	}
	h.described = d
	s.current, s.incoming, s.since = h, nil, time.Now()
	s.everRan = true
	s.state = Running
	s.needs.Conditions.Clear(ConditionChange, ConditionRounds, ConditionStatus, ConditionStall, ConditionJobs, ConditionBusy)
	if h.inProcess {
		s.state = Fallback
	} else {
		s.failures.pause = 0
		if h.mends {
			s.needs.Conditions.Clear(ConditionPolicy)
		}
		s.needs.Conditions.ClearAfter(ConditionPolicy, h.spec.FailuresWindow)
		s.accept(h.spec, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			h.resolve(nil)
		})
	}
	s.mu.Unlock()
	if s.needs.Looked != nil {
		s.wait.Go(func() { s.poll.run(h) })
	}
	s.needs.Log.Info("the policy runs", "policy", h.name, "version", d.Version, "generation", h.generation, "pid", h.host.PID())
	s.input(wire.NewPolicyStarted(h.generation, d))
	s.mu.Lock()
	defer s.mu.Unlock()
	h.known = true
	s.pursue()
}

// Gone ends a generation that the core no longer uses: after a cut-over, or because its answer
// broke the contract.
func (s *Supervisor) Gone(a core.PolicyGone) {
	s.mu.Lock()
	h := s.live[a.Generation]
	if h != nil && a.Breach == "" {
		s.end(h)
	}
	s.mu.Unlock()
	switch {
	case h == nil || a.Breach == "":
	case a.Stalled:
		s.failed(h, &stallError{a.Breach})
	default:
		s.failed(h, errors.New(a.Breach))
	}
}

// Stalls reports a generation that leaves a job without attempts, and goes on.
func (s *Supervisor) Stalls(a core.PolicyStalls) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	if h == nil {
		return
	}
	text := fmt.Sprintf("the policy %s %s", h.name, a.Problem)
	s.needs.problem(ConditionStall, h.name, a.Every+stallForgotten, text)
	s.needs.Log.Warn("the policy leaves a job without attempts", "policy", h.name, "generation", h.generation, "problem", text)
}

// end closes a generation; with mu held.
func (s *Supervisor) end(h *policyProcess) {
	if h.ended {
		return
	}
	h.ended = true
	h.resolve(ErrNewer)
	close(h.end)
	delete(s.live, h.generation)
	if h.host != nil {
		s.wait.Go(h.host.Close)
	}
}

// failed removes a generation that could not start, died, hung or broke the contract, and decides
// what replaces it.
func (s *Supervisor) failed(h *policyProcess, err error) {
	err = shortened(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.ended {
		return
	}
	h.resolve(err)
	s.end(h)
	if s.closed {
		return
	}
	if h.announced {
		s.wait.Go(func() { s.reportFailed(h.generation, err.Error()) })
	}
	log := s.needs.Log.With("policy", h.name, "generation", h.generation, "error", err)
	switch {
	case h == s.incoming && s.current != nil:
		s.incoming, s.spec = nil, s.current.spec
		s.needs.problem(ConditionChange, h.name, 0, fmt.Sprintf("the policy %s could not take over from %s, which goes on: %v", h.name, s.current.name, problemsOf(err)))
		log.Error("the new policy could not take over: the old one goes on")
		s.pursue()
		return
	case h != s.incoming && h != s.current:
		log.Warn("a policy that was replaced failed")
		return
	}
	s.incoming, s.current = nil, nil
	if policy.KindOf(err) == policy.Invalid {
		if s.needs.Last != nil && !s.everRan {
			s.rejected(h, err)
			return
		}
		s.needs.problem(ConditionPolicy, h.name, 0, fmt.Sprintf("the policy %s rejects its settings:\n%v", h.name, problemsOf(err)))
		s.state = Failed
		log.Error("the policy rejects its settings: nothing new is scheduled until they are changed")
		if !s.everRan {
			s.needs.Fatal(fmt.Errorf("policy %s rejects its settings:\n%w", h.name, problemsOf(err)))
		}
		s.pursue()
		return
	}
	s.needs.problem(ConditionPolicy, h.name, 0, fmt.Sprintf("the policy %s failed: %v", h.name, err))
	var stall *stallError
	s.restart(h, errors.As(err, &stall), log)
}

// rejected starts the last accepted policy in place of one that rejects its settings at the
// manager's start: running work must not wait, and be lost, for a mistake in a file; with mu held.
func (s *Supervisor) rejected(h *policyProcess, err error) {
	last := *s.needs.Last
	s.needs.Last = nil
	s.needs.problem(ConditionSettings, h.name, 0, fmt.Sprintf("the policy %s rejects its settings, those that were accepted last are in force:\n%v", h.name, problemsOf(err)))
	s.needs.Log.Error("the policy rejects its settings: those that were accepted last stay in force, the file's are taken when they are right",
		"policy", h.name, "last", last.Name, "error", problemsOf(err))
	last.Fill()
	s.launch(last, false)
}

// accept puts the configuration of a policy that accepted its settings in force as a whole, and
// then calls then. It is called with mu held, and does not wait with it.
func (s *Supervisor) accept(spec Policy, then func()) {
	s.accepted.accept(spec)
	s.shadows.configure(spec)
	s.wait.Go(func() {
		if err := s.accepted.flush(); err != nil {
			s.needs.Log.Warn("a manager that starts while the configuration is wrong will not find this one", "error", err)
		}
		then()
	})
}

// problemsOf leaves out the frames round a policy's own words.
func problemsOf(err error) error {
	var p scheduler.Problems
	if errors.As(err, &p) {
		err = p
	}
	return shortened(err)
}

// shortened is an error with a bounded text, whatever a plug-in put into it: it goes into log,
// event log and status.
func shortened(err error) error {
	if err == nil || len(err.Error()) <= limits.FailureTextMax {
		return err
	}
	return &shortError{limits.Cut(err.Error(), limits.FailureTextMax), err}
}

type shortError struct {
	text string
	err  error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.err }

// restart restarts the policy, or starts the fallback when the policy has failed too often, or
// stalled, which it would do again; with mu held.
func (s *Supervisor) restart(h *policyProcess, stalled bool, log *slog.Logger) {
	s.restarts++
	s.needs.Stats.Restart()
	failed := s.failures.add(time.Now(), h.spec.FailuresWindow)
	if (stalled || failed >= h.spec.FailuresMax) && !h.inProcess {
		log.Error("the policy failed too often, or stalled: the fallback takes over until the configuration changes or \"hamadryad policy reload\" is asked for", "failures", failed)
		s.launch(h.spec, true)
		return
	}
	pause, starts := s.failures.nextPause(), s.starts
	log.Warn("the policy failed and is started again", "after", pause)
	s.state = Starting
	s.wait.Go(func() {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.starts != starts { // another start came meanwhile
			return
		}
		spec := h.spec
		if SameSettings(spec, s.spec) { // the rest of its configuration may have changed
			spec = s.spec
		}
		s.launch(spec, h.inProcess)
	})
}

// stallError is the failure of a policy that answers and never launches anything.
type stallError struct{ reason string }

func (e *stallError) Error() string { return e.reason }

func (s *Supervisor) reportFailed(generation uint64, reason string) {
	s.input(wire.NewInput(&wire.PolicyFailed{Generation: generation, Reason: reason}))
}

// SocketFolder is the folder for the sockets of a manager's plug-ins; data, the manager's folder,
// may be empty. The path of a Unix socket is bounded, so it is the first short enough one of: below
// data, below TMPDIR, below /tmp. Several managers may share it.
func SocketFolder(data string) string {
	shared := fmt.Sprintf("hamadryad-policy-%d", os.Getuid())
	candidates := []string{filepath.Join(os.TempDir(), shared)}
	if own, err := filepath.Abs(filepath.Join(data, "policy")); err == nil && data != "" {
		candidates = []string{own, candidates[0]}
	}
	for _, path := range candidates {
		if len(path) <= policy.DirBytesMax {
			return path
		}
	}
	return filepath.Join("/tmp", shared)
}

// EndOrphans ends the processes that the policies of a killed manager left behind.
func EndOrphans(data string) error { return proctree.KillMarked(pluginMark(data)) }

// pluginMark is in the environment of all plug-ins of a manager with a data folder, and of their
// child processes.
func pluginMark(data string) proctree.Mark {
	if own, err := filepath.Abs(data); err == nil {
		data = own
	}
	return proctree.Mark("HAMADRYAD_POLICY_OF=" + data)
}

// settingsBytes encodes settings for the log.
func settingsBytes(c scheduler.Config) ([]byte, error) {
	m, err := schedwire.NewConfig(c)
	if err != nil {
		return nil, fmt.Errorf("the policy's settings: %w", err)
	}
	return proto.Marshal(m)
}

// Close ends all generations and waits for them.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	for _, h := range s.live {
		s.end(h)
	}
	s.mu.Unlock()
	s.shadows.close()
	s.wait.Wait()
}
