package wire

import "strings"

// StateName is the name of a job's state for people.
func StateName(s JobState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "JOB_STATE_"))
}

// JobOver reports whether a state is final.
func JobOver(s JobState) bool {
	return s == JobState_JOB_STATE_SUCCEEDED || s == JobState_JOB_STATE_FAILED || s == JobState_JOB_STATE_KILLED
}
