package schedwire

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Decode returns the events of a batch.
func (m *EventBatch) Decode() ([]scheduler.Event, error) {
	r := newReader(m.GetStrings())
	events := readEvents(r, m.GetEvents(), false)
	if r.err != nil {
		return nil, r.err
	}
	return events, nil
}

// eventKinds is the number of kinds, including the unknown kind.
const eventKinds = int(EventKind_EVENT_KIND_ATTEMPT_TOOK_SLOTS) + 1

// eventRows returns the rows of each kind's columns in order.
type eventRows struct {
	r    *reader
	m    *Events
	row  [eventKinds]int // the next row of each kind
	jobs struct {
		submitted, asked jobRows
	}
	updated            propertyRows
	joined             slotRows
	joinedResources    resourceRows
	userLimits         resourceRows
	ready              offeredRows
	speculationOffered offeredRows
	outcomes           outcomeRows
	reserved           idRows[scheduler.LauncherID]
}

type offeredRows struct {
	groups groupRows
	avoid  idRows[scheduler.LauncherID]
}

// readEvents decodes columns to events, which in a round must be in order. After an error in r the
// events are meaningless. If the reader permits it, an event of an unknown kind is skipped; its
// time is still checked.
func readEvents(r *reader, m *Events, ordered bool) []scheduler.Event {
	total := len(m.GetKind())
	if !r.same("events", total, len(m.GetAt())) || r.err != nil {
		return nil
	}
	var n [eventKinds]int
	for _, k := range m.GetKind() {
		switch {
		case isKnown(k):
			n[k]++
		case k > 0 && r.unknown != nil:
			r.unknown.count("event kind", int32(k))
		default:
			r.fail("events", "unknown kind %d", k)
			return nil
		}
	}
	rows := &eventRows{r: r, m: m}
	rows.check(&n)
	if r.err != nil || total == 0 {
		return nil
	}
	events := make([]scheduler.Event, 0, total)
	at := scheduler.Time(0)
	for i, k := range m.Kind {
		before := at
		at += scheduler.Time(m.At[i])
		if ordered && i > 0 && at < before {
			r.fail("events", "event %d is earlier than event %d before it", i, i-1)
		}
		if isKnown(k) {
			events = append(events, rows.next(k, at))
		}
	}
	return events
}

func isKnown(k EventKind) bool { return k > 0 && int(k) < eventKinds }

func readOffered(r *reader, where string, n int, c *BundleOffered) offeredRows {
	if n == 0 && c == nil {
		return offeredRows{}
	}
	r.same(where, n, len(c.GetJob()), len(c.GetBundle()))
	return offeredRows{
		groups: readGroups(r, where+" groups", n, c.GetGroups()),
		avoid:  readIDs(r, where+" avoid", n, c.GetAvoid(), &r.mem.launchers),
	}
}

func (c *BundleNamed) check(r *reader, where string, n int) {
	r.same(where, n, len(c.GetJob()), len(c.GetBundle()))
}

func (c *BundleProtected) check(r *reader, n int) {
	r.same("bundle protected", n, len(c.GetJob()), len(c.GetBundle()), len(c.GetUntil()))
}

func (c *LauncherLoad) check(r *reader, n int) {
	r.same("launcher load", n, len(c.GetLauncher()), len(c.GetCpu()), len(c.GetMemory()))
	for _, column := range [][]float64{c.GetCpu(), c.GetMemory()} {
		for _, x := range column {
			if !isLoad(x) {
				r.fail("launcher load", "%v is not a load: it is 0 to 1, or %d when unknown", x, scheduler.LoadUnknown)
			}
		}
	}
}

// check checks that each kind has as many rows as events.
func (e *eventRows) check(n *[eventKinds]int) {
	e.checkWorld(n)
	e.checkWork(n)
	e.checkAnswers(n)
}

