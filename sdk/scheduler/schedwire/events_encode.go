package schedwire

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// NewEventBatch encodes events alone as a message.
func NewEventBatch(events []scheduler.Event) (*EventBatch, error) {
	w := &writer{}
	m := &EventBatch{Events: newEvents(w, events, false)}
	m.Strings = w.table()
	return m, w.err
}

// newEvents encodes events as columns. In a round they must be in order.
func newEvents(w *writer, events []scheduler.Event, ordered bool) *Events {
	if len(events) == 0 {
		return nil
	}
	m := &eventWriter{Events: &Events{Kind: make([]EventKind, len(events)), At: make([]int64, len(events))}}
	m.reserve(events)
	before := scheduler.Time(0)
	for i, e := range events {
		if e == nil {
			w.fail("event %d is nil", i)
			return m.Events
		}
		at := e.When()
		if ordered && i > 0 && at < before {
			w.fail("event %d is earlier than event %d before it", i, i-1)
		}
		m.At[i] = int64(at - before)
		before = at
		if m.Kind[i] = m.add(w, e); m.Kind[i] == EventKind_EVENT_KIND_UNSPECIFIED {
			w.fail("event %d is a %T, which is not a type of package scheduler", i, e)
		}
	}
	m.trim()
	return m.Events
}

// eventWriter fills the columns of events.
type eventWriter struct {
	*Events
	ready, speculationOffered *groupWriter
}

// reserve allocates the most used columns of a round at once: they are long, or non-empty in every
// round.
func (m *eventWriter) reserve(events []scheduler.Event) {
	bundles, groups, places := 0, 0, 0
	started, ended, outcomes := 0, 0, 0
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.BundleReady:
			bundles++
			groups += len(e.Groups)
			for i := range e.Groups {
				places += len(e.Groups[i].Places)
			}
		case scheduler.AttemptStarted:
			started++
		case scheduler.AttemptEnded:
			ended++
		case scheduler.Outcome:
			outcomes++
		}
	}
	m.reserveAttempts(started, ended, outcomes)
	if bundles == 0 {
		return
	}
	m.offered(&m.BundleReady, &m.ready)
	b, g, p := m.BundleReady, m.BundleReady.Groups, m.BundleReady.Groups.Places
	b.Job, b.Bundle = room[uint64](bundles), room[uint64](bundles)
	b.Avoid.Rows, g.Rows = room[uint32](bundles), room[uint32](bundles)
	g.Shape, g.InputBytes, p.Rows = room[uint32](groups), room[int64](groups), room[uint32](groups)
	p.Node, p.Bytes = room[uint32](places), room[int64](places)
}

// reserveAttempts is reserve for given numbers of starts, ends and outcomes.
func (m *eventWriter) reserveAttempts(started, ended, outcomes int) {
	if n := started; n > 0 {
		m.AttemptStarted = &AttemptStarted{
			Attempt: room[uint64](n), Job: room[uint64](n), Bundle: room[uint64](n), Group: room[int64](n),
			Stage: room[uint32](n), Launcher: room[uint64](n), Speculative: room[bool](n),
		}
	}
	if n := ended; n > 0 {
		m.AttemptEnded = &AttemptEnded{
			Attempt: room[uint64](n), Outcome: room[AttemptOutcome](n), Beneficiary: room[uint64](n), Reason: room[uint32](n),
			Work: &Work{
				Running: room[int64](n), ReadNodeLocal: room[int64](n), ReadRackLocal: room[int64](n), ReadRemote: room[int64](n),
				ToRead: room[int64](n), Written: room[int64](n),
			},
		}
	}
	if n := outcomes; n > 0 {
		m.Outcome = &Outcome{
			Round: room[uint64](n), Kind: room[DecisionKind](n), Index: room[int64](n), Accepted: room[bool](n),
			Attempts: &Ids{Rows: room[uint32](n), Id: room[uint64](n)}, LaunchBundle: room[uint64](n),
			LaunchLaunchers: &Ids{Rows: room[uint32](n), Id: room[uint64](n)}, Reason: room[RefusalReason](n), Detail: room[uint32](n),
		}
	}
}

