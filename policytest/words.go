package policytest

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// eventWords describe an event of a round.
func eventWords(e scheduler.Event) string {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		return fmt.Sprintf("launcher %d joined with %s, and %s of memory%s", e.Launcher, slotWords(e.Slots), memoryWords(e.Memory), resourceWords(e.Resources))
	case scheduler.LauncherLost:
		return fmt.Sprintf("launcher %d is lost", e.Launcher)
	case scheduler.LauncherDraining:
		return fmt.Sprintf("launcher %d is drained: %t", e.Launcher, e.Draining)
	case scheduler.LauncherExcluded:
		return fmt.Sprintf("launcher %d is excluded: %t", e.Launcher, e.Excluded)
	case scheduler.LauncherLoad:
		return fmt.Sprintf("the machine of launcher %d has load %.2f, and %.2f of its memory used", e.Launcher, e.CPU, e.Memory)
	case scheduler.JobSubmitted:
		return fmt.Sprintf("%s is submitted, with %d stages", e.Job.ID, len(e.Job.Stages))
	case scheduler.JobUpdated:
		return fmt.Sprintf("%s has pool %.40q and priority %s now", e.Job, e.Pool, e.Priority)
	case scheduler.JobFinished:
		return fmt.Sprintf("%s has ended: %s", e.Job, e.Outcome)
	case scheduler.SettingChanged:
		return fmt.Sprintf("settings version %d is asked for: %.80q", e.Version, e.Config.Text)
	case scheduler.AdmissionAsked:
		return fmt.Sprintf("the manager asks whether %s is admitted", e.Job.ID)
	case scheduler.Requested:
		return fmt.Sprintf("request %d asks for %s %.80s", e.Request, e.Method, e.Path)
	case scheduler.Noted:
		return fmt.Sprintf("a note comes: %.80s", e.Note.Name)
	case scheduler.TimePassed:
		return "the time has come at which the policy wanted to be woken"
	}
	return workWords(e)
}

// workWords describe an event of bundles and attempts.
func workWords(e scheduler.Event) string {
	switch e := e.(type) {
	case scheduler.UserLimitSet:
		return fmt.Sprintf("user %s is limited to %v", e.User, e.Limit)
	case scheduler.StageGrown:
		return fmt.Sprintf("stage %d of %s has changed", e.Stage, e.Job)
	case scheduler.BundleReady:
		return fmt.Sprintf("%s of %s is ready: %s", e.Bundle, e.Job, groupWords(e.Groups))
	case scheduler.BundleWithdrawn:
		return fmt.Sprintf("%s of %s is ready no more", e.Bundle, e.Job)
	case scheduler.BundleReopened:
		return fmt.Sprintf("%s of %s has to run again, its output is lost", e.Bundle, e.Job)
	case scheduler.BundleGivenUp:
		if !e.GivenUp {
			return fmt.Sprintf("%s of %s, which was given up, is to run again", e.Bundle, e.Job)
		}
		return fmt.Sprintf("%s of %s is given up, and its job goes on", e.Bundle, e.Job)
	case scheduler.SpeculationOffered:
		return fmt.Sprintf("a second attempt of %s of %s is offered", e.Bundle, e.Job)
	case scheduler.SpeculationWithdrawn:
		return fmt.Sprintf("a second attempt of %s of %s is offered no more", e.Bundle, e.Job)
	case scheduler.BundleProtected:
		return fmt.Sprintf("%s of %s is protected from preemption", e.Bundle, e.Job)
	case scheduler.AttemptStarted:
		return fmt.Sprintf("%s of %s of %s starts on launcher %d", e.Attempt, e.Bundle, e.Job, e.Launcher)
	case scheduler.AttemptPhase:
		return fmt.Sprintf("%s is in phase %s", e.Attempt, e.Phase)
	case scheduler.AttemptProgress:
		return fmt.Sprintf("%s has done %.2f of its work", e.Attempt, e.Progress)
	case scheduler.AttemptTookSlots:
		return fmt.Sprintf("%s, held ahead, takes slots", e.Attempt)
	case scheduler.AttemptStopping:
		return fmt.Sprintf("%s is being stopped", e.Attempt)
	case scheduler.AttemptEnded:
		return fmt.Sprintf("%s has ended: %s", e.Attempt, e.Outcome)
	case scheduler.AttemptSuspended:
		return fmt.Sprintf("%s is suspended", e.Attempt)
	case scheduler.SuspensionFailed:
		return fmt.Sprintf("%s could not be suspended", e.Attempt)
	case scheduler.AttemptResumed:
		return fmt.Sprintf("%s runs again", e.Attempt)
	case scheduler.Outcome:
		if e.Accepted {
			return fmt.Sprintf("%s %d of round %d is accepted", e.Kind, e.Index, e.Round)
		}
		return fmt.Sprintf("%s %d of round %d is refused: %s; %s", e.Kind, e.Index, e.Round, e.Reason, e.Detail)
	}
	return fmt.Sprintf("%T %+v", e, e)
}

func groupWords(groups []scheduler.Group) string {
	var list []string
	for _, g := range groups {
		list = append(list, fmt.Sprintf("%d %s and %s%s", g.Slots, g.Kind, memoryWords(g.Memory), resourceWords(g.Resources)))
	}
	return strings.Join(list, " + ")
}

// answerWords describe an answer.
func (t *telling) answerWords(d scheduler.Decisions) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, x := range d.Refuse {
		say("refuses %s: %.80s", x.Job, x.Reason)
	}
	for _, x := range d.Admit {
		say("admits %s", x.Job)
	}
	for _, x := range d.Preempt {
		say("preempts %v (%s) for %s", x.Victims, x.Mode, x.For)
	}
	for _, x := range d.Resume {
		say("resumes %s", x.Attempt)
	}
	for _, x := range d.Launch {
		say("launches %s on launchers %d", x.Bundle, x.Launchers)
	}
	for _, x := range d.Speculate {
		say("asks for a second attempt of %s", x.Bundle)
	}
	for _, x := range d.Answers {
		say("answers request %d with status %d", x.Request, x.Status)
	}
	for _, x := range d.Settings {
		say("judges settings version %d: %d problems", x.Version, len(x.Problems))
	}
	for _, x := range d.Waiting {
		if x.Reason == scheduler.WaitNone {
			say("says that %s waits no more", x.Job)
			continue
		}
		say("says that %s waits (%s): %.80s", x.Job, x.Reason, x.Detail)
	}
	if d.Checkpoint != nil {
		say("gives a checkpoint of %d bytes", len(d.Checkpoint.Data))
	}
	if len(list) == 0 {
		say("decides nothing")
	}
	if d.WakeAt != 0 {
		say("wants to be woken at %s", seconds(d.WakeAt.Sub(t.begin).Round(time.Millisecond)))
	}
	return list
}
