package rest

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// What this file makes of the manager's messages is what the interface answers and what the command
// line prints as JSON: both speak the document's dialect, field by field.

// states are the words for states of jobs.
var states = map[wire.JobState]restapi.JobState{
	wire.JobState_JOB_STATE_ASKED: restapi.JobStateAsked, wire.JobState_JOB_STATE_RUNNING: restapi.JobStateRunning, wire.JobState_JOB_STATE_FINISHING: restapi.JobStateFinishing,
	wire.JobState_JOB_STATE_KILLING:   restapi.JobStateKilling,
	wire.JobState_JOB_STATE_SUCCEEDED: restapi.JobStateSucceeded, wire.JobState_JOB_STATE_FAILED: restapi.JobStateFailed, wire.JobState_JOB_STATE_KILLED: restapi.JobStateKilled,
}

// JobSummaryOf is a job as lists have it.
func JobSummaryOf(j *wire.JobSummary) restapi.JobSummary {
	return restapi.JobSummary{
		ID: scheduler.JobID(j.Job).String(), Name: j.Name, User: j.User, Pool: j.Pool, Priority: scheduler.Priority(j.Priority).String(), State: states[j.State],
		Submitted: *moment(scheduler.Time(max(j.Submitted, 1))), Ended: moment(scheduler.Time(j.Ended)),
		Groups: int(j.Groups), GroupsFinished: int(j.GroupsFinished), GroupsRunning: int(j.GroupsRunning),
	}
}

// JobOf is a job with its stages, without attempts.
func JobOf(st *wire.JobStatus) restapi.Job {
	x := JobSummaryOf(st.Summary)
	j := restapi.Job{
		ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State, Submitted: x.Submitted, Ended: x.Ended,
		Groups: x.Groups, GroupsFinished: x.GroupsFinished, GroupsRunning: x.GroupsRunning,
		Stages: []restapi.Stage{}, Counters: []restapi.Counter{}, Read: []restapi.LocalityRead{}, Failure: pointer(st.GetFailure().Text()),
		Waiting: list(st.Waiting), Idle: []restapi.IdleAttempt{}, IdleTotal: int(st.IdleTotal), Notes: list(st.Notes), Outputs: list(st.Outputs), Kept: list(st.Kept),
	}
	for _, t := range st.Stages {
		j.Stages = append(j.Stages, restapi.Stage{
			Name: t.Name, Nodes: int(t.Nodes), Waiting: int(t.Waiting), Ready: int(t.Ready), Running: int(t.Running), Suspended: int(t.Suspended),
			Finished: int(t.Finished), Failures: int(t.Failures),
		})
	}
	for _, a := range st.Idle {
		j.Idle = append(j.Idle, restapi.IdleAttempt{
			ID: scheduler.AttemptID(a.Attempt).String(), Stage: a.Stage, Index: int(a.Index), Launcher: a.Launcher, IdleSeconds: float32(time.Duration(a.IdleNs).Seconds()), Blocked: a.Blocked,
		})
	}
	for _, c := range st.Counters {
		j.Counters = append(j.Counters, restapi.Counter{Name: c.Name, Value: c.Value})
	}
	for level, bytes := range st.Read {
		r := restapi.LocalityRead{Locality: scheduler.Locality(level).String(), Bytes: bytes}
		if level < len(st.LocalAttempts) {
			r.Attempts = int(st.LocalAttempts[level])
		}
		j.Read = append(j.Read, r)
	}
	return j
}

// AttemptOf is an attempt as a job's status tells of it; it lacks times that only the manager's own
// rows have.
func AttemptOf(a *wire.AttemptStatus) restapi.Attempt {
	seconds := func(ns int64) float32 { return float32(time.Duration(ns).Seconds()) }
	x := restapi.Attempt{
		ID: scheduler.AttemptID(a.Attempt).String(), Stage: a.Stage, Index: int(a.Index), Launcher: a.Launcher, State: restapi.AttemptState(a.State), Speculative: a.Speculative,
		Started: moment(scheduler.Time(a.Started)), Ended: moment(scheduler.Time(a.Ended)), SuspendedSince: moment(scheduler.Time(a.SuspendedSince)),
		SuspendedSeconds: seconds(a.SuspendedNs), Reason: pointer(a.Reason), Progress: pointer(float32(a.Progress)), IdleSeconds: pointer(seconds(a.IdleNs)), Blocked: pointer(a.Blocked),
	}
	if a.Started != 0 && a.Ended != 0 {
		ran := seconds(a.Ended - a.Started - a.SuspendedNs)
		x.RunningSeconds = &ran // 0, too
	}
	return x
}