// next returns the next event of a kind.
func (e *eventRows) next(k EventKind, at scheduler.Time) scheduler.Event {
	if x := e.world(k, at); x != nil {
		return x
	}
	if x := e.work(k, at); x != nil {
		return x
	}
	return e.answers(k, at)
}

func (e *eventRows) checkWorld(n *[eventKinds]int) {
	r, m := e.r, e.m
	c := m.GetLauncherJoined()
	k := n[EventKind_EVENT_KIND_LAUNCHER_JOINED]
	r.same("launcher joined", k, len(c.GetLauncher()), len(c.GetName()), len(c.GetHost()), len(c.GetRack()), len(c.GetMemory()))
	if len(c.GetSwap()) > 0 { // an earlier manager omits it
		r.same("launcher joined swap", k, len(c.Swap))
	}
	if len(c.GetNoSuspend()) > 0 { // an earlier manager omits it
		r.same("launcher joined without suspension", k, len(c.NoSuspend))
	}
	e.joined = readSlots(r, "launcher joined slots", k, c.GetSlots())
	e.joinedResources = readResources(r, "launcher joined resources", k, c.GetResources())
	r.same("launcher joined suspension frees", len(c.GetResources().GetKind()), len(c.GetSuspensionFrees()))
	r.same("launcher lost", n[EventKind_EVENT_KIND_LAUNCHER_LOST], len(m.GetLauncherLost().GetLauncher()), len(m.GetLauncherLost().GetReason()))
	r.same("launcher draining", n[EventKind_EVENT_KIND_LAUNCHER_DRAINING], len(m.GetLauncherDraining().GetLauncher()), len(m.GetLauncherDraining().GetDraining()))
	r.same("launcher excluded", n[EventKind_EVENT_KIND_LAUNCHER_EXCLUDED], len(m.GetLauncherExcluded().GetLauncher()), len(m.GetLauncherExcluded().GetExcluded()))
	m.GetLauncherLoad().check(r, n[EventKind_EVENT_KIND_LAUNCHER_LOAD])
	e.jobs.submitted = readJobs(r, "job submitted", n[EventKind_EVENT_KIND_JOB_SUBMITTED], m.GetJobSubmitted())
	e.jobs.asked = readJobs(r, "admission asked", n[EventKind_EVENT_KIND_ADMISSION_ASKED], m.GetAdmissionAsked())
	u := m.GetJobUpdated()
	k = n[EventKind_EVENT_KIND_JOB_UPDATED]
	r.same("job updated", k, len(u.GetJob()), len(u.GetPool()), len(u.GetPriority()))
	if most := max(len(u.GetTimeLimit()), len(u.GetDeadline())); most > k {
		r.fail("job updated", "%d limits of %d jobs", most, k)
	}
	e.updated = readProperties(r, "job updated properties", k, u.GetProperties())
	r.same("job finished", n[EventKind_EVENT_KIND_JOB_FINISHED], len(m.GetJobFinished().GetJob()), len(m.GetJobFinished().GetOutcome()))
	g := m.GetStageGrown()
	r.same("stage grown", n[EventKind_EVENT_KIND_STAGE_GROWN], len(g.GetJob()), len(g.GetStage()), len(g.GetGroups()))
	e.ready = readOffered(r, "bundle ready", n[EventKind_EVENT_KIND_BUNDLE_READY], m.GetBundleReady())
	e.speculationOffered = readOffered(r, "speculation offered", n[EventKind_EVENT_KIND_SPECULATION_OFFERED], m.GetSpeculationOffered())
	m.GetSpeculationWithdrawn().check(r, "speculation withdrawn", n[EventKind_EVENT_KIND_SPECULATION_WITHDRAWN])
	m.GetBundleWithdrawn().check(r, "bundle withdrawn", n[EventKind_EVENT_KIND_BUNDLE_WITHDRAWN])
	m.GetBundleReopened().check(r, "bundle reopened", n[EventKind_EVENT_KIND_BUNDLE_REOPENED])
	m.GetBundleGivenUp().check(r, n[EventKind_EVENT_KIND_BUNDLE_GIVEN_UP])
	m.GetBundleProtected().check(r, n[EventKind_EVENT_KIND_BUNDLE_PROTECTED])
	e.reserved = m.GetBundleReserved().check(r, n[EventKind_EVENT_KIND_BUNDLE_RESERVED])
	m.GetReservationEnded().check(r, n[EventKind_EVENT_KIND_RESERVATION_ENDED])
	e.userLimits = m.GetUserLimitSet().check(r, n[EventKind_EVENT_KIND_USER_LIMIT_SET])
}

