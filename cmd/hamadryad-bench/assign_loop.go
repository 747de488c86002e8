package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/manager/readside"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// assigner is a manager without launchers and sockets: the core, its event log on the disk, and a
// policy. It works as in the manager: the policy is asked at once, a launch counts when its record
// is durable.
type assigner struct {
	ctx    context.Context
	core   *core.Core
	host   policy.Host
	around around
	shelf  *shelf           // nil where the policy has none
	window *readside.Server // nil where nothing is shown
	log    *eventlog.Log
	folder string
	heap   func() // restores the garbage collector from a manager's settings
	start  time.Time

	rounds chan core.AskPolicy // to the goroutine that sends them to the policy
	answer chan answer         // of the policy to its current round
	waits  bool                // it is thinking about a round
	fresh  []running           // launched, their start not reported yet
	live   []running           // started, the longest running first
	starts []startReport       // made beforehand
	ends   []endReport         // made beforehand

	mu      sync.Mutex
	changed sync.Cond
	durable uint64 // newest record on disk
	failed  error
}

// running is an attempt, with the log record that must be on the disk before its start command
// leaves.
type running struct {
	attempt  uint64
	launcher uint64
	record   uint64
}

// newAssigner starts a policy on an empty cluster. The log goes into a new folder below the given
// one.
func newAssigner(ctx context.Context, host policy.Host, folder string, around around) (*assigner, error) {
	folder, err := os.MkdirTemp(folder, "assign-log")
	if err != nil {
		return nil, err
	}
	set := core.DefaultSettings()
	set.RoundGap = 1 // a round starts as soon as there is an event
	set.JobsMax = 100_000
	a := &assigner{
		ctx: ctx, core: core.New(set), host: host, around: around, folder: folder, start: time.Now(), heap: manager.CollectSeldom(),
		rounds: make(chan core.AskPolicy, 1), answer: make(chan answer, 1),
	}
	a.changed.L = &a.mu
	if around.pays && !around.simulated {
		a.shelf = newShelf(ctx, host, a.awaitDurable)
	}
	go a.carry()
	if around.shown {
		if a.window, err = readside.Serve(readside.Needs{Core: a.core, Policy: host, Folder: folder, Durable: a.awaitDurable}); err != nil {
			a.close()
			return nil, err
		}
	}
	a.log, err = eventlog.Open(eventlog.Options{
		Folder: folder, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), OnDurable: a.onDurable, OnFail: a.onFail,
	})
	if err == nil {
		err = a.log.Begin(eventlog.Header{Core: core.Version}, a.core.Freeze().Write)
	}
	if err == nil {
		err = a.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	}
	if err == nil {
		err = a.step(wire.NewInput(&wire.PolicyStart{Generation: 1}))
	}
	if err == nil && a.shelf != nil {
		err = a.step(a.shelf.take(true)...) // the store has reported its content
	}
	if err == nil {
		err = a.settle()
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *assigner) close() {
	close(a.rounds)
	a.host.Close()
	if a.window != nil {
		a.window.Close()
	}
	if a.shelf != nil {
		a.shelf.close()
	}
	if a.log != nil {
		_ = a.log.Close()
	}
	_ = os.RemoveAll(a.folder)
	a.heap()
}

func (a *assigner) onDurable(seq uint64, _ int, _ time.Duration) {
	a.mu.Lock()
	a.durable = seq
	a.changed.Broadcast()
	a.mu.Unlock()
}

func (a *assigner) onFail(err error) {
	a.mu.Lock()
	a.failed = err
	a.changed.Broadcast()
	a.mu.Unlock()
}

// awaitDurable waits until a record is on the disk.
func (a *assigner) awaitDurable(record uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.durable < record && a.failed == nil {
		a.changed.Wait()
	}
	return a.failed
}

// step feeds one batch to the core, and continues while that has left work to later steps.
func (a *assigner) step(inputs ...*wire.Input) error {
	for {
		if err := a.once(inputs...); err != nil {
			return err
		}
		if wake, ok := a.core.NextWake(); !ok || wake > a.core.Now() {
			return nil
		}
		inputs = []*wire.Input{wire.Tick()}
	}
}

