// Package coretest is a core whose parts a test can reach. A test calls an entry point of one part,
// and checks the effects in the others.
package coretest

import (
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/membership"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/rounds"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// T is the part of testing.T that the package uses.
type T interface {
	Helper()
	Error(args ...any)
	Fatalf(format string, args ...any)
}

// Core is the state and the parts of a core.
type Core struct {
	*state.Store
	*outbound.Outbound
	*lifecycle.Lifecycle
	Rounds     *rounds.Rounds
	Membership *membership.Membership

	t          T
	generation uint64
}

// New returns a core in its first step, one hour after the beginning of time, with the default
// settings and no launchers.
func New(t T) *Core {
	s := state.NewStore(step.DefaultSettings())
	out := outbound.New(s)
	life := lifecycle.New(s, out)
	h := &Core{Store: s, Outbound: out, Lifecycle: life, Rounds: rounds.New(s, out, life), Membership: membership.New(s, out, life), t: t}
	h.Later(time.Hour)
	return h
}

// Later begins the next step, d after the current one. The current step's actions are dropped.
func (h *Core) Later(d time.Duration) {
	h.Step.End()
	h.Step.Begin(h.Step.Now.Add(d))
	h.Dispatch.Feeds.Begin(h.Step.Now, h.Step.Set.CommandBytes)
}

// Due takes the due timers, and reports whether one of a kind, for an id, is among them. Unlike
// package core, it does not handle them.
func (h *Core) Due(kind step.TimerKind, id uint64) (found bool) {
	for h.Step.TimerDue() {
		k, about := h.Step.TakeTimer()
		found = found || k == kind && about == id
	}
	return found
}

// Checked fails the test when an invariant is broken.
func (h *Core) Checked() {
	h.t.Helper()
	if err := h.Cluster.Check(); err != nil {
		h.t.Error(err)
	}
	if err := h.Resources.Check(h.Step.Now, h.Cluster.Holdings); err != nil {
		h.t.Error(err)
	}
}

// StartPolicy makes a policy with some abilities take over.
func (h *Core) StartPolicy(a scheduler.Ability) { h.startPolicy("test", a) }

// StartFallback makes a policy without abilities take over, in the place of a failed one.
func (h *Core) StartFallback() { h.startPolicy("", 0) }

func (h *Core) startPolicy(name string, a scheduler.Ability) {
	h.generation++
	h.Rounds.Start(&wire.PolicyStart{Generation: h.generation, Policy: name, Fallback: name == ""})
	h.Events.BuildSnapshot()
	h.Rounds.Started(&wire.PolicyStarted{Generation: h.generation, Name: "test", Abilities: uint32(a)})
}

// NotifiedEvents sends a round, answers it without decisions, and returns its events. It returns
// nil if no round is due.
func (h *Core) NotifiedEvents() []scheduler.Event {
	h.Later(h.Step.Set.RoundGap)
	ask := h.Rounds.StartRound()
	if ask == nil {
		return nil
	}
	h.Rounds.Answer(&wire.PolicyAnswer{Generation: ask.Generation, Round: ask.Round.Number})
	return ask.Round.Events
}

// Joining returns the join message of a launcher with slots of the default kind and much memory.
// The launcher has no attempts, and can suspend.
func Joining(name string, slots uint32) *wire.Join {
	return &wire.Join{
		Name: name, Incarnation: 1, Host: name, Memory: 1 << 40, CanSuspend: true, DataAddress: name + ":1",
		Slots: []*wire.Slots{{Kind: scheduler.DefaultKind, Count: slots}},
	}
}

// Launcher joins a launcher as Joining describes it.
func (h *Core) Launcher(name string, slots uint32) *state.Launcher {
	h.Membership.Join(Joining(name, slots))
	return h.Cluster.LauncherNamed(name)
}

// Job reserves an id and submits a job. The job is admitted unless the policy has to admit it.
func (h *Core) Job(spec *wire.JobSpec) *state.Job {
	h.t.Helper()
	h.Admission.ReserveID(&wire.Prepare{Client: 1})
	id := h.IDs.LastJob()
	h.Admission.Submit(&wire.Submit{Client: 2, Job: uint64(id), Spec: spec})
	j := h.Cluster.Jobs.Get(id)
	if j == nil {
		h.t.Fatalf("%v was not let in: %v", id, h.Replies())
	}
	return j
}

// Maps returns a job of one stage.
func Maps(nodes uint32) *wire.JobSpec {
	return &wire.JobSpec{Name: "maps", Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: nodes}}}}
}