func (e *eventRows) checkWork(n *[eventKinds]int) {
	r, m := e.r, e.m
	s := m.GetAttemptStarted()
	r.same("attempt started", n[EventKind_EVENT_KIND_ATTEMPT_STARTED], len(s.GetAttempt()), len(s.GetJob()), len(s.GetBundle()),
		len(s.GetGroup()), len(s.GetStage()), len(s.GetLauncher()), len(s.GetSpeculative()))
	r.same("attempt phase", n[EventKind_EVENT_KIND_ATTEMPT_PHASE], len(m.GetAttemptPhase().GetAttempt()), len(m.GetAttemptPhase().GetPhase()))
	p := m.GetAttemptProgress()
	k := n[EventKind_EVENT_KIND_ATTEMPT_PROGRESS]
	r.same("attempt progress", k, len(p.GetAttempt()), len(p.GetProgress()))
	p.GetWork().check(r, "attempt progress work", k)
	r.same("attempt stopping", n[EventKind_EVENT_KIND_ATTEMPT_STOPPING], len(m.GetAttemptStopping().GetAttempt()), len(m.GetAttemptStopping().GetBeneficiary()))
	r.same("attempt took slots", n[EventKind_EVENT_KIND_ATTEMPT_TOOK_SLOTS], len(m.GetAttemptTookSlots().GetAttempt()))
	d := m.GetAttemptEnded()
	k = n[EventKind_EVENT_KIND_ATTEMPT_ENDED]
	r.same("attempt ended", k, len(d.GetAttempt()), len(d.GetOutcome()), len(d.GetBeneficiary()), len(d.GetReason()))
	d.GetWork().check(r, "attempt ended work", k)
	r.same("attempt suspended", n[EventKind_EVENT_KIND_ATTEMPT_SUSPENDED], len(m.GetAttemptSuspended().GetAttempt()))
	r.same("suspension failed", n[EventKind_EVENT_KIND_SUSPENSION_FAILED], len(m.GetSuspensionFailed().GetAttempt()))
	r.same("attempt resumed", n[EventKind_EVENT_KIND_ATTEMPT_RESUMED], len(m.GetAttemptResumed().GetAttempt()))
}

func (e *eventRows) checkAnswers(n *[eventKinds]int) {
	r, m := e.r, e.m
	e.outcomes = m.GetOutcome().check(r, n[EventKind_EVENT_KIND_OUTCOME])
	r.same("setting changed", n[EventKind_EVENT_KIND_SETTING_CHANGED], len(m.GetSettingChanged().GetVersion()), len(m.GetSettingChanged().GetConfig()))
	q := m.GetRequested()
	r.same("requested", n[EventKind_EVENT_KIND_REQUESTED], len(q.GetRequest()), len(q.GetPrincipalName()), len(q.GetPrincipalProof()),
		len(q.GetMethod()), len(q.GetPath()), len(q.GetBody()))
	for _, c := range [][]uint32{q.GetPrincipalRole(), q.GetQuery(), q.GetAccept()} {
		if len(c) > 0 { // an earlier manager omits it
			r.same("requested", n[EventKind_EVENT_KIND_REQUESTED], len(c))
		}
	}
	r.same("noted", n[EventKind_EVENT_KIND_NOTED], len(m.GetNoted().GetName()), len(m.GetNoted().GetBody()))
}