// once feeds one batch to the core and logs it.
func (a *assigner) once(inputs ...*wire.Input) error {
	batch := &wire.Batch{At: int64(time.Since(a.start)) + 1, Inputs: inputs}
	record, err := proto.Marshal(batch)
	if err != nil {
		return err
	}
	if ask := a.core.Decide(batch); ask != nil {
		a.ask(*ask)
	}
	actions := a.core.Effects()
	seq, err := a.log.Append(record)
	if err != nil {
		return err
	}
	for _, action := range actions {
		if err := a.act(action, seq); err != nil {
			return err
		}
	}
	if a.log.Full() {
		return a.log.Rotate(a.core.Freeze().Write)
	}
	return nil
}

func (a *assigner) act(action core.Action, record uint64) error {
	switch action := action.(type) {
	case core.StartPolicy:
		e, err := a.around.environment(action.Environment, a.folder)
		if err != nil {
			return err
		}
		d, err := a.host.Start(a.ctx, a.around.config, action.Snapshot(), e)
		if err != nil {
			return err
		}
		return a.step(wire.NewPolicyStarted(action.Generation, d))
	case core.ToLauncher:
		if s := action.Command.GetStart(); s != nil {
			a.fresh = append(a.fresh, running{s.Attempt, uint64(action.Launcher), record})
			a.log.Hurry()
		}
	case core.Changes:
		a.window.TakeChanges(record, action)
	case core.PolicyGone:
		return fmt.Errorf("the core gave the policy up: %s", action.Breach)
	case core.Reply:
		if action.Failure != nil {
			return fmt.Errorf("the core refused: %s", action.Failure.Message)
		}
	}
	return nil
}

// answer is the policy's answer to a round.
type answer struct {
	policy.Answer
	to  core.AskPolicy
	err error
}

// carry sends rounds to the policy and returns its answers, as the manager does, until there are no
// more.
func (a *assigner) carry() {
	for r := range a.rounds {
		said, err := a.host.AssignTasks(a.ctx, r.Round)
		a.answer <- answer{said, r, err}
	}
}

// ask passes a round to the policy, between the two parts of a step, as the manager does.
func (a *assigner) ask(r core.AskPolicy) {
	a.waits = true
	if a.shelf != nil {
		a.shelf.asked(r, a.log.Last()+1)
	}
	a.rounds <- r
	runtime.Gosched()
}

// decided waits for the policy's answer, if one is due, and feeds it to the core.
func (a *assigner) decided() error {
	if !a.waits {
		return nil
	}
	said := <-a.answer
	a.waits = false
	if said.err != nil {
		return said.err
	}
	m := &wire.PolicyAnswer{Generation: said.to.Generation, Round: said.to.Round.Number, Decisions: said.Bytes}
	a.core.ExpectAnswer(m, said.Decisions)
	if a.shelf != nil {
		return a.step(append(a.shelf.take(false), wire.NewInput(m))...)
	}
	return a.step(wire.NewInput(m))
}

// started reports the start of all launched attempts.
func (a *assigner) started(inputs []*wire.Input) []*wire.Input {
	reports := take(&a.starts, len(a.fresh))
	for i, r := range a.fresh {
		m := &reports[i]
		m.started.Attempt, m.what.Started, m.report.What = r.attempt, &m.started, &m.what
		inputs = append(inputs, m.from(r))
	}
	a.live = append(a.live, a.fresh...)
	a.fresh = a.fresh[:0]
	return inputs
}

// ended reports the end of the longest running attempts, whose start commands must have left.
func (a *assigner) ended(inputs []*wire.Input, n int) ([]*wire.Input, error) {
	if n > len(a.live) {
		return nil, fmt.Errorf("%d attempts run and %d are to end", len(a.live), n)
	}
	reports := take(&a.ends, n)
	var last uint64
	for i, r := range a.live[:n] {
		m := &reports[i]
		m.ended.Attempt, m.ended.End = r.attempt, wire.End_END_FINISHED
		m.what.Ended, m.report.What = &m.ended, &m.what
		last = max(last, r.record)
		inputs = append(inputs, m.from(r))
	}
	a.live = a.live[n:]
	return inputs, a.awaitDurable(last)
}