// room returns an empty column with capacity n.
func room[T any](n int) []T { return make([]T, 0, n) }

// trim omits row counts that are all zero.
func (m *eventWriter) trim() {
	for _, b := range []*BundleOffered{m.BundleReady, m.SpeculationOffered} {
		if b != nil {
			b.Avoid = b.Avoid.dropRows()
		}
	}
	if m.Outcome != nil {
		m.Outcome.Attempts = m.Outcome.Attempts.dropRows()
		m.Outcome.LaunchLaunchers = m.Outcome.LaunchLaunchers.dropRows()
	}
}

// offered returns the columns of launchable bundles, and the writer of their groups. It makes both
// if necessary.
func (m *eventWriter) offered(c **BundleOffered, g **groupWriter) (*BundleOffered, *groupWriter) {
	if *c == nil {
		*c = &BundleOffered{Groups: &Groups{Places: &Places{}}, Avoid: &Ids{}}
		*g = newGroupWriter((*c).Groups)
	}
	return *c, *g
}

// get returns *p; if it is nil, create makes it first.
func get[T any](p **T, create func() *T) *T {
	if *p == nil {
		*p = create()
	}
	return *p
}

// empty returns an empty message.
func empty[T any]() *T { return new(T) }

// add appends an event of any kind, and returns the kind: unspecified for one that is not a type of
// package scheduler.
func (m *eventWriter) add(w *writer, e scheduler.Event) EventKind {
	if kind := m.addWorld(w, e); kind != EventKind_EVENT_KIND_UNSPECIFIED {
		return kind
	}
	if kind := m.addWork(w, e); kind != EventKind_EVENT_KIND_UNSPECIFIED {
		return kind
	}
	return m.addAnswers(w, e)
}

