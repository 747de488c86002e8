package policyhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// States of a shadow.
const (
	ShadowStarting  = "starting"
	ShadowFollowing = "following" // it decides on the current rounds
	ShadowWaiting   = "waiting"   // it starts again later
	ShadowDropped   = "dropped"   // until its configuration changes, or policies are loaded again
)

const (
	// shadowPauseMin is the pause before a shadow that failed starts again. It doubles with each
	// failure, up to shadowPauseMax.
	shadowPauseMin = 200 * time.Millisecond
	shadowPauseMax = time.Minute
	// shadowFailuresMax failures within shadowFailuresWindow of each other drop a shadow: to
	// start it again would fail again, and each start takes time of the core.
	shadowFailuresMax    = 5
	shadowFailuresWindow = 10 * time.Minute
	// shadowFreezeMax bounds the time for which the core stands still for a shadow's snapshot.
	shadowFreezeMax = 50 * time.Millisecond
)

// Reasons for which a shadow starts again.
var (
	errBehind     = fmt.Errorf("it is behind by more than %d rounds, or %d events: it is too slow for this cluster", shadowRoundsMax, shadowEventsMax)
	errGeneration = errors.New("another start of a policy decides")
	errTooLarge   = fmt.Errorf("the core would stand still for more than %v for its snapshot: the cluster is too large for shadows now", shadowFreezeMax)
)

// shadows run policies that decide on the rounds of the deciding one, without effect. Each has a
// goroutine and a process of its own. The core does not know them. Safe for concurrent use.
type shadows struct {
	needs    *Needs
	ctx      context.Context //nolint:containedctx // ends all of them
	interval atomic.Int64    // see Policy.ShadowInterval

	mu     sync.Mutex
	list   []*shadow // in the order of the configuration
	closed bool
	wait   sync.WaitGroup
}

// configure ends the shadows that a policy's configuration does not have any more, and starts new
// ones. Shadows with the same program and settings go on.
func (s *shadows) configure(of Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.interval.Store(int64(of.ShadowInterval))
	old := s.list
	s.list = nil
	for _, spec := range of.Shadows {
		spec.Fill()
		i := slices.IndexFunc(old, func(x *shadow) bool { return SameSettings(x.spec, spec) })
		if i >= 0 {
			s.list, old = append(s.list, old[i]), slices.Delete(old, i, i+1)
			continue
		}
		s.list = append(s.list, s.begin(spec))
	}
	for _, x := range old {
		x.cancel()
	}
	if len(old) > 0 {
		s.needs.Conditions.Clear(ConditionShadow)
		for _, x := range s.list { // the problem may be that of a shadow that stays
			x.reportDropped()
		}
	}
}

// begin starts a shadow; with mu held.
func (s *shadows) begin(spec Policy) *shadow {
	ctx, cancel := context.WithCancel(s.ctx)
	x := &shadow{spec: spec, needs: s.needs, log: s.needs.Log.With("shadow", spec.Name), interval: &s.interval, cancel: cancel, queue: newShadowQueue(), state: ShadowStarting, agreement: newAgreement()}
	s.needs.Stats.CountProblems(spec.Name, ConditionShadow)
	s.wait.Go(func() { x.run(ctx) })
	return x
}

// reload starts all shadows anew: their programs may have been built again.
func (s *shadows) reload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for i, x := range s.list {
		x.cancel()
		s.list[i] = s.begin(x.spec)
	}
	s.needs.Conditions.Clear(ConditionShadow)
}

// round hands a round that the deciding policy has answered to all shadows. It does not wait.
func (s *shadows) round(generation uint64, r *scheduler.Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.list {
		x.queue.add(generation, r)
	}
}

// replies describe the shadows.
func (s *shadows) replies() []*wire.PolicyShadow {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	var replies []*wire.PolicyShadow
	for _, x := range list {
		replies = append(replies, x.reply())
	}
	return replies
}