// world returns the next event of a kind that concerns launchers, jobs or bundles, and nil for
// other kinds.
func (e *eventRows) world(k EventKind, at scheduler.Time) scheduler.Event {
	r, m, i := e.r, e.m, e.row[k]
	switch k {
	case EventKind_EVENT_KIND_BUNDLE_READY:
		c := m.BundleReady
		e.row[k]++
		return scheduler.BundleReady{At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]), Groups: e.ready.groups.next(), Avoid: e.ready.avoid.next()}
	case EventKind_EVENT_KIND_SPECULATION_OFFERED:
		c := m.SpeculationOffered
		e.row[k]++
		return scheduler.SpeculationOffered{At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]), Groups: e.speculationOffered.groups.next(), Avoid: e.speculationOffered.avoid.next()}
	case EventKind_EVENT_KIND_SPECULATION_WITHDRAWN:
		e.row[k]++
		return scheduler.SpeculationWithdrawn{At: at, Job: scheduler.JobID(m.SpeculationWithdrawn.Job[i]), Bundle: scheduler.BundleID(m.SpeculationWithdrawn.Bundle[i])}
	case EventKind_EVENT_KIND_BUNDLE_WITHDRAWN:
		e.row[k]++
		return scheduler.BundleWithdrawn{At: at, Job: scheduler.JobID(m.BundleWithdrawn.Job[i]), Bundle: scheduler.BundleID(m.BundleWithdrawn.Bundle[i])}
	case EventKind_EVENT_KIND_BUNDLE_REOPENED:
		e.row[k]++
		return scheduler.BundleReopened{At: at, Job: scheduler.JobID(m.BundleReopened.Job[i]), Bundle: scheduler.BundleID(m.BundleReopened.Bundle[i])}
	case EventKind_EVENT_KIND_BUNDLE_GIVEN_UP:
		e.row[k]++
		return m.BundleGivenUp.row(i, at)
	case EventKind_EVENT_KIND_BUNDLE_PROTECTED:
		c := m.BundleProtected
		e.row[k]++
		return scheduler.BundleProtected{At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]), Until: scheduler.Time(c.Until[i])}
	case EventKind_EVENT_KIND_BUNDLE_RESERVED:
		e.row[k]++
		return m.BundleReserved.row(i, at, e.reserved.next())
	case EventKind_EVENT_KIND_USER_LIMIT_SET:
		e.row[k]++
		return m.UserLimitSet.row(r, i, at, e.userLimits.next())
	case EventKind_EVENT_KIND_RESERVATION_ENDED:
		e.row[k]++
		return m.ReservationEnded.row(r, i, at)
	case EventKind_EVENT_KIND_JOB_SUBMITTED:
		return scheduler.JobSubmitted{At: at, Job: e.jobs.submitted.next()}
	case EventKind_EVENT_KIND_ADMISSION_ASKED:
		return scheduler.AdmissionAsked{At: at, Job: e.jobs.asked.next()}
	case EventKind_EVENT_KIND_JOB_UPDATED:
		c := m.JobUpdated
		e.row[k]++
		return scheduler.JobUpdated{
			At: at, Job: scheduler.JobID(c.Job[i]), Pool: r.str(c.Pool[i]), Priority: scheduler.Priority(c.Priority[i]),
			TimeLimit: time.Duration(sparse(c.TimeLimit, i)), Deadline: scheduler.Time(sparse(c.Deadline, i)), Properties: e.updated.next(),
		}
	case EventKind_EVENT_KIND_JOB_FINISHED:
		c := m.JobFinished
		e.row[k]++
		return scheduler.JobFinished{At: at, Job: scheduler.JobID(c.Job[i]), Outcome: scheduler.JobOutcome(known(r, "job outcome", c.Outcome[i], JobOutcome_JOB_OUTCOME_SUCCEEDED, JobOutcome_JOB_OUTCOME_KILLED))}
	case EventKind_EVENT_KIND_STAGE_GROWN:
		c := m.StageGrown
		e.row[k]++
		grown := scheduler.StageGrown{At: at, Job: scheduler.JobID(c.Job[i]), Stage: scheduler.StageID(c.Stage[i]), Groups: int(c.Groups[i])}
		if i < len(c.Kind) {
			grown.Kind = r.str(c.Kind[i])
		}
		return grown
	case EventKind_EVENT_KIND_LAUNCHER_JOINED:
		c := m.LauncherJoined
		e.row[k]++
		x := scheduler.LauncherJoined{At: at, Launcher: scheduler.LauncherID(c.Launcher[i]), Name: r.str(c.Name[i]), Host: r.str(c.Host[i]), Rack: r.str(c.Rack[i]), Slots: e.joined.next(), Memory: c.Memory[i]}
		if len(c.Swap) > 0 {
			x.Swap = c.Swap[i]
		}
		x.NoSuspend = len(c.NoSuspend) > 0 && c.NoSuspend[i]
		first := e.joinedResources.spans.at
		x.Resources = e.joinedResources.next()
		for at := first; at < e.joinedResources.spans.at; at++ {
			if c.SuspensionFrees[at] {
				x.SuspensionFrees = append(x.SuspensionFrees, r.str(c.Resources.Kind[at]))
			}
		}
		return x
	case EventKind_EVENT_KIND_LAUNCHER_LOST:
		e.row[k]++
		return scheduler.LauncherLost{At: at, Launcher: scheduler.LauncherID(m.LauncherLost.Launcher[i]), Reason: r.str(m.LauncherLost.Reason[i])}
	case EventKind_EVENT_KIND_LAUNCHER_DRAINING:
		e.row[k]++
		return scheduler.LauncherDraining{At: at, Launcher: scheduler.LauncherID(m.LauncherDraining.Launcher[i]), Draining: m.LauncherDraining.Draining[i]}
	case EventKind_EVENT_KIND_LAUNCHER_EXCLUDED:
		e.row[k]++
		return scheduler.LauncherExcluded{At: at, Launcher: scheduler.LauncherID(m.LauncherExcluded.Launcher[i]), Excluded: m.LauncherExcluded.Excluded[i]}
	case EventKind_EVENT_KIND_LAUNCHER_LOAD:
		c := m.LauncherLoad
		e.row[k]++
		return scheduler.LauncherLoad{At: at, Launcher: scheduler.LauncherID(c.Launcher[i]), CPU: c.Cpu[i], Memory: c.Memory[i]}
	}
	return nil
}