// LauncherOf is a launcher as lists have it.
func LauncherOf(l *wire.LauncherStatus) restapi.LauncherSummary {
	x := restapi.LauncherSummary{
		Name: l.Name, Host: l.Host, Rack: pointer(l.Rack), State: restapi.LauncherState(l.State), Slots: slots(l.Slots, l.Free),
		Memory: l.Memory, MemoryFree: l.MemoryFree, Swap: l.Swap, SwapFree: l.SwapFree, Running: int(l.Running), Suspended: int(l.Suspended), Version: pointer(l.Version),
	}
	if l.ExcludedUntil != 0 {
		jobs := []string{}
		for _, id := range l.ExcludedFor {
			jobs = append(jobs, scheduler.JobID(id).String())
		}
		x.ExcludedUntil, x.ExcludedFor = moment(scheduler.Time(l.ExcludedUntil)), &jobs
	}
	if m := l.Load; m != nil {
		x.CPU, x.MemoryUsed = part(m.Cpu), part(m.Memory)
	}
	return x
}

// part is a part of 1, which may be 0; nil: nobody knows it.
func part(of *float64) *float32 {
	if of == nil {
		return nil
	}
	x := float32(*of)
	return &x
}

// slots joins what there is of each kind with what is free.
func slots(all, free []*wire.Slots) []restapi.Slots {
	list := []restapi.Slots{}
	for _, s := range all {
		x := restapi.Slots{Kind: s.Kind, Total: int(s.Count)}
		if i := slices.IndexFunc(free, func(f *wire.Slots) bool { return f.Kind == s.Kind }); i >= 0 {
			x.Free = int(free[i].Count)
		}
		list = append(list, x)
	}
	return list
}

// LauncherDetailsOf is a launcher by itself, without the attempts there.
func LauncherDetailsOf(l *wire.LauncherStatus) restapi.LauncherDetails {
	x := LauncherOf(l)
	return restapi.LauncherDetails{
		Name: x.Name, Host: x.Host, Rack: x.Rack, State: x.State, Slots: x.Slots, Memory: x.Memory, MemoryFree: x.MemoryFree, Swap: x.Swap, SwapFree: x.SwapFree,
		Running: x.Running, Suspended: x.Suspended, Version: x.Version, CPU: x.CPU, MemoryUsed: x.MemoryUsed, ExcludedUntil: x.ExcludedUntil, ExcludedFor: x.ExcludedFor,
		Incarnation: pointer(int64(l.Incarnation)), HTTPAddress: pointer(l.HttpAddress), DataAddress: pointer(l.DataAddress),
		Joined: moment(scheduler.Time(l.Joined)), Heard: moment(scheduler.Time(l.Heard)),
		Attempts: []restapi.LauncherAttempt{}, Ended: []restapi.LauncherAttempt{}, Problems: wrongWith(l),
	}
}

// wrongWith says what is wrong with a launcher.
func wrongWith(l *wire.LauncherStatus) []string {
	list := []string{}
	since := ""
	if at := moment(scheduler.Time(l.Heard)); at != nil {
		since = fmt.Sprintf(" since %s", at.Format("15:04:05 MST"))
	}
	switch restapi.LauncherState(l.State) {
	case restapi.LauncherStateSuspect:
		list = append(list, "nothing was heard of it"+since+": it is taken for lost unless it comes back (manager.launcherLostAfter)")
	case restapi.LauncherStateLost:
		list = append(list, "it is lost: what ran there runs elsewhere, and what it stored is made again")
	case restapi.LauncherStateExcluded:
		list = append(list, wire.WhyExcluded(l)+": it gets no new work until then, or until \"hamadryad undrain "+l.Name+"\"")
	}
	return list
}

// SettingsOf is a configuration, without its tag.
func SettingsOf(r *wire.SettingsReply) restapi.Settings {
	body := restapi.Settings{Settings: []restapi.Setting{}, File: r.File, Version: int64(r.Version), ReadOnly: pointer(r.ReadOnly), Problem: pointer(r.Problem)}
	if r.Text != nil {
		text := string(r.Text)
		body.Text = &text
	}
	for _, x := range r.Settings {
		body.Settings = append(body.Settings, settingOf(x))
	}
	return body
}