// addWorld appends an event that concerns launchers, jobs or bundles.
func (m *eventWriter) addWorld(w *writer, e scheduler.Event) EventKind {
	switch e := e.(type) {
	case scheduler.BundleReady:
		c, g := m.offered(&m.BundleReady, &m.ready)
		c.add(e.Job, e.Bundle, e.Avoid)
		g.add(w, e.Groups)
		return EventKind_EVENT_KIND_BUNDLE_READY
	case scheduler.SpeculationOffered:
		c, g := m.offered(&m.SpeculationOffered, &m.speculationOffered)
		c.add(e.Job, e.Bundle, e.Avoid)
		g.add(w, e.Groups)
		return EventKind_EVENT_KIND_SPECULATION_OFFERED
	case scheduler.SpeculationWithdrawn:
		get(&m.SpeculationWithdrawn, empty).add(e.Job, e.Bundle)
		return EventKind_EVENT_KIND_SPECULATION_WITHDRAWN
	case scheduler.BundleWithdrawn:
		get(&m.BundleWithdrawn, empty).add(e.Job, e.Bundle)
		return EventKind_EVENT_KIND_BUNDLE_WITHDRAWN
	case scheduler.BundleReopened:
		get(&m.BundleReopened, empty).add(e.Job, e.Bundle)
		return EventKind_EVENT_KIND_BUNDLE_REOPENED
	case scheduler.BundleGivenUp:
		get(&m.BundleGivenUp, empty).add(&e)
		return EventKind_EVENT_KIND_BUNDLE_GIVEN_UP
	case scheduler.BundleProtected:
		get(&m.BundleProtected, empty).add(&e)
		return EventKind_EVENT_KIND_BUNDLE_PROTECTED
	case scheduler.BundleReserved:
		get(&m.BundleReserved, empty).add(&e)
		return EventKind_EVENT_KIND_BUNDLE_RESERVED
	case scheduler.ReservationEnded:
		get(&m.ReservationEnded, empty).add(w, &e)
		return EventKind_EVENT_KIND_RESERVATION_ENDED
	case scheduler.UserLimitSet:
		get(&m.UserLimitSet, empty).add(w, &e)
		return EventKind_EVENT_KIND_USER_LIMIT_SET
	case scheduler.JobSubmitted:
		get(&m.JobSubmitted, newJobs).add(w, &e.Job)
		return EventKind_EVENT_KIND_JOB_SUBMITTED
	case scheduler.AdmissionAsked:
		get(&m.AdmissionAsked, newJobs).add(w, &e.Job)
		return EventKind_EVENT_KIND_ADMISSION_ASKED
	case scheduler.JobUpdated:
		get(&m.JobUpdated, func() *JobUpdated { return &JobUpdated{Properties: &Properties{}} }).add(w, &e)
		return EventKind_EVENT_KIND_JOB_UPDATED
	case scheduler.JobFinished:
		c := get(&m.JobFinished, empty)
		c.Job = append(c.Job, uint64(e.Job))
		c.Outcome = append(c.Outcome, JobOutcome(checked(w, "job outcome", e.Outcome, scheduler.JobSucceeded, scheduler.JobKilled)))
		return EventKind_EVENT_KIND_JOB_FINISHED
	case scheduler.StageGrown:
		c := get(&m.StageGrown, empty)
		c.Job, c.Stage = append(c.Job, uint64(e.Job)), append(c.Stage, uint32(e.Stage))
		c.Groups, c.Kind = append(c.Groups, int64(e.Groups)), append(c.Kind, w.str(e.Kind))
		return EventKind_EVENT_KIND_STAGE_GROWN
	case scheduler.LauncherJoined:
		get(&m.LauncherJoined, func() *LauncherJoined { return &LauncherJoined{Slots: &SlotCounts{}} }).add(w, &e)
		return EventKind_EVENT_KIND_LAUNCHER_JOINED
	case scheduler.LauncherLost:
		c := get(&m.LauncherLost, empty)
		c.Launcher, c.Reason = append(c.Launcher, uint64(e.Launcher)), append(c.Reason, w.str(e.Reason))
		return EventKind_EVENT_KIND_LAUNCHER_LOST
	case scheduler.LauncherDraining:
		c := get(&m.LauncherDraining, empty)
		c.Launcher, c.Draining = append(c.Launcher, uint64(e.Launcher)), append(c.Draining, e.Draining)
		return EventKind_EVENT_KIND_LAUNCHER_DRAINING
	case scheduler.LauncherExcluded:
		c := get(&m.LauncherExcluded, empty)
		c.Launcher, c.Excluded = append(c.Launcher, uint64(e.Launcher)), append(c.Excluded, e.Excluded)
		return EventKind_EVENT_KIND_LAUNCHER_EXCLUDED
	case scheduler.LauncherLoad:
		get(&m.LauncherLoad, empty).add(w, &e)
		return EventKind_EVENT_KIND_LAUNCHER_LOAD
	}
	return EventKind_EVENT_KIND_UNSPECIFIED
}

