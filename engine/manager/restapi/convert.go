package restapi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// stateNames are the document's words for the states of jobs.
var stateNames = map[wire.JobState]JobState{
	wire.JobState_JOB_STATE_WAITING: JobStateWaiting, wire.JobState_JOB_STATE_ASKED: JobStateAsked, wire.JobState_JOB_STATE_RUNNING: JobStateRunning, wire.JobState_JOB_STATE_FINISHING: JobStateFinishing,
	wire.JobState_JOB_STATE_KILLING:   JobStateKilling,
	wire.JobState_JOB_STATE_SUCCEEDED: JobStateSucceeded, wire.JobState_JOB_STATE_FAILED: JobStateFailed, wire.JobState_JOB_STATE_KILLED: JobStateKilled,
}

// JobStateOf is the document's word for the state of a job; "" for an unknown one.
func JobStateOf(s wire.JobState) JobState { return stateNames[s] }

// JobSummaryOf is a job as lists have it.
func JobSummaryOf(j *wire.JobSummary) JobSummary {
	return JobSummary{
		ID: scheduler.JobID(j.Job).String(), Name: j.Name, User: j.User, Pool: j.Pool, Priority: scheduler.Priority(j.Priority).String(), State: JobStateOf(j.State),
		Submitted: *TimeOf(scheduler.Time(max(j.Submitted, 1))), Ended: TimeOf(scheduler.Time(j.Ended)),
		Groups: int(j.Groups), GroupsFinished: int(j.GroupsFinished), GroupsRunning: int(j.GroupsRunning),
		Elements: Pointer(int(j.Elements)),
	}
}

// ElementStateOf is the state of an element of a job array.
func ElementStateOf(s wire.ElementState) ElementState {
	if s == wire.ElementState_ELEMENT_STATE_UNSPECIFIED {
		return "unknown"
	}
	return ElementState(strings.ToLower(strings.TrimPrefix(s.String(), "ELEMENT_STATE_")))
}

// ElementOf is an element of a job array.
func ElementOf(e *wire.ElementStatus) Element {
	x := Element{Index: int(e.Index), State: ElementStateOf(e.State), Attempts: int(e.Attempts)}
	if a := e.Last; a != nil {
		x.Attempt, x.Launcher, x.Reason = Pointer(scheduler.AttemptID(a.Attempt).String()), Pointer(a.Launcher), Pointer(a.Reason)
		x.Started, x.Ended = TimeOf(scheduler.Time(a.Started)), TimeOf(scheduler.Time(a.Ended))
	}
	return x
}

// arrayOf describes a job array; nil: the job is none.
func arrayOf(a *wire.ArrayStatus) *Array {
	set, err := wire.ElementsOf(a.GetElements().GetRanges())
	if err != nil || set.Len() == 0 {
		return nil
	}
	x := &Array{Elements: set.Short(), AtOnce: Pointer(int(a.Elements.AtOnce)), Counts: []ElementCount{}}
	for _, c := range a.Counts {
		x.Counts = append(x.Counts, ElementCount{State: ElementStateOf(c.State), Count: int(c.Count), Elements: c.Indices})
	}
	return x
}

// Each returns the values of an optional list.
func Each[T any](list *[]T) []T {
	if list == nil {
		return nil
	}
	return *list
}