// close ends all shadows and waits for their processes.
func (s *shadows) close() {
	s.mu.Lock()
	s.closed = true
	for _, x := range s.list {
		x.cancel()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// shadow is a policy that decides without effect.
type shadow struct {
	spec     Policy
	needs    *Needs
	log      *slog.Logger
	interval *atomic.Int64 // see Policy.ShadowInterval
	cancel   context.CancelFunc
	queue    *shadowQueue

	mu        sync.Mutex
	state     string
	problem   string
	version   string
	host      policy.Host // nil: none runs
	starts    uint32
	rounds    uint64        // it answered
	joined    uint64        // rounds of the deciding policy that it got with a later one
	took      time.Duration // for all of them
	agreement *agreement    // changed by run's goroutine, with mu held
}

// run starts the shadow again and again, until ctx ends or it has failed too often.
func (x *shadow) run(ctx context.Context) {
	failures, pause := 0, shadowPauseMin
	for {
		began := time.Now()
		err := x.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		x.queue.pause()
		if time.Since(began) >= shadowFailuresWindow {
			failures, pause = 0, shadowPauseMin
		}
		again := errors.Is(err, errGeneration)
		if !again {
			failures++
		}
		if failures >= shadowFailuresMax || policy.KindOf(err) == policy.Invalid {
			x.drop(err)
			return
		}
		if again { // it is no problem of the shadow
			x.set(ShadowWaiting, "")
		} else {
			x.set(ShadowWaiting, problemsOf(err).Error())
			x.log.Warn("a shadow failed, and starts again from a snapshot", "after", pause, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if !again {
			pause = min(2*pause, shadowPauseMax)
		}
	}
}

// drop ends the shadow until the configuration changes.
func (x *shadow) drop(err error) {
	if policy.KindOf(err) == policy.Invalid {
		err = x.spec.placed(err)
	}
	text := problemsOf(err).Error()
	x.set(ShadowDropped, text)
	x.reportDropped()
	x.log.Error("a shadow is dropped until policy.shadow or its settings change, or \"hamadryad policy reload\" is asked for", "error", text)
}

// reportDropped reports the problem of a dropped shadow, if it is one.
func (x *shadow) reportDropped() {
	x.mu.Lock()
	dropped, text := x.state == ShadowDropped, x.problem
	x.mu.Unlock()
	if dropped {
		x.needs.problem(ConditionShadow, x.spec.Name, 0, fmt.Sprintf("the shadow %s is dropped until policy.shadow or its settings change, or \"hamadryad policy reload\" is asked for: %s", x.spec.Name, text))
	}
}

func (x *shadow) set(state, problem string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = state
	if problem != "" {
		x.problem = problem
	}
}

// follow starts the policy's process, gives it a snapshot, and has it decide on rounds until it
// fails. Its process has ended when follow returns.
func (x *shadow) follow(ctx context.Context) error {
	x.set(ShadowStarting, "")
	host, err := checked(ctx, x.needs.Plugin, x.spec, policy.Options{Dir: SocketFolder(x.needs.Data), Log: x.log, Mark: pluginMark(x.needs.Data)})
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.host = host
	x.mu.Unlock()
	stop := context.AfterFunc(ctx, host.Close)
	defer func() {
		stop()
		x.mu.Lock()
		x.host = nil
		x.mu.Unlock()
		host.Close()
	}()
	go func() {
		for range host.Notes() { // they go nowhere, and hold nothing up
		}
	}()
	start, err := x.startState(ctx)
	if err != nil {
		return err
	}
	d, err := host.Start(ctx, x.spec.Config, start.Snapshot, start.Environment)
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.state, x.version = ShadowFollowing, limits.Cut(d.Version, limits.TextBytesMax)
	x.starts++
	x.agreement.restarted()
	x.mu.Unlock()
	x.log.Info("a shadow follows the rounds", "version", d.Version, "from", start.Round, "pid", host.PID())
	return x.decide(ctx, host, start, d.Abilities)
}

// startState waits for a policy that decides, and returns the state to start from.
func (x *shadow) startState(ctx context.Context) (*core.ShadowStart, error) {
	for {
		x.queue.restart()
		frozen, err := x.freeze(ctx)
		if err != nil {
			return nil, err
		}
		start := frozen.ShadowStart(x.spec.Name)
		if start.Generation != 0 {
			return &start, nil
		}
		if _, err := x.queue.take(ctx, shadowRoundsMax); err != nil && !errors.Is(err, errBehind) {
			return nil, err
		}
	}
}

// freeze copies the core between two of its steps.
func (x *shadow) freeze(ctx context.Context) (*core.Frozen, error) {
	done := make(chan *core.Frozen, 1)
	err := x.needs.Inbox.Enqueue(ctx, inbox.Entry{Query: func(c *core.Core) func() {
		if c.FreezeTime() > shadowFreezeMax {
			done <- nil
			return nil
		}
		began := time.Now()
		done <- c.Freeze()
		x.needs.Stats.Freeze(time.Since(began))
		return nil
	}})
	if err != nil {
		return nil, err
	}
	select {
	case f := <-done:
		if f == nil {
			return nil, errTooLarge
		}
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-x.needs.Inbox.Over():
		return nil, inbox.ErrStopping
	}
}

// decide has the policy decide on the rounds of the deciding one. With an interval, those that came
// since the last one are joined.
func (x *shadow) decide(ctx context.Context, host policy.Host, start *core.ShadowStart, a scheduler.Ability) error {
	rounds := newShadowRounds(start, a)
	for {
		interval, most := time.Duration(x.interval.Load()), 1
		if interval > 0 {
			most = shadowRoundsMax
		}
		list, err := x.queue.take(ctx, most)
		if err != nil {
			return err
		}
		for len(list) > 0 && list[0].round.Number <= start.Round {
			list = list[1:] // the snapshot includes it
		}
		if len(list) == 0 {
			continue
		}
		if !x.join(rounds, start.Generation, list) {
			return errGeneration
		}
		own, began := rounds.next(), time.Now()
		answer, err := host.AssignTasks(ctx, own)
		if err != nil {
			return err
		}
		rounds.decided(own, &answer.Decisions)
		took := time.Since(began)
		x.mu.Lock()
		x.agreement.shadowDecided(list[len(list)-1].round.Number, &answer.Decisions)
		x.rounds, x.took = x.rounds+1, x.took+took
		x.mu.Unlock()
		if interval <= took {
			continue
		}
		select {
		case <-time.After(interval - took):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// join makes one round of several, and has the agreement count what they report. False: a round is
// missing, or another generation decided on one.
func (x *shadow) join(rounds *shadowRounds, generation uint64, list []queuedRound) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, q := range list {
		fresh, whole := rounds.join(q.round)
		if !whole || q.generation != generation {
			return false
		}
		x.agreement.happened(q.round.Number, fresh)
	}
	x.joined += uint64(len(list)) - 1
	return true
}

// reply describes the shadow.
func (x *shadow) reply() *wire.PolicyShadow {
	dropped := x.queue.droppedRounds()
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &wire.PolicyShadow{
		Name: x.spec.Name, Version: x.version, State: x.state, Problem: x.problem, Restarts: max(x.starts, 1) - 1,
		Rounds: x.rounds, RoundsJoined: x.joined, RoundsDropped: dropped,
	}
	if x.host != nil {
		r.Memory, r.MemoryMax = x.host.Memory()
	}
	if x.rounds > 0 {
		r.AnswerMean = int64(x.took) / int64(x.rounds)
	}
	x.agreement.counts.fill(r)
	return r
}