// addWork appends an event that concerns attempts.
func (m *eventWriter) addWork(w *writer, e scheduler.Event) EventKind {
	switch e := e.(type) {
	case scheduler.AttemptStarted:
		get(&m.AttemptStarted, empty).add(&e)
		return EventKind_EVENT_KIND_ATTEMPT_STARTED
	case scheduler.AttemptPhase:
		c := get(&m.AttemptPhase, empty)
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		c.Phase = append(c.Phase, Phase(checked(w, "phase", e.Phase, scheduler.PhaseShuffle, scheduler.PhaseExecute)))
		return EventKind_EVENT_KIND_ATTEMPT_PHASE
	case scheduler.AttemptProgress:
		c := get(&m.AttemptProgress, func() *AttemptProgress { return &AttemptProgress{Work: &Work{}} })
		c.Attempt, c.Progress = append(c.Attempt, uint64(e.Attempt)), append(c.Progress, e.Progress)
		c.Work.add(&e.Work)
		return EventKind_EVENT_KIND_ATTEMPT_PROGRESS
	case scheduler.AttemptEnded:
		c := get(&m.AttemptEnded, func() *AttemptEnded { return &AttemptEnded{Work: &Work{}} })
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		c.Outcome = append(c.Outcome, AttemptOutcome(checked(w, "attempt outcome", e.Outcome, scheduler.Finished, scheduler.Killed)))
		c.Work.add(&e.Work)
		c.Beneficiary, c.Reason = append(c.Beneficiary, uint64(e.For)), append(c.Reason, w.str(e.Reason))
		return EventKind_EVENT_KIND_ATTEMPT_ENDED
	case scheduler.AttemptStopping:
		c := get(&m.AttemptStopping, empty)
		c.Attempt, c.Beneficiary = append(c.Attempt, uint64(e.Attempt)), append(c.Beneficiary, uint64(e.For))
		return EventKind_EVENT_KIND_ATTEMPT_STOPPING
	case scheduler.AttemptTookSlots:
		c := get(&m.AttemptTookSlots, empty)
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		return EventKind_EVENT_KIND_ATTEMPT_TOOK_SLOTS
	case scheduler.AttemptSuspended:
		c := get(&m.AttemptSuspended, empty)
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		return EventKind_EVENT_KIND_ATTEMPT_SUSPENDED
	case scheduler.SuspensionFailed:
		c := get(&m.SuspensionFailed, empty)
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		return EventKind_EVENT_KIND_SUSPENSION_FAILED
	case scheduler.AttemptResumed:
		c := get(&m.AttemptResumed, empty)
		c.Attempt = append(c.Attempt, uint64(e.Attempt))
		return EventKind_EVENT_KIND_ATTEMPT_RESUMED
	}
	return EventKind_EVENT_KIND_UNSPECIFIED
}

// addAnswers appends an event that belongs to the protocol itself.
func (m *eventWriter) addAnswers(w *writer, e scheduler.Event) EventKind {
	switch e := e.(type) {
	case scheduler.Outcome:
		get(&m.Outcome, func() *Outcome { return &Outcome{Attempts: &Ids{}, LaunchLaunchers: &Ids{}} }).add(w, &e)
		return EventKind_EVENT_KIND_OUTCOME
	case scheduler.SettingChanged:
		c := get(&m.SettingChanged, empty)
		config, err := NewConfig(e.Config)
		if err != nil {
			w.fail("%w", err)
		}
		c.Version, c.Config = append(c.Version, e.Version), append(c.Config, config)
		return EventKind_EVENT_KIND_SETTING_CHANGED
	case scheduler.Requested:
		c := get(&m.Requested, empty)
		c.Request = append(c.Request, e.Request)
		c.PrincipalName = append(c.PrincipalName, w.str(e.Principal.Name))
		c.PrincipalProof = append(c.PrincipalProof, w.str(e.Principal.Proof))
		c.Method, c.Path = append(c.Method, w.str(e.Method)), append(c.Path, w.str(e.Path))
		c.PrincipalRole, c.Query = append(c.PrincipalRole, w.str(e.Principal.Role)), append(c.Query, w.str(e.Query))
		c.Accept, c.Body = append(c.Accept, w.str(e.Accept)), append(c.Body, e.Body)
		return EventKind_EVENT_KIND_REQUESTED
	case scheduler.Noted:
		get(&m.Noted, empty).add(w, &e.Note)
		return EventKind_EVENT_KIND_NOTED
	case scheduler.TimePassed:
		return EventKind_EVENT_KIND_TIME_PASSED
	}
	return EventKind_EVENT_KIND_UNSPECIFIED
}

