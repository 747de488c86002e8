package wire

import "cmp"

// ByEnd is the order in which jobs that ended are listed.
func ByEnd(x, y *JobSummary) int {
	return cmp.Or(cmp.Compare(x.GetEnded(), y.GetEnded()), cmp.Compare(x.GetJob(), y.GetJob()))
}