// MapReduce returns a job of two stages, joined all to all by files.
func MapReduce(maps, reduces uint32) *wire.JobSpec {
	return &wire.JobSpec{Name: "mapreduce", Graph: &wire.Graph{
		Stages: []*wire.Stage{{Name: "map", Nodes: maps}, {Name: "reduce", Nodes: reduces}},
		Connections: []*wire.Connection{{
			FromStage: 0, ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}},
	}}
}

// Chain returns a job of stages of one node each, joined by files.
func Chain(stages uint32) *wire.JobSpec {
	return &wire.JobSpec{Name: "chain", Graph: inRow(stages, wire.ChannelKind_CHANNEL_KIND_FILE)}
}

// Gang returns a job of one bundle: nodes in a row, joined by tcp.
func Gang(groups uint32) *wire.JobSpec {
	return &wire.JobSpec{Name: "gang", Graph: inRow(groups, wire.ChannelKind_CHANNEL_KIND_TCP)}
}

func inRow(stages uint32, kind wire.ChannelKind) *wire.Graph {
	g := &wire.Graph{}
	for i := range stages {
		g.Stages = append(g.Stages, &wire.Stage{Name: string(rune('a' + i)), Nodes: 1})
		if i > 0 {
			g.Connections = append(g.Connections, &wire.Connection{
				FromStage: i - 1, ToStage: i, FromPort: "out", ToPort: "in", Kind: kind, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE,
			})
		}
	}
	return g
}

// PhasesOf lists the phases of a job's bundles, in order, the publishing bundle included.
func PhasesOf(j *state.Job) string {
	var list []string
	for i := range j.Bundles {
		phase, _, _ := strings.Cut(j.Bundles[i].Phase().String(), " ")
		list = append(list, phase)
	}
	return strings.Join(list, " ")
}

// Stored returns the output that a node stored for a connection.
func Stored(connection, from uint32) *wire.StoredOutput {
	return &wire.StoredOutput{Connection: connection, From: from, Bytes: 1}
}

// RunBundle launches the i-th bundle of a job, with one group on each given launcher. It notifies
// the policy as of its own decision, and makes the attempts report their start.
func (h *Core) RunBundle(j *state.Job, i int, on ...*state.Launcher) *state.BundleAttempt {
	h.t.Helper()
	d := scheduler.Launch{Bundle: j.Bundles[i].ID()}
	for _, l := range on {
		d.Launchers = append(d.Launchers, l.ID)
	}
	if b := &j.Bundles[i]; b.Last() { // the policy does not launch the publishing bundle
		h.Finishers.Start(b, on[0])
		r := b.Attempts()[len(b.Attempts())-1]
		h.Attempts.Started(r.Attempts[0], r.Attempts[0].Launcher.DataAddress())
		return r
	}
	ids, refused, why := h.Attempts.Launch(d)
	if refused != scheduler.NotRefused {
		h.t.Fatalf("bundle %d is not launched: %s", i, why)
	}
	o := scheduler.Outcome{At: h.Step.Now, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: ids, Launch: d}
	h.Policy.Notify(o)
	if h.Policy.NextKnows(j.ID, i) {
		h.Policy.NotifyNext(o)
	}
	runs := j.Bundles[i].Attempts()
	r := runs[len(runs)-1]
	for _, a := range r.Attempts {
		h.Attempts.Started(a, a.Launcher.DataAddress())
	}
	return r
}

// Finish makes an attempt report its end, with its stored outputs.
func (h *Core) Finish(a *state.Attempt, stored ...*wire.StoredOutput) {
	h.Attempts.EndedReport(a.Launcher, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FINISHED, Stored: stored})
}

// Fail makes an attempt report that its program failed.
func (h *Core) Fail(a *state.Attempt, message string) {
	h.Attempts.EndedReport(a.Launcher, &wire.AttemptEnded{
		Attempt: uint64(a.ID), End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: message},
	})
}

// Commands returns the current step's commands to a launcher, in order.
func (h *Core) Commands(l *state.Launcher) (list []*wire.Command) {
	for _, t := range h.Step.Effects() {
		if a, later := t.Deferred.(*state.Attempt); later && a.Launcher == l {
			list = append(list, h.Dispatch.StartCommand(a))
		}
		if to, is := t.Action.(step.ToLauncher); is && to.Launcher == l.ID {
			list = append(list, to.Command)
		}
	}
	return list
}

// Replies returns the current step's answers to clients, in order.
func (h *Core) Replies() (list []step.Reply) {
	for _, t := range h.Step.Effects() {
		if r, is := t.Action.(step.Reply); is {
			list = append(list, r)
		}
	}
	return list
}
