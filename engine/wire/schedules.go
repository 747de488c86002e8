package wire

import (
	"cmp"
	"fmt"
	"slices"
)

// RunKeyText writes a key of a run as one word, for an environment variable.
func RunKeyText(k *RunKey) string {
	return fmt.Sprintf("%d/%d/%d/%d", k.GetSchedule(), k.GetRun(), k.GetTry(), k.GetTerm())
}

// ParseRunKey reads what RunKeyText wrote.
func ParseRunKey(text string) (*RunKey, error) {
	k := &RunKey{}
	if n, err := fmt.Sscanf(text, "%d/%d/%d/%d", &k.Schedule, &k.Run, &k.Try, &k.Term); err != nil || n != 4 || RunKeyText(k) != text {
		return nil, fmt.Errorf("%q names no run of a schedule", text)
	}
	return k, nil
}

// DecidingTry is the try whose end is the end of its run: the one that submitted, else the last.
func DecidingTry(r *Run) uint32 { return cmp.Or(r.GetSubmittingTry(), r.GetTry()) }

// TermOf is the manager's term when a try of a run began; 0: there is no such try.
func TermOf(r *Run, try uint32) uint64 {
	if try == 0 || int(try) > len(r.GetTerms()) {
		return 0
	}
	return r.Terms[try-1]
}

// Holds says whether a runner that holds some runs holds this one of a schedule.
func Holds(held []*RunKey, s *Schedule, r *Run) bool {
	return slices.ContainsFunc(held, func(k *RunKey) bool {
		return k.GetSchedule() == s.GetId() && k.GetRun() == r.GetNumber() && k.GetTry() == DecidingTry(r) && k.GetTerm() == TermOf(r, k.GetTry())
	})
}

// RunOver says whether a run changes no more.
func RunOver(s RunState) bool { return s >= RunState_RUN_STATE_SUCCEEDED }

// RunStateName is a run's state in a word.
func RunStateName(s RunState) string {
	switch s {
	case RunState_RUN_STATE_QUEUED:
		return "queued"
	case RunState_RUN_STATE_WAITING:
		return "waiting"
	case RunState_RUN_STATE_RUNNING:
		return "running"
	case RunState_RUN_STATE_SUCCEEDED:
		return "succeeded"
	case RunState_RUN_STATE_FAILED:
		return "failed"
	case RunState_RUN_STATE_MISSED:
		return "missed"
	case RunState_RUN_STATE_LOST:
		return "lost"
	}
	return "unknown"
}

// IfRunningNames are the words for IfRunning, by number.
var IfRunningNames = []string{"skip", "queue", "allow"}

// ScheduleActName is what a request does to a schedule, in a word.
func ScheduleActName(a ScheduleAct) string {
	switch a {
	case ScheduleAct_SCHEDULE_ACT_PAUSE:
		return "pause"
	case ScheduleAct_SCHEDULE_ACT_RESUME:
		return "resume"
	case ScheduleAct_SCHEDULE_ACT_REMOVE:
		return "remove"
	case ScheduleAct_SCHEDULE_ACT_RUN:
		return "run"
	}
	return "unknown"
}
