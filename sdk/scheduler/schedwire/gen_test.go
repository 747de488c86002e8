package schedwire

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"pgregory.net/rapid"
)

// Generators for every type of the contract. Strings include what is not UTF-8.

func text(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "default", "map", "node-17", "rack-2", "bad \xff\xfe text"}),
		rapid.String(),
	).Draw(t, "text")
}

func number(t *rapid.T) int { return rapid.Int().Draw(t, "number") }
func size(t *rapid.T) int64 { return rapid.Int64().Draw(t, "size") }
func flag(t *rapid.T) bool  { return rapid.Bool().Draw(t, "flag") }
func bits(t *rapid.T) []byte {
	return rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")
}
func real(t *rapid.T) float64 { return rapid.Float64().Draw(t, "real") }
func load(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Just[float64](scheduler.LoadUnknown), rapid.Float64Range(0, 1)).Draw(t, "load")
}
func span(t *rapid.T) time.Duration     { return time.Duration(size(t)) }
func instant(t *rapid.T) scheduler.Time { return scheduler.Time(size(t)) }

func id[T ~uint64](t *rapid.T) T {
	return T(rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64()).Draw(t, "id"))
}

func between[T ~uint8](t *rapid.T, low, high T) T {
	return T(rapid.Uint8Range(uint8(low), uint8(high)).Draw(t, "enum"))
}

func many[V any](t *rapid.T, highest int, one func(*rapid.T) V) []V {
	n := rapid.IntRange(0, highest).Draw(t, "n")
	var out []V
	for range n {
		out = append(out, one(t))
	}
	return out
}

func slot(t *rapid.T) scheduler.SlotCount {
	return scheduler.SlotCount{Kind: text(t), Count: number(t)}
}

func property(t *rapid.T) scheduler.Property {
	return scheduler.Property{Name: text(t), Value: text(t)}
}

func place(t *rapid.T) scheduler.Place {
	return scheduler.Place{Host: text(t), Rack: text(t), Bytes: size(t)}
}

func group(t *rapid.T) scheduler.Group {
	return scheduler.Group{
		Stage: scheduler.StageID(rapid.Uint32().Draw(t, "stage")), Kind: text(t), Slots: number(t), Memory: size(t), Resources: resources(t),
		InputBytes: size(t), Places: many(t, scheduler.PlacesMax, place),
	}
}

func job(t *rapid.T) scheduler.Job {
	j := scheduler.Job{
		ID: id[scheduler.JobID](t), Name: text(t), User: text(t), Pool: text(t),
		Priority: scheduler.Priority(rapid.Int32().Draw(t, "priority")), Submitted: instant(t), TimeLimit: time.Duration(size(t)), Deadline: instant(t), Properties: many(t, 3, property),
	}
	j.Stages = many(t, 3, func(t *rapid.T) scheduler.Stage {
		return scheduler.Stage{Name: text(t), Groups: number(t), Kind: text(t), Slots: number(t), Shuffles: flag(t), NoSuspend: flag(t), Expected: span(t), ExpectedBy: between(t, scheduler.EstimateNone, scheduler.EstimatePastRun), After: many(t, 2, func(t *rapid.T) scheduler.StageID { return scheduler.StageID(rapid.Uint32().Draw(t, "after")) })}
	})
	for i := range j.Stages {
		j.Stages[i].ID = scheduler.StageID(i)
	}
	return j
}

func work(t *rapid.T) scheduler.Work {
	return scheduler.Work{
		Running: span(t), Read: [scheduler.LocalityLevels]int64{size(t), size(t), size(t)}, ToRead: size(t), Written: size(t),
	}
}

func problem(t *rapid.T) scheduler.Problem {
	return scheduler.Problem{File: text(t), Line: number(t), Message: text(t)}
}

func note(t *rapid.T) scheduler.Note { return scheduler.Note{Name: text(t), Body: bits(t)} }

func launch(t *rapid.T) scheduler.Launch {
	return scheduler.Launch{Bundle: id[scheduler.BundleID](t), Launchers: many(t, 4, id[scheduler.LauncherID]), Ahead: flag(t)}
}

func preempt(t *rapid.T) scheduler.Preempt {
	return scheduler.Preempt{
		Victims: many(t, 3, id[scheduler.AttemptID]), Mode: between(t, scheduler.PreemptKill, scheduler.PreemptSuspend), Grace: span(t),
		For: id[scheduler.JobID](t), Bundle: id[scheduler.BundleID](t), Placement: many(t, 3, id[scheduler.LauncherID]),
	}
}