// work returns the next event of a kind that concerns attempts, nil for others.
func (e *eventRows) work(k EventKind, at scheduler.Time) scheduler.Event {
	r, m, i := e.r, e.m, e.row[k]
	switch k {
	case EventKind_EVENT_KIND_ATTEMPT_STARTED:
		c := m.AttemptStarted
		e.row[k]++
		return scheduler.AttemptStarted{
			At: at, Attempt: scheduler.AttemptID(c.Attempt[i]), Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]),
			Group: int(c.Group[i]), Stage: scheduler.StageID(c.Stage[i]), Launcher: scheduler.LauncherID(c.Launcher[i]), Speculative: c.Speculative[i],
		}
	case EventKind_EVENT_KIND_ATTEMPT_PHASE:
		c := m.AttemptPhase
		e.row[k]++
		return scheduler.AttemptPhase{At: at, Attempt: scheduler.AttemptID(c.Attempt[i]), Phase: scheduler.Phase(known(r, "phase", c.Phase[i], Phase_PHASE_SHUFFLE, Phase_PHASE_EXECUTE))}
	case EventKind_EVENT_KIND_ATTEMPT_PROGRESS:
		c := m.AttemptProgress
		e.row[k]++
		return scheduler.AttemptProgress{At: at, Attempt: scheduler.AttemptID(c.Attempt[i]), Progress: c.Progress[i], Work: c.Work.row(i)}
	case EventKind_EVENT_KIND_ATTEMPT_ENDED:
		c := m.AttemptEnded
		e.row[k]++
		return scheduler.AttemptEnded{
			At: at, Attempt: scheduler.AttemptID(c.Attempt[i]), Work: c.Work.row(i), For: scheduler.JobID(c.Beneficiary[i]), Reason: r.str(c.Reason[i]),
			Outcome: scheduler.AttemptOutcome(known(r, "attempt outcome", c.Outcome[i], AttemptOutcome_ATTEMPT_OUTCOME_FINISHED, AttemptOutcome_ATTEMPT_OUTCOME_KILLED)),
		}
	case EventKind_EVENT_KIND_ATTEMPT_STOPPING:
		c := m.AttemptStopping
		e.row[k]++
		return scheduler.AttemptStopping{At: at, Attempt: scheduler.AttemptID(c.Attempt[i]), For: scheduler.JobID(c.Beneficiary[i])}
	case EventKind_EVENT_KIND_ATTEMPT_TOOK_SLOTS:
		e.row[k]++
		return scheduler.AttemptTookSlots{At: at, Attempt: scheduler.AttemptID(m.AttemptTookSlots.Attempt[i])}
	case EventKind_EVENT_KIND_ATTEMPT_SUSPENDED:
		e.row[k]++
		return scheduler.AttemptSuspended{At: at, Attempt: scheduler.AttemptID(m.AttemptSuspended.Attempt[i])}
	case EventKind_EVENT_KIND_SUSPENSION_FAILED:
		e.row[k]++
		return scheduler.SuspensionFailed{At: at, Attempt: scheduler.AttemptID(m.SuspensionFailed.Attempt[i])}
	case EventKind_EVENT_KIND_ATTEMPT_RESUMED:
		e.row[k]++
		return scheduler.AttemptResumed{At: at, Attempt: scheduler.AttemptID(m.AttemptResumed.Attempt[i])}
	}
	return nil
}

