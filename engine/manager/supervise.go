package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

const (
	// A failed policy is started again after restartMin, doubling to restartMax.
	restartMin = 100 * time.Millisecond
	restartMax = 10 * time.Second
	// explainTimeout bounds the questions that status asks of a policy.
	explainTimeout = 2 * time.Second
)

// States of the policy, as PolicyReply names them.
const (
	stateStarting = "starting"
	stateRunning  = "running"
	stateFallback = "fallback"
	stateFailed   = "failed"
)

// supervisor keeps a policy running: it starts plug-ins, takes rounds to them,
// starts them again when they fail, swaps them, and falls back to the policy in
// this process when a plug-in keeps failing. Its methods may be called from any
// goroutine and do not block; what takes time happens in goroutines that end with
// ctx or with their host.
type supervisor struct {
	ctx      context.Context
	put      func(context.Context, entry) error
	plugin   func(context.Context, policy.Options) (policy.Host, error)
	fallback func() scheduler.TaskScheduler
	sockets  string // folder
	term     uint64
	log      *slog.Logger
	stats    *metrics
	problems *problems
	keeper   *keeper
	last     *Policy       // accepted before this life; nil: none, or it was taken
	mark     proctree.Mark // of its plug-ins
	fatal    func(error)
	refused  refusalLog

	mu       sync.Mutex
	starts   uint32             // generations begun in this life
	spec     Policy             // what is to run
	live     map[uint64]*hosted // all that have not ended
	current  *hosted            // the newest that was started
	incoming *hosted            // being started; beside current when this is a swap
	failures []time.Time        // within the window
	pause    time.Duration      // before the next start
	state    string
	since    time.Time // when current took over
	restarts uint32
	changes  changes
	everRan  bool
	slowSaid time.Time // when the log said last that the policy is slow
	closed   bool
	wait     sync.WaitGroup

	sending sync.Mutex // held while settings are sent
}

// hosted is one generation of a policy.
type hosted struct {
	generation uint64
	spec       Policy
	inProcess  bool
	host       policy.Host // nil until it is launched
	described  scheduler.Description
	announced  bool // the core knows the generation
	known      bool // the core knows that it has started
	mends      bool // somebody asked for it: what was wrong before is told no more
	ended      bool
	rounds     chan *scheduler.Round // capacity 1: one round is in flight at a time
	end        chan struct{}         // closed when ended
	pace       pace
	outcome    chan error // capacity 1: nil when it has taken over, or why it did not
}

// took tells who waits for it what became of it; only the first word counts.
func (h *hosted) took(err error) {
	select {
	case h.outcome <- err:
	default:
	}
}

// begin starts the policy that the configuration names.
func (s *supervisor) begin(spec Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launch(spec, false)
}

// launch starts a generation; with mu held. Numbers grow over restarts of the
// manager too.
func (s *supervisor) launch(spec Policy, inProcess bool) *hosted {
	if s.closed {
		return nil
	}
	s.starts++
	h := &hosted{
		generation: number(s.term, uint64(s.starts)), spec: spec, inProcess: inProcess,
		rounds: make(chan *scheduler.Round, 1), end: make(chan struct{}), outcome: make(chan error, 1),
	}
	s.spec, s.incoming, s.live[h.generation] = spec, h, h
	if s.current == nil {
		s.state = stateStarting
	}
	s.wait.Go(func() {
		host, err := s.open(h)
		if err != nil {
			s.failed(h, err)
			return
		}
		s.launched(h, host)
	})
	return h
}

// open starts the process and lets it check its settings.
func (s *supervisor) open(h *hosted) (policy.Host, error) {
	if h.inProcess {
		return policy.InProcess(s.fallback()), nil
	}
	host, err := s.plugin(s.ctx, policy.Options{
		Path: h.spec.Path, Checksum: h.spec.Checksum, Dir: s.sockets,
		Log: s.log.With("policy", h.spec.Name), StartTimeout: h.spec.StartTimeout, Memory: h.spec.Memory, Mark: s.mark,
	})
	if err != nil {
		return nil, err
	}
	if err := host.Check(s.ctx, h.spec.Config); err != nil {
		host.Close()
		return nil, err
	}
	return host, nil
}