func principal(t *rapid.T) scheduler.Principal {
	return scheduler.Principal{Name: text(t), Proof: text(t), Role: text(t)}
}

func pageAsked(t *rapid.T) scheduler.PageAsked {
	return scheduler.PageAsked{
		At: scheduler.Time(rapid.Int64().Draw(t, "at")), Principal: principal(t),
		Method: text(t), Path: text(t), Query: text(t), Accept: text(t), Body: bits(t),
	}
}

func page(t *rapid.T) scheduler.Answer {
	return scheduler.Answer{Status: rapid.Int().Draw(t, "status"), ContentType: text(t), Body: bits(t)}
}

func credentials(t *rapid.T) scheduler.Credentials {
	c := scheduler.Credentials{
		Purpose: scheduler.PurposeSubmit, Principal: principal(t), Authorization: text(t),
		Name: text(t), Pool: text(t), Properties: many(t, 3, property),
	}
	if rapid.Bool().Draw(t, "request") {
		c.Purpose, c.Request = scheduler.PurposeRequest, pageAsked(t)
	}
	return c
}

func proof(t *rapid.T) scheduler.Proof {
	p := scheduler.Proof{Principal: principal(t), Query: text(t), Changes: rapid.Bool().Draw(t, "changes")}
	if rapid.Bool().Draw(t, "denied") {
		denied := page(t)
		p.Denied = &denied
	}
	return p
}

func config(t *rapid.T) scheduler.Config {
	return scheduler.Config{
		File: text(t), Line: number(t), Text: bits(t),
		Files: many(t, 2, func(t *rapid.T) scheduler.ConfigFile { return scheduler.ConfigFile{Name: text(t), Data: bits(t)} }),
	}
}