// JobOf is a job with its stages, without attempts.
func JobOf(st *wire.JobStatus) Job {
	x := JobSummaryOf(st.Summary)
	j := Job{
		ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State, Submitted: x.Submitted, Ended: x.Ended,
		Groups: x.Groups, GroupsFinished: x.GroupsFinished, GroupsRunning: x.GroupsRunning, Elements: x.Elements, Array: arrayOf(st.Array),
		Stages: []Stage{}, After: []Dependency{}, Counters: []Counter{}, Read: []LocalityRead{}, Failure: Pointer(st.GetFailure().Text()),
		Waiting: List(st.Waiting), Idle: []IdleAttempt{}, IdleTotal: int(st.IdleTotal), Notes: List(st.Notes), Outputs: List(st.Outputs), Kept: List(st.Kept),
	}
	j.Started, j.Deadline = TimeOf(scheduler.Time(st.Started)), TimeOf(scheduler.Time(st.GetLimits().GetDeadline()))
	j.TimeLimitSeconds = Pointer(time.Duration(st.GetLimits().GetTimeLimitNs()).Seconds())
	j.FailsAtDeadline = Pointer(st.GetLimits().GetFailAtDeadline())
	for _, d := range st.After {
		j.After = append(j.After, Dependency{Job: scheduler.JobID(d.Job).String(), Any: d.Any})
	}
	if r := st.Run; r != nil {
		j.Run = &JobRun{Schedule: r.Name, Number: int64(r.Run), Try: int(r.Try)}
	}
	for _, t := range st.Stages {
		j.Stages = append(j.Stages, Stage{
			Name: t.Name, Nodes: int(t.Nodes), Waiting: int(t.Waiting), Ready: int(t.Ready), Running: int(t.Running), Suspended: int(t.Suspended),
			Finished: int(t.Finished), Failures: int(t.Failures), Adapted: adaptedOf(t.Adapt), Aggregated: aggregatedOf(t.Aggregate),
		})
	}
	for _, a := range st.Idle {
		j.Idle = append(j.Idle, IdleAttempt{
			ID: scheduler.AttemptID(a.Attempt).String(), Stage: a.Stage, Index: int(a.Index), Launcher: a.Launcher, IdleSeconds: float32(time.Duration(a.IdleNs).Seconds()), Blocked: a.Blocked,
		})
	}
	for _, c := range st.Counters {
		j.Counters = append(j.Counters, Counter{Name: c.Name, Value: c.Value})
	}
	for level, bytes := range st.Read {
		r := LocalityRead{Locality: scheduler.Locality(level).String(), Bytes: bytes}
		if level < len(st.LocalAttempts) {
			r.Attempts = int(st.LocalAttempts[level])
		}
		j.Read = append(j.Read, r)
	}
	return j
}

// adaptedOf says how a stage's readers were chosen; nil: they were not.
func adaptedOf(a *wire.AdaptStatus) *Adapted {
	if a == nil {
		return nil
	}
	x := &Adapted{
		Partitions: int(a.Partitions), Joined: int(a.Joined), Split: int(a.Split), Pieces: int(a.Pieces), LargestBytes: a.Largest,
		Ranges: []AdaptedRange{}, RangesLeftOut: int(a.RangesLeftOut),
	}
	if a.Bytes > 0 {
		x.MedianBytes, x.JoinBytes = &a.Median, &a.Bytes // a median of 0, too
	}
	for _, r := range a.Ranges {
		x.Ranges = append(x.Ranges, AdaptedRange{Node: int(r.Reader), Nodes: int(r.Readers), Partition: int(r.Partition), Partitions: int(r.Partitions), Bytes: r.Bytes})
	}
	return x
}

// aggregatedOf says which nodes of an aggregating stage were chosen; nil: it is none.
func aggregatedOf(a *wire.AggregateStatus) *Aggregated {
	if a == nil {
		return nil
	}
	by := AggregatedByMachine
	if a.Level == wire.Level_LEVEL_RACK {
		by = AggregatedByRack
	}
	return &Aggregated{
		By: by, LeastBytes: a.Least, Chosen: a.Chosen, Places: int(a.Places), Nodes: int(a.Nodes), Covered: int(a.Covered), Direct: int(a.Direct), Bytes: a.Bytes,
	}
}