// A report of a launcher, in one allocation.
type (
	startReport struct {
		envelope
		what    wire.Report_Started
		started wire.AttemptStarted
	}
	endReport struct {
		envelope
		what  wire.Report_Ended
		ended wire.AttemptEnded
	}
)

// envelope is the messages around a report.
type envelope struct {
	input    wire.Input
	is       wire.Input_Report
	launcher wire.LauncherReport
	report   wire.Report
}

func (e *envelope) from(r running) *wire.Input {
	e.report.Incarnation = 1
	e.launcher.Launcher, e.launcher.Report = r.launcher, &e.report
	e.is.Report, e.input.What = &e.launcher, &e.is
	return &e.input
}

// prepare makes the reports of so many assignments in advance: that is the work of launchers'
// connections, and not measured.
func (a *assigner) prepare(n int) {
	a.starts, a.ends = make([]startReport, n), make([]endReport, n)
	for i := range n { // touches the memory, so that it is resident
		a.starts[i].report.Incarnation, a.ends[i].report.Incarnation = 1, 1
	}
}

// take hands out prepared elements, or makes them.
func take[T any](from *[]T, n int) []T {
	if n > len(*from) {
		return make([]T, n)
	}
	taken := (*from)[:n:n]
	*from = (*from)[n:]
	return taken
}

// settle continues until the policy has nothing more to launch.
func (a *assigner) settle() error {
	for {
		if err := a.decided(); err != nil {
			return err
		}
		if len(a.fresh) > 0 {
			if err := a.step(a.started(nil)...); err != nil {
				return err
			}
		}
		if !a.waits {
			return a.awaitDurable(a.log.Last())
		}
	}
}

// turn is one round of the steady state. While the policy thinks about the last ends, the manager
// receives the next: it does not wait for the policy either.
func (a *assigner) turn(ends int) error {
	inputs, err := a.ended(a.started(nil), ends)
	if err != nil {
		return err
	}
	if err := a.step(inputs...); err != nil {
		return err
	}
	return a.decided()
}

// join adds launchers.
func (a *assigner) join(launchers, slots int) error {
	var inputs []*wire.Input
	for i := range launchers {
		inputs = append(inputs, wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
			Name: fmt.Sprintf("launcher-%05d", i), Incarnation: 1, Host: fmt.Sprintf("host-%05d", i), Rack: fmt.Sprintf("rack-%03d", i/40),
			Memory: 1 << 40, Slots: []*wire.Slots{{Kind: scheduler.DefaultKind, Count: uint32(slots)}},
		}}))
	}
	return a.step(inputs...)
}

// submit submits a job of so many single-slot groups.
func (a *assigner) submit(pool string, groups int) error {
	id := uint64(0)
	batch := &wire.Batch{At: int64(time.Since(a.start)) + 1, Inputs: []*wire.Input{wire.NewInput(&wire.Prepare{Client: 1})}}
	if ask := a.core.Decide(batch); ask != nil {
		a.ask(*ask)
	}
	for _, action := range a.core.Effects() {
		if r, ok := action.(core.Reply); ok {
			id = uint64(r.Job)
		}
	}
	user := &wire.Principal{Name: "bench"}
	if a.around.pays {
		user = &wire.Principal{Name: pool, Proof: "bench"} // as the policy's authenticator says
	}
	return a.step(wire.NewInput(&wire.Submit{Client: 2, Job: id, Spec: &wire.JobSpec{
		Name: "bench", Pool: pool, Principal: user,
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: uint32(groups)}}},
	}}))
}

// policyHost starts a policy as a plug-in process, or in this process.
func (b *bench) policyHost(ctx context.Context, name string, plugin bool, dir string) (policy.Host, error) {
	if !plugin {
		return policy.InProcess(inside[name]()), nil
	}
	return policy.Launch(ctx, policy.Options{
		Path: filepath.Join(b.bin, "hamadryad-policy-"+name), Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Transport: b.transport,
	})
}