func (c *BundleOffered) add(job scheduler.JobID, bundle scheduler.BundleID, avoid []scheduler.LauncherID) {
	c.Job, c.Bundle = append(c.Job, uint64(job)), append(c.Bundle, uint64(bundle))
	addIDs(&c.Avoid, avoid)
}

func (c *BundleNamed) add(job scheduler.JobID, bundle scheduler.BundleID) {
	c.Job, c.Bundle = append(c.Job, uint64(job)), append(c.Bundle, uint64(bundle))
}

func (c *BundleProtected) add(e *scheduler.BundleProtected) {
	c.Job, c.Bundle, c.Until = append(c.Job, uint64(e.Job)), append(c.Bundle, uint64(e.Bundle)), append(c.Until, int64(e.Until))
}

func (c *JobUpdated) add(w *writer, e *scheduler.JobUpdated) {
	c.Job, c.Pool = append(c.Job, uint64(e.Job)), append(c.Pool, w.str(e.Pool))
	c.Priority = append(c.Priority, int32(e.Priority))
	c.TimeLimit = addSparse(c.TimeLimit, len(c.Job)-1, int64(e.TimeLimit))
	c.Deadline = addSparse(c.Deadline, len(c.Job)-1, int64(e.Deadline))
	c.Properties.add(w, e.Properties)
}

func (c *LauncherJoined) add(w *writer, e *scheduler.LauncherJoined) {
	c.Launcher = append(c.Launcher, uint64(e.Launcher))
	c.Name, c.Host, c.Rack = append(c.Name, w.str(e.Name)), append(c.Host, w.str(e.Host)), append(c.Rack, w.str(e.Rack))
	c.Slots.add(w, e.Slots)
	addResources(&c.Resources, w, len(c.Memory), e.Resources)
	for _, x := range e.Resources.Counts() {
		c.SuspensionFrees = append(c.SuspensionFrees, slices.Contains(e.SuspensionFrees, x.Kind))
	}
	c.Memory, c.Swap = append(c.Memory, e.Memory), append(c.Swap, e.Swap)
	c.NoSuspend = append(c.NoSuspend, e.NoSuspend)
}

func (c *LauncherLoad) add(w *writer, e *scheduler.LauncherLoad) {
	if !isLoad(e.CPU) || !isLoad(e.Memory) {
		w.fail("launcher %d has a load of %v and %v: it is 0 to 1, or %d when unknown", e.Launcher, e.CPU, e.Memory, scheduler.LoadUnknown)
	}
	c.Launcher = append(c.Launcher, uint64(e.Launcher))
	c.Cpu, c.Memory = append(c.Cpu, e.CPU), append(c.Memory, e.Memory)
}

// isLoad reports whether a number is a fraction from 0 to 1, or LoadUnknown. Not-a-number is
// neither.
func isLoad(x float64) bool { return x == scheduler.LoadUnknown || x >= 0 && x <= 1 }

func (c *AttemptStarted) add(e *scheduler.AttemptStarted) {
	c.Attempt, c.Job, c.Bundle = append(c.Attempt, uint64(e.Attempt)), append(c.Job, uint64(e.Job)), append(c.Bundle, uint64(e.Bundle))
	c.Group, c.Stage = append(c.Group, int64(e.Group)), append(c.Stage, uint32(e.Stage))
	c.Launcher, c.Speculative = append(c.Launcher, uint64(e.Launcher)), append(c.Speculative, e.Speculative)
}

func (c *Notes) add(w *writer, n *scheduler.Note) {
	c.Name, c.Body = append(c.Name, w.str(n.Name)), append(c.Body, n.Body)
}

// encoded adds the name of the value to an encoding error.
func encoded[M any](what string, m M, err error) (M, error) {
	if err != nil {
		var none M
		return none, fmt.Errorf("encode %s: %w", what, err)
	}
	return m, nil
}