func (s *supervisor) launched(h *hosted, host policy.Host) {
	s.mu.Lock()
	if h.ended { // something newer took its place
		s.mu.Unlock()
		host.Close()
		return
	}
	h.host, h.announced = host, true
	s.wait.Go(func() { s.watch(h) })
	s.wait.Go(func() { s.carry(h) })
	s.wait.Go(func() { s.notes(h) })
	s.mu.Unlock()
	s.input(wire.NewInput(&wire.PolicyStart{Generation: h.generation, Policy: h.name()}))
}

func (h *hosted) name() string {
	if h.inProcess {
		return "builtin"
	}
	return h.spec.Name
}

// input hands one to the core; it fails only when the manager ends.
func (s *supervisor) input(in *wire.Input) { _ = s.put(s.ctx, entry{inputs: []*wire.Input{in}}) }

// start gives the core's snapshot to a generation.
func (s *supervisor) start(a core.StartPolicy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.live[a.Generation]
	if h == nil {
		s.wait.Go(func() { s.tellFailed(a.Generation, "it has ended") })
		return
	}
	env := a.Environment
	env.Store, env.Trace = h.spec.Store, h.spec.Trace
	s.wait.Go(func() {
		config := h.spec.Config
		if h.inProcess {
			config = scheduler.Config{} // the settings are another policy's
		}
		d, err := h.host.Start(s.ctx, config, a.Snapshot(), env)
		if err != nil {
			s.failed(h, err)
			return
		}
		s.started(h, d)
	})
}

func (s *supervisor) started(h *hosted, d scheduler.Description) {
	d.Name, d.Version = cut(d.Name, textBytesMax), cut(d.Version, textBytesMax)
	s.mu.Lock()
	if h.ended {
		s.mu.Unlock()
		return
	}
	h.described = d
	s.current, s.incoming, s.since = h, nil, time.Now()
	s.everRan = true
	s.state = stateRunning
	s.problems.clear(problemChange, problemSlow, problemView)
	if h.inProcess {
		s.state = stateFallback
	} else {
		s.pause = 0
		if h.mends {
			s.problems.clear(problemPolicy)
		}
		s.problems.settle(problemPolicy, h.spec.FailuresWindow)
		s.accept(h.spec)
	}
	s.mu.Unlock()
	h.took(nil)
	s.log.Info("the policy runs", "policy", h.name(), "version", d.Version, "generation", h.generation, "pid", h.host.PID())
	s.input(wire.NewPolicyStarted(h.generation, d))
	s.mu.Lock()
	defer s.mu.Unlock()
	h.known = true
	s.pursue()
}