// answers returns the next event of a kind that belongs to the protocol itself.
func (e *eventRows) answers(k EventKind, at scheduler.Time) scheduler.Event {
	r, m, i := e.r, e.m, e.row[k]
	e.row[k]++
	switch k {
	case EventKind_EVENT_KIND_OUTCOME:
		return m.Outcome.row(r, i, at, &e.outcomes)
	case EventKind_EVENT_KIND_SETTING_CHANGED:
		config, err := m.SettingChanged.Config[i].Decode()
		if err != nil && r.err == nil {
			r.err = err
		}
		return scheduler.SettingChanged{At: at, Version: m.SettingChanged.Version[i], Config: config}
	case EventKind_EVENT_KIND_REQUESTED:
		c := m.Requested
		return scheduler.Requested{
			At: at, Request: c.Request[i],
			Principal: scheduler.Principal{Name: r.str(c.PrincipalName[i]), Proof: r.str(c.PrincipalProof[i]), Role: r.optional(c.PrincipalRole, i)},
			Method:    r.str(c.Method[i]), Path: r.str(c.Path[i]), Query: r.optional(c.Query, i), Accept: r.optional(c.Accept, i), Body: data(c.Body[i]),
		}
	case EventKind_EVENT_KIND_NOTED:
		return scheduler.Noted{At: at, Note: m.Noted.row(r, i)}
	}
	return scheduler.TimePassed{At: at}
}

// optional returns a text of a column that earlier versions omit.
func (r *reader) optional(column []uint32, i int) string {
	if len(column) == 0 {
		return ""
	}
	return r.str(column[i])
}

func (c *Notes) row(r *reader, i int) scheduler.Note {
	return scheduler.Note{Name: r.str(c.Name[i]), Body: data(c.Body[i])}
}