// event draws an event of any kind at the given time.
func event(t *rapid.T, at scheduler.Time) scheduler.Event {
	jobID, bundle, attempt, launcher := id[scheduler.JobID](t), id[scheduler.BundleID](t), id[scheduler.AttemptID](t), id[scheduler.LauncherID](t)
	avoid := func() []scheduler.LauncherID { return many(t, 3, id[scheduler.LauncherID]) }
	stage := scheduler.StageID(rapid.Uint32().Draw(t, "stage"))
	switch k := rapid.IntRange(1, eventKinds-1).Draw(t, "kind"); EventKind(k) {
	case EventKind_EVENT_KIND_LAUNCHER_JOINED:
		e := scheduler.LauncherJoined{At: at, Launcher: launcher, Name: text(t), Host: text(t), Rack: text(t), Slots: many(t, 3, slot), Memory: size(t), Swap: size(t), Resources: resources(t), NoSuspend: flag(t)}
		for _, c := range e.Resources.Counts() {
			if flag(t) {
				e.SuspensionFrees = append(e.SuspensionFrees, c.Kind)
			}
		}
		return e
	case EventKind_EVENT_KIND_LAUNCHER_LOST:
		return scheduler.LauncherLost{At: at, Launcher: launcher, Reason: text(t)}
	case EventKind_EVENT_KIND_LAUNCHER_DRAINING:
		return scheduler.LauncherDraining{At: at, Launcher: launcher, Draining: flag(t)}
	case EventKind_EVENT_KIND_BUNDLE_RESERVED:
		return scheduler.BundleReserved{At: at, Job: id[scheduler.JobID](t), Bundle: id[scheduler.BundleID](t), Launchers: many(t, 3, id[scheduler.LauncherID]), Until: instant(t)}
	case EventKind_EVENT_KIND_RESERVATION_ENDED:
		return scheduler.ReservationEnded{At: at, Job: id[scheduler.JobID](t), Bundle: id[scheduler.BundleID](t), End: between(t, scheduler.ReservationUsed, scheduler.ReservationPolicyChanged)}
	case EventKind_EVENT_KIND_LAUNCHER_EXCLUDED:
		return scheduler.LauncherExcluded{At: at, Launcher: launcher, Excluded: flag(t)}
	case EventKind_EVENT_KIND_LAUNCHER_LOAD:
		return scheduler.LauncherLoad{At: at, Launcher: launcher, CPU: load(t), Memory: load(t)}
	case EventKind_EVENT_KIND_JOB_SUBMITTED:
		return scheduler.JobSubmitted{At: at, Job: job(t)}
	case EventKind_EVENT_KIND_JOB_UPDATED:
		return scheduler.JobUpdated{At: at, Job: jobID, Pool: text(t), Priority: scheduler.High, TimeLimit: time.Duration(size(t)), Deadline: instant(t), Properties: many(t, 3, property)}
	case EventKind_EVENT_KIND_JOB_FINISHED:
		return scheduler.JobFinished{At: at, Job: jobID, Outcome: between(t, scheduler.JobSucceeded, scheduler.JobKilled)}
	case EventKind_EVENT_KIND_STAGE_GROWN:
		return scheduler.StageGrown{At: at, Job: jobID, Stage: stage, Groups: number(t), Kind: text(t)}
	case EventKind_EVENT_KIND_BUNDLE_READY:
		return scheduler.BundleReady{At: at, Job: jobID, Bundle: bundle, Groups: many(t, 3, group), Avoid: avoid()}
	case EventKind_EVENT_KIND_BUNDLE_WITHDRAWN:
		return scheduler.BundleWithdrawn{At: at, Job: jobID, Bundle: bundle}
	case EventKind_EVENT_KIND_BUNDLE_REOPENED:
		return scheduler.BundleReopened{At: at, Job: jobID, Bundle: bundle}
	case EventKind_EVENT_KIND_BUNDLE_GIVEN_UP:
		return scheduler.BundleGivenUp{At: at, Job: jobID, Bundle: bundle, Stage: stage, GivenUp: flag(t)}
	case EventKind_EVENT_KIND_USER_LIMIT_SET:
		return scheduler.UserLimitSet{At: at, User: text(t), Limit: scheduler.UserLimit{Slots: number(t), Memory: int64(number(t)), Resources: resources(t)}}
	case EventKind_EVENT_KIND_SPECULATION_OFFERED:
		return scheduler.SpeculationOffered{At: at, Job: jobID, Bundle: bundle, Groups: many(t, 3, group), Avoid: avoid()}
	case EventKind_EVENT_KIND_SPECULATION_WITHDRAWN:
		return scheduler.SpeculationWithdrawn{At: at, Job: jobID, Bundle: bundle}
	case EventKind_EVENT_KIND_BUNDLE_PROTECTED:
		return scheduler.BundleProtected{At: at, Job: jobID, Bundle: bundle, Until: scheduler.Time(rapid.Int64().Draw(t, "until"))}
	case EventKind_EVENT_KIND_ATTEMPT_STARTED:
		return scheduler.AttemptStarted{At: at, Attempt: attempt, Job: jobID, Bundle: bundle, Group: number(t), Stage: stage, Launcher: launcher, Speculative: flag(t)}
	case EventKind_EVENT_KIND_ATTEMPT_PHASE:
		return scheduler.AttemptPhase{At: at, Attempt: attempt, Phase: between(t, scheduler.PhaseShuffle, scheduler.PhaseExecute)}
	case EventKind_EVENT_KIND_ATTEMPT_PROGRESS:
		return scheduler.AttemptProgress{At: at, Attempt: attempt, Progress: real(t), Work: work(t)}
	case EventKind_EVENT_KIND_ATTEMPT_ENDED:
		return scheduler.AttemptEnded{At: at, Attempt: attempt, Outcome: between(t, scheduler.Finished, scheduler.Killed), Work: work(t), For: jobID, Reason: text(t)}
	case EventKind_EVENT_KIND_ATTEMPT_STOPPING:
		return scheduler.AttemptStopping{At: at, Attempt: attempt, For: jobID}
	case EventKind_EVENT_KIND_ATTEMPT_TOOK_SLOTS:
		return scheduler.AttemptTookSlots{At: at, Attempt: attempt}
	case EventKind_EVENT_KIND_ATTEMPT_SUSPENDED:
		return scheduler.AttemptSuspended{At: at, Attempt: attempt}
	case EventKind_EVENT_KIND_SUSPENSION_FAILED:
		return scheduler.SuspensionFailed{At: at, Attempt: attempt}
	case EventKind_EVENT_KIND_ATTEMPT_RESUMED:
		return scheduler.AttemptResumed{At: at, Attempt: attempt}
	case EventKind_EVENT_KIND_OUTCOME:
		return outcome(t, scheduler.Outcome{
			At: at, Round: uint64(jobID), Kind: between(t, scheduler.DecisionRefuse, scheduler.DecisionSpeculate), Index: number(t), Accepted: flag(t),
			Attempts: many(t, 3, id[scheduler.AttemptID]), Reason: between(t, scheduler.NotRefused, scheduler.UserAtLimit), Detail: text(t),
		})
	case EventKind_EVENT_KIND_SETTING_CHANGED:
		return scheduler.SettingChanged{At: at, Version: uint64(jobID), Config: config(t)}
	case EventKind_EVENT_KIND_ADMISSION_ASKED:
		return scheduler.AdmissionAsked{At: at, Job: job(t)}
	case EventKind_EVENT_KIND_REQUESTED:
		return scheduler.Requested{At: at, Request: uint64(jobID), Principal: principal(t), Method: text(t), Path: text(t), Query: text(t), Accept: text(t), Body: bits(t)}
	case EventKind_EVENT_KIND_NOTED:
		return scheduler.Noted{At: at, Note: note(t)}
	case EventKind_EVENT_KIND_TIME_PASSED:
		return scheduler.TimePassed{At: at}
	default:
		panic(fmt.Sprintf("no generator for event kind %d", k))
	}
}

