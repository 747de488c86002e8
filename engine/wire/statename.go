package wire

import "strings"

// StateName is a job's state as people read it.
func StateName(s JobState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "JOB_STATE_"))
}

// JobOver says whether a job in that state changes no more.
func JobOver(s JobState) bool {
	return s == JobState_JOB_STATE_SUCCEEDED || s == JobState_JOB_STATE_FAILED || s == JobState_JOB_STATE_KILLED
}