// gone ends a generation that the core has done with: after a cut-over, or
// because an answer of it broke the contract.
func (s *supervisor) gone(a core.PolicyGone) {
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

// end closes a generation; with mu held.
func (s *supervisor) end(h *hosted) {
	if h.ended {
		return
	}
	h.ended = true
	h.took(errors.New("something newer took its place"))
	close(h.end)
	delete(s.live, h.generation)
	if h.host != nil {
		s.wait.Go(h.host.Close)
	}
}

// failed takes a generation off that could not start, died, hung or broke the
// contract, and decides what comes in its place.
func (s *supervisor) failed(h *hosted, err error) {
	err = shortened(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.ended {
		return
	}
	h.took(err)
	s.end(h)
	if s.closed {
		return
	}
	if h.announced {
		s.wait.Go(func() { s.tellFailed(h.generation, err.Error()) })
	}
	log := s.log.With("policy", h.name(), "generation", h.generation, "error", err)
	switch {
	case h == s.incoming && s.current != nil:
		s.incoming, s.spec = nil, s.current.spec
		s.problems.set(problemChange, fmt.Sprintf("%s could not take over from %s, which goes on: %v", h.name(), s.current.name(), problemsOf(err)), 0)
		log.Error("the new policy could not take over: the old one goes on")
		s.pursue()
		return
	case h != s.incoming && h != s.current:
		log.Warn("a policy that was replaced failed")
		return
	}
	s.incoming, s.current = nil, nil
	if policy.KindOf(err) == policy.Invalid {
		if s.last != nil && !s.everRan {
			s.rejected(h, err)
			return
		}
		s.problems.set(problemPolicy, fmt.Sprintf("policy %s rejects its settings:\n%v", h.name(), problemsOf(err)), 0)
		s.state = stateFailed
		log.Error("the policy rejects its settings: nothing new is scheduled until they are changed")
		if !s.everRan {
			s.fatal(fmt.Errorf("policy %s rejects its settings:\n%w", h.name(), problemsOf(err)))
		}
		s.pursue()
		return
	}
	s.problems.set(problemPolicy, err.Error(), 0)
	var stall *stallError
	s.restart(h, errors.As(err, &stall), log)
}

// rejected starts what was accepted before in the place of a policy that rejects its
// settings at the manager's start: work that runs is not to wait, and be lost, for a
// slip in a file; with mu held.
func (s *supervisor) rejected(h *hosted, err error) {
	last := *s.last
	s.last = nil
	s.problems.set(problemSettings, fmt.Sprintf("policy %s rejects its settings, those that were accepted last are in force:\n%v", h.name(), problemsOf(err)), 0)
	s.log.Error("the policy rejects its settings: those that were accepted last stay in force, the file's are taken when they are right",
		"policy", h.name(), "last", last.Name, "error", problemsOf(err))
	last.fill()
	s.launch(last, false)
}

// accept has the configuration of what runs kept, for a manager that starts while
// the file is wrong; with mu held.
func (s *supervisor) accept(spec Policy) {
	if spec.Source == nil {
		return
	}
	s.keeper.want(spec.Source)
	s.wait.Go(func() {
		if err := s.keeper.flush(); err != nil {
			s.log.Warn("a manager that starts while the configuration is wrong will not find this one", "error", err)
		}
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

// shortened is an error whose text is bounded, whatever a plug-in put into it: it
// goes into log, event log and status.
func shortened(err error) error {
	if err == nil || len(err.Error()) <= failureTextMax {
		return err
	}
	return &shortError{cut(err.Error(), failureTextMax), err}
}

type shortError struct {
	text string
	err  error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.err }

// restart starts the policy once more, or the one in this process when it has
// failed too often, or stalled, which it would do again; with mu held.
func (s *supervisor) restart(h *hosted, stalled bool, log *slog.Logger) {
	now := time.Now()
	s.restarts++
	s.stats.policyRestarts.Inc()
	recent := s.failures[:0]
	for _, at := range s.failures {
		if now.Sub(at) < h.spec.FailuresWindow {
			recent = append(recent, at)
		}
	}
	s.failures = append(recent, now)
	if (stalled || len(s.failures) >= h.spec.FailuresMax) && !h.inProcess {
		log.Error("the policy failed too often, or stalled: the built-in FIFO takes over until the configuration changes or \"hamadryad policy reload\" is asked for", "failures", len(s.failures))
		s.launch(h.spec, true)
		return
	}
	s.pause = min(max(2*s.pause, restartMin), restartMax)
	log.Warn("the policy failed and is started again", "after", s.pause)
	s.state = stateStarting
	pause, starts := s.pause, s.starts
	s.wait.Go(func() {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.starts == starts { // nothing else was begun meanwhile
			s.launch(h.spec, h.inProcess)
		}
	})
}

// stallError is the failure of a policy that answers and never starts anything.
type stallError struct{ reason string }

func (e *stallError) Error() string { return e.reason }

func (s *supervisor) tellFailed(generation uint64, reason string) {
	s.input(wire.NewInput(&wire.PolicyFailed{Generation: generation, Reason: reason}))
}

// SocketFolder is where plug-ins of a manager with a data folder have their
// sockets; data may be empty. The path of a Unix socket is bounded, so it is the
// first short enough one of: below data, below TMPDIR, below /tmp. Several
// managers may share it.
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

// pluginMark is in the environment of all plug-ins of a manager with a data folder,
// and of what they start.
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
