package wire

import "strings"

// StateName is a job's state as people read it.
func StateName(s JobState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "JOB_STATE_"))
}