// AttemptOf is an attempt from a job's status; it lacks times that only the manager's own rows
// have.
func AttemptOf(a *wire.AttemptStatus) Attempt {
	seconds := func(ns int64) float32 { return float32(time.Duration(ns).Seconds()) }
	x := Attempt{
		ID: scheduler.AttemptID(a.Attempt).String(), Stage: a.Stage, Index: int(a.Index), Launcher: a.Launcher, State: AttemptState(a.State), Speculative: a.Speculative,
		Started: TimeOf(scheduler.Time(a.Started)), Ended: TimeOf(scheduler.Time(a.Ended)), SuspendedSince: TimeOf(scheduler.Time(a.SuspendedSince)),
		SuspendedSeconds: seconds(a.SuspendedNs), Reason: Pointer(a.Reason), Progress: Pointer(float32(a.Progress)), IdleSeconds: Pointer(seconds(a.IdleNs)), Blocked: Pointer(a.Blocked),
	}
	if a.Started != 0 && a.Ended != 0 {
		ran := seconds(a.Ended - a.Started - a.SuspendedNs)
		x.RunningSeconds = &ran // 0, too
	}
	return x
}

// LauncherOf is a launcher as lists have it.
func LauncherOf(l *wire.LauncherStatus) LauncherSummary {
	x := LauncherSummary{
		Name: l.Name, Host: l.Host, Rack: Pointer(l.Rack), State: LauncherState(l.State), Slots: SlotsOf(l.Slots, l.Free),
		Memory: l.Memory, MemoryFree: l.MemoryFree, Swap: l.Swap, SwapFree: l.SwapFree, Running: int(l.Running), Suspended: int(l.Suspended), Version: Pointer(l.Version),
	}
	if len(l.Resources) > 0 {
		x.Resources = new(resourcesOf(l.Resources, l.ResourcesFree))
	}
	if l.ExcludedUntil != 0 {
		jobs := []string{}
		for _, id := range l.ExcludedFor {
			jobs = append(jobs, scheduler.JobID(id).String())
		}
		x.ExcludedUntil, x.ExcludedFor = TimeOf(scheduler.Time(l.ExcludedUntil)), &jobs
	}
	if m := l.Load; m != nil {
		x.CPU, x.MemoryUsed = Fraction(m.Cpu), Fraction(m.Memory)
	}
	return x
}

// Fraction is a share from 0 to 1; nil: it is not known.
func Fraction(of *float64) *float32 {
	if of == nil {
		return nil
	}
	x := float32(*of)
	return &x
}

// SlotsOf joins the total of each kind of slot with how many are free.
func SlotsOf(all, free []*wire.Slots) []Slots {
	list := []Slots{}
	for _, s := range all {
		x := Slots{Kind: s.Kind, Total: int(s.Count)}
		if i := slices.IndexFunc(free, func(f *wire.Slots) bool { return f.Kind == s.Kind }); i >= 0 {
			x.Free = int(free[i].Count)
		}
		list = append(list, x)
	}
	return list
}

// resourcesOf joins the total of each kind of countable resource with how much is free.
func resourcesOf(all, free []*wire.ResourceCount) []Resource {
	list := make([]Resource, len(all))
	for i, c := range all {
		list[i] = Resource{Kind: c.Kind, Total: int(c.Count), Free: wire.ResourcesOf(free).Of(c.Kind)}
	}
	return list
}

// LauncherDetailsOf is a launcher without its attempts.
func LauncherDetailsOf(l *wire.LauncherStatus) LauncherDetails {
	x := LauncherOf(l)
	return LauncherDetails{
		Name: x.Name, Host: x.Host, Rack: x.Rack, State: x.State, Slots: x.Slots, Memory: x.Memory, MemoryFree: x.MemoryFree, Swap: x.Swap, SwapFree: x.SwapFree, Resources: x.Resources,
		Running: x.Running, Suspended: x.Suspended, Version: x.Version, CPU: x.CPU, MemoryUsed: x.MemoryUsed, ExcludedUntil: x.ExcludedUntil, ExcludedFor: x.ExcludedFor,
		Incarnation: Pointer(int64(l.Incarnation)), HTTPAddress: Pointer(l.HttpAddress), DataAddress: Pointer(l.DataAddress),
		Joined: TimeOf(scheduler.Time(l.Joined)), Heard: TimeOf(scheduler.Time(l.Heard)),
		Attempts: launcherAttempts(l.Attempts), AttemptsLeftOut: int(l.AttemptsLeftOut), Ended: launcherAttempts(l.Ended), Problems: wrongWith(l),
	}
}