func settingOf(x *wire.Setting) restapi.Setting {
	return restapi.Setting{Key: x.Key, Value: x.Value, From: x.From, Next: whenSet(x.NextFrom, x.Next), NextFrom: pointer(x.NextFrom), Restart: x.Restart, Fixed: x.Fixed, Over: pointer(x.Over)}
}

// whenSet is a value that was set somewhere; nil: it was not.
func whenSet(from, value string) *string {
	if from == "" {
		return nil
	}
	return &value
}

func problemsOf(d *wire.SettingsDiff) []restapi.SettingsProblem {
	problems := []restapi.SettingsProblem{}
	for _, p := range d.Problems {
		problems = append(problems, restapi.SettingsProblem{File: p.File, Line: int(p.Line), Text: p.Text})
	}
	return problems
}

// SettingsDiffOf is what a text would change, and what is wrong with it.
func SettingsDiffOf(d *wire.SettingsDiff) restapi.SettingsDiff {
	body := restapi.SettingsDiff{Problems: problemsOf(d), Lines: []restapi.SettingsLine{}, Keys: []restapi.SettingsKey{}, Truncated: d.Truncated}
	for _, l := range d.Lines {
		body.Lines = append(body.Lines, restapi.SettingsLine{Kind: restapi.SettingsLineKind(l.Kind), Old: pointer(int(l.Old)), New: pointer(int(l.New)), Text: l.Text, Unended: pointer(l.Unended)})
	}
	for _, k := range d.Keys {
		body.Keys = append(body.Keys, restapi.SettingsKey{Key: k.Key, Before: k.Before, After: k.After, BeforeFrom: k.BeforeFrom, From: k.From, Restart: k.Restart})
	}
	if len(d.Overridden) > 0 {
		overridden := []restapi.Setting{}
		for _, x := range d.Overridden {
			overridden = append(overridden, settingOf(x))
		}
		body.Overridden = &overridden
	}
	return body
}

// SettingsVersionOf is a version of the configuration, without its text.
func SettingsVersionOf(v *wire.SettingsVersion) restapi.SettingsVersion {
	return restapi.SettingsVersion{
		Version: int64(v.Number), Time: time.Unix(0, v.At).UTC(), Who: pointer(v.Who), By: pointer(v.By), Comment: pointer(v.Comment), Origin: v.Origin,
		Before: pointer(v.Before), Sha256: v.Tag,
	}
}

// PolicyOf is how the policy is, without what the manager counts of its decisions and what it tells
// of itself.
func PolicyOf(r *wire.PolicyReply) restapi.Policy {
	p := restapi.Policy{
		Name: r.Name, Version: pointer(r.Version), Configured: r.Policy, State: restapi.PolicyState(r.State), Generation: pointer(int64(r.Generation)),
		Since: moment(scheduler.Time(r.Started)), Restarts: int(r.Restarts), Pages: r.Pages, Memory: pointer(r.Memory), MemoryMax: pointer(r.MemoryMax), Rounds: roundTimes(r.RoundTimes),
		Problems: []restapi.PolicyProblem{}, Accepted: []restapi.Count{}, Refused: []restapi.Count{}, Facts: []restapi.Property{},
	}
	for _, x := range r.Problems {
		p.Problems = append(p.Problems, restapi.PolicyProblem{What: x.What, Text: x.Text, At: *moment(scheduler.Time(max(x.At, 1)))})
	}
	return p
}

func roundTimes(t *wire.RoundTimes) *restapi.RoundTimes {
	if t == nil {
		return nil
	}
	seconds := func(ns int64) float64 { return time.Duration(ns).Seconds() }
	return &restapi.RoundTimes{
		Last: seconds(t.Last), Mean: seconds(t.Mean), Longest: seconds(t.Longest), UnderWay: pointer(seconds(t.UnderWay)), SlowFrom: seconds(t.Slow), Slow: int64(t.SlowRounds),
	}
}

// PoolShareOf is what the policy tells of a pool, without since when it lacks slots.
func PoolShareOf(x *scheduler.PoolStatus) restapi.PoolShare {
	return restapi.PoolShare{
		Name: x.Name, Parent: pointer(x.Parent), Kind: x.Kind, Weight: x.Weight, MinShare: x.MinShare, MaxShare: pointer(x.MaxShare), FairShare: x.FairShare,
		Demand: x.Demand, Running: x.Running, Jobs: x.Jobs,
	}
}