// outcome draws the decision of an outcome.
func outcome(t *rapid.T, o scheduler.Outcome) scheduler.Outcome {
	switch o.Kind {
	case scheduler.DecisionRefuse:
		o.Refuse = refuse(t)
	case scheduler.DecisionAdmit:
		o.Admit = admit(t)
	case scheduler.DecisionPreempt:
		o.Preempt = preempt(t)
	case scheduler.DecisionResume:
		o.Resume = resume(t)
	case scheduler.DecisionLaunch:
		o.Launch = launch(t)
	case scheduler.DecisionReserve:
		o.Reserve = reserve(t)
	case scheduler.DecisionSpeculate:
		o.Speculate = speculate(t)
	}
	return o
}

func speculate(t *rapid.T) scheduler.Speculate {
	return scheduler.Speculate{Bundle: id[scheduler.BundleID](t)}
}

func refuse(t *rapid.T) scheduler.Refuse {
	return scheduler.Refuse{Job: id[scheduler.JobID](t), Reason: text(t)}
}

func admit(t *rapid.T) scheduler.Admit {
	return scheduler.Admit{Job: id[scheduler.JobID](t), Pool: text(t)}
}

func resume(t *rapid.T) scheduler.Resume {
	return scheduler.Resume{Attempt: id[scheduler.AttemptID](t)}
}

func reserve(t *rapid.T) scheduler.Reserve {
	return scheduler.Reserve{Bundle: id[scheduler.BundleID](t), Launchers: many(t, 3, id[scheduler.LauncherID]), Until: instant(t)}
}

// anyEvents draws events at any times.
func anyEvents(t *rapid.T) []scheduler.Event {
	return many(t, 12, func(t *rapid.T) scheduler.Event { return event(t, instant(t)) })
}

func round(t *rapid.T) scheduler.Round {
	r := scheduler.Round{Number: id[uint64](t), Now: instant(t)}
	times := many(t, 12, instant)
	slices.Sort(times)
	for _, at := range times {
		r.Events = append(r.Events, event(t, at))
	}
	launchers := rapid.SliceOfNDistinct(rapid.Uint64(), 0, 4, rapid.ID).Draw(t, "launchers")
	slices.Sort(launchers)
	for _, l := range launchers {
		r.Offers = append(r.Offers, scheduler.Offer{
			Launcher: scheduler.LauncherID(l), Free: many(t, 3, slot), Memory: size(t), Suspended: number(t), Held: size(t), Swap: int64(rapid.SampledFrom([]int{0, 0, 1 << 40}).Draw(t, "swap")),
			Reserved: many(t, 2, func(t *rapid.T) scheduler.Reservation {
				return scheduler.Reservation{Job: id[scheduler.JobID](t), Bundle: id[scheduler.BundleID](t), Kind: text(t), Slots: number(t), Memory: size(t), Resources: resources(t)}
			}), Resources: resources(t),
			Ahead: many(t, 2, func(t *rapid.T) scheduler.AheadRoom {
				return scheduler.AheadRoom{Job: id[scheduler.JobID](t), Stage: scheduler.StageID(rapid.Uint32().Draw(t, "stage")), Count: number(t), PerLaunch: number(t)}
			}),
		})
		if rapid.IntRange(0, 3).Draw(t, "closed") == 0 {
			o := &r.Offers[len(r.Offers)-1]
			o.ForResume, o.ForResumeMemory, o.ForResumeResources = many(t, 3, slot), size(t), resources(t)
		}
	}
	return r
}