// launcherAttempts are attempts as their launcher lists them.
func launcherAttempts(all []*wire.LauncherAttempt) []LauncherAttempt {
	list := []LauncherAttempt{}
	for _, a := range all {
		x := LauncherAttempt{
			Job: scheduler.JobID(a.Job).String(), JobName: a.JobName, ID: scheduler.AttemptID(a.Attempt).String(), Stage: Pointer(a.Stage),
			State: AttemptState(a.State), Since: TimeOf(scheduler.Time(a.Since)),
		}
		if a.Index >= 0 {
			index := int(a.Index) // 0, too
			x.Index = &index
		}
		list = append(list, x)
	}
	return list
}

// wrongWith lists a launcher's problems.
func wrongWith(l *wire.LauncherStatus) []string {
	list := []string{}
	since := ""
	if at := TimeOf(scheduler.Time(l.Heard)); at != nil {
		since = fmt.Sprintf(" since %s", at.Format("15:04:05 MST"))
	}
	switch LauncherState(l.State) {
	case LauncherStateSuspect:
		list = append(list, "nothing was heard of it"+since+": it is taken for lost unless it comes back (manager.launcherLostAfter)")
	case LauncherStateLost:
		list = append(list, "it is lost: what ran there runs elsewhere, and what it stored is made again")
	case LauncherStateExcluded:
		list = append(list, wire.WhyExcluded(l)+": it gets no new work until then, or until \"hamadryad undrain "+l.Name+"\"")
	}
	return list
}

// SettingsOf is a configuration, without its tag.
func SettingsOf(r *wire.SettingsReply) Settings {
	body := Settings{Settings: []Setting{}, File: r.File, Version: int64(r.Version), ReadOnly: Pointer(r.ReadOnly), Problem: Pointer(r.Problem)}
	if r.Text != nil {
		text := string(r.Text)
		body.Text = &text
	}
	for _, x := range r.Settings {
		body.Settings = append(body.Settings, settingOf(x))
	}
	return body
}

func settingOf(x *wire.Setting) Setting {
	return Setting{Key: x.Key, Value: x.Value, From: x.From, Next: whenSet(x.NextFrom, x.Next), NextFrom: Pointer(x.NextFrom), Restart: x.Restart, Fixed: x.Fixed, Over: Pointer(x.Over)}
}

// whenSet is a value that was set; nil: it is a default.
func whenSet(from, value string) *string {
	if from == "" {
		return nil
	}
	return &value
}

// SettingsProblemsOf lists the mistakes of a text, in the order of its lines.
func SettingsProblemsOf(d *wire.SettingsDiff) []SettingsProblem {
	problems := []SettingsProblem{}
	for _, p := range d.Problems {
		problems = append(problems, SettingsProblem{File: p.File, Line: int(p.Line), Text: p.Text})
	}
	return problems
}

// SettingsDiffOf is the changes that a text would make, and its mistakes.
func SettingsDiffOf(d *wire.SettingsDiff) SettingsDiff {
	body := SettingsDiff{Problems: SettingsProblemsOf(d), Lines: []SettingsLine{}, Keys: []SettingsKey{}, Truncated: d.Truncated}
	for _, l := range d.Lines {
		body.Lines = append(body.Lines, SettingsLine{Kind: SettingsLineKind(l.Kind), Old: Pointer(int(l.Old)), New: Pointer(int(l.New)), Text: l.Text, Unended: Pointer(l.Unended)})
	}
	for _, k := range d.Keys {
		body.Keys = append(body.Keys, SettingsKey{Key: k.Key, Before: k.Before, After: k.After, BeforeFrom: k.BeforeFrom, From: k.From, Restart: k.Restart})
	}
	if len(d.Overridden) > 0 {
		overridden := []Setting{}
		for _, x := range d.Overridden {
			overridden = append(overridden, settingOf(x))
		}
		body.Overridden = &overridden
	}
	return body
}