// resources draws amounts of countable resources, mostly none.
func resources(t *rapid.T) scheduler.Resources {
	if rapid.IntRange(0, 3).Draw(t, "resources") > 0 {
		return scheduler.Resources{}
	}
	return scheduler.NewResources(many(t, 3, func(t *rapid.T) scheduler.ResourceCount {
		return scheduler.ResourceCount{Kind: rapid.SampledFrom([]string{"cores", "gpu", "license-x"}).Draw(t, "kind"), Count: rapid.IntRange(1, 300).Draw(t, "count")}
	})...)
}

func checkpoint(t *rapid.T) *scheduler.Checkpoint {
	if flag(t) {
		return nil
	}
	return &scheduler.Checkpoint{Version: rapid.Uint32().Draw(t, "version"), Data: bits(t), Append: flag(t)}
}

func snapshot(t *rapid.T) scheduler.Snapshot {
	s := scheduler.Snapshot{Now: instant(t), Events: anyEvents(t), Checkpoint: checkpoint(t)}
	s.Since = rapid.IntRange(0, len(s.Events)).Draw(t, "since")
	return s
}

func decisions(t *rapid.T) scheduler.Decisions {
	return scheduler.Decisions{
		Refuse: many(t, 3, refuse), Admit: many(t, 3, admit), Preempt: many(t, 3, preempt),
		Resume: many(t, 3, resume), Launch: many(t, 3, launch), Reserve: many(t, 3, reserve),
		Answers: many(t, 3, func(t *rapid.T) scheduler.Answer {
			return scheduler.Answer{Request: id[uint64](t), Status: number(t), ContentType: text(t), Body: bits(t)}
		}),
		Settings: many(t, 3, func(t *rapid.T) scheduler.SettingsVerdict {
			return scheduler.SettingsVerdict{
				Version: id[uint64](t), Problems: many(t, 2, problem),
				Abilities: scheduler.Ability(rapid.Uint32Range(0, uint32(abilitiesKnown)).Draw(t, "abilities")), ProgressEvery: span(t),
			}
		}),
		Waiting: many(t, 3, func(t *rapid.T) scheduler.Waiting {
			return scheduler.Waiting{Job: id[scheduler.JobID](t), Reason: between(t, scheduler.WaitNone, scheduler.WaitHeld), Detail: text(t)}
		}),
		Notes: many(t, 3, note), WakeAt: instant(t), Checkpoint: checkpoint(t),
	}
}

func environment(t *rapid.T) scheduler.Environment {
	return scheduler.Environment{
		Heartbeat: span(t), Seed: id[uint64](t), Kinds: many(t, 3, text), Simulated: flag(t), Replayed: flag(t), Store: text(t), Trace: text(t),
		ReserveMax: span(t), ProtectFor: span(t), SuspendMax: span(t), WakeMin: span(t),
		Limits: scheduler.Limits{AnswerBytes: number(t), CheckpointBytes: number(t), Decisions: number(t), GraceMax: span(t), RoundDeadline: span(t), SuspendedMax: number(t), SuspendedPercent: number(t), ReservationsMax: number(t)},
	}
}

func description(t *rapid.T) scheduler.Description {
	return scheduler.Description{
		Name: text(t), Version: text(t), ProgressEvery: span(t),
		Abilities: scheduler.Ability(rapid.Uint32Range(0, uint32(abilitiesKnown)).Draw(t, "abilities")),
	}
}

func explanation(t *rapid.T) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: between(t, scheduler.WaitNone, scheduler.WaitHeld), Detail: text(t), Place: number(t), Facts: many(t, 3, property),
	}
}

func status(t *rapid.T) scheduler.Status {
	pool := func(t *rapid.T) scheduler.PoolStatus {
		return scheduler.PoolStatus{
			Name: text(t), Parent: text(t), Kind: text(t), Weight: real(t), MinShare: number(t), MaxShare: number(t),
			FairShare: real(t), Demand: number(t), Running: number(t), Jobs: number(t),
		}
	}
	queued := func(t *rapid.T) scheduler.Queued { return scheduler.Queued{Job: id[scheduler.JobID](t), Why: text(t)} }
	return scheduler.Status{Pools: many(t, 3, pool), Facts: many(t, 3, property), AllPools: rapid.Bool().Draw(t, "all pools"), Queue: many(t, 3, queued)}
}