// SettingsVersionOf is a version of the configuration, without its text.
func SettingsVersionOf(v *wire.SettingsVersion) SettingsVersion {
	return SettingsVersion{
		Version: int64(v.Number), Time: time.Unix(0, v.At).UTC(), Who: Pointer(v.Who), By: Pointer(v.By), Comment: Pointer(v.Comment), Origin: v.Origin,
		Before: Pointer(v.Before), Sha256: v.Tag,
	}
}

// PolicyOf is the policy's state, without the manager's counts of its decisions and without the
// policy's own status.
func PolicyOf(r *wire.PolicyReply) Policy {
	p := Policy{
		Name: r.Name, Version: Pointer(r.Version), Configured: r.Policy, State: PolicyState(r.State), Generation: Pointer(int64(r.Generation)),
		Since: TimeOf(scheduler.Time(r.Started)), Restarts: int(r.Restarts), Pages: r.Pages, Memory: Pointer(r.Memory), MemoryMax: Pointer(r.MemoryMax), Rounds: roundTimes(r.RoundTimes),
		Problems: []PolicyProblem{}, Accepted: []Count{}, Refused: []Count{}, Facts: []Property{}, Shadows: []PolicyShadow{},
	}
	for _, x := range r.Shadows {
		p.Shadows = append(p.Shadows, PolicyShadowOf(x))
	}
	for _, x := range r.Problems {
		p.Problems = append(p.Problems, PolicyProblem{What: x.What, Text: x.Text, At: *TimeOf(scheduler.Time(max(x.At, 1)))})
	}
	return p
}

// PolicyShadowOf is a policy that decides without effect.
func PolicyShadowOf(x *wire.PolicyShadow) PolicyShadow {
	s := PolicyShadow{
		Name: x.Name, Version: Pointer(x.Version), State: PolicyShadowState(x.State), Problem: Pointer(x.Problem), Restarts: int(x.Restarts),
		Memory: Pointer(x.Memory), MemoryMax: Pointer(x.MemoryMax), Rounds: int64(x.Rounds), RoundsJoined: int64(x.RoundsJoined), RoundsDropped: int64(x.RoundsDropped),
		Launches: int64(x.Launches), Same: int64(x.Same), SameRound: int64(x.SameRound), SamePlace: int64(x.SamePlace), Only: int64(x.Only),
		Victims: int64(x.Victims), VictimsSame: int64(x.VictimsSame), VictimsOnly: int64(x.VictimsOnly), AnswerMean: time.Duration(x.AnswerMean).Seconds(),
	}
	if all := x.Launches + x.Only; all > 0 {
		part := float64(x.Same) / float64(all)
		s.Agreement = &part
	}
	return s
}

func roundTimes(t *wire.RoundTimes) *RoundTimes {
	if t == nil {
		return nil
	}
	seconds := func(ns int64) float64 { return time.Duration(ns).Seconds() }
	return &RoundTimes{
		Last: seconds(t.Last), Mean: seconds(t.Mean), Longest: seconds(t.Longest), UnderWay: Pointer(seconds(t.UnderWay)), SlowFrom: seconds(t.Slow), Slow: int64(t.SlowRounds),
	}
}

// PoolShareOf is the policy's status of a pool, without since when it lacks slots.
func PoolShareOf(x *scheduler.PoolStatus) PoolShare {
	return PoolShare{
		Name: x.Name, Parent: Pointer(x.Parent), Kind: x.Kind, Weight: x.Weight, MinShare: x.MinShare, MaxShare: Pointer(x.MaxShare), FairShare: x.FairShare,
		Demand: x.Demand, Running: x.Running, Jobs: x.Jobs,
	}
}

// Pointer is nil for the zero value: the document leaves such fields out.
func Pointer[T comparable](x T) *T {
	var none T
	if x == none {
		return nil
	}
	return &x
}

// TimeOf is a time in UTC; nil: the zero time.
func TimeOf(t scheduler.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := time.Unix(0, int64(t)).UTC()
	return &at
}

// List is never null in JSON.
func List[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}
